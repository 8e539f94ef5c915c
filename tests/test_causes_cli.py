"""The innermost cause in reports: of rules that recognize a failure and not its cause, of unknown errors, of a line."""

from __future__ import annotations

import json

import pytest

from kvdiag.model.values import Severity

SOCKET = "/var/run/portgate/agent.sock"
ADD = (
    'E0312 08:{minute:02}:00.000000    2201 pod_workers.go:1300] "Error syncing pod, skipping" err="failed to '
    '\\"CreatePodSandbox\\" for \\"web-0_shop(5b0c7a1e-2f4d-4c8e-9a63-0d1e2f3a4b5c)\\" with CreatePodSandboxError: '
    '\\"Failed to create sandbox for pod: rpc error: code = Unknown desc = failed to setup network for sandbox '
    '\\\\\\"4f1d2c3b4a59687766554433221100ffeeddccbbaa99887766554433221100ff\\\\\\": plugin type=\\\\\\"portgate\\\\\\" '
    'failed (add): {error}\\"" pod="shop/web-0" podUID="5b0c7a1e-2f4d-4c8e-9a63-0d1e2f3a4b5c"\n'
)
REFUSED = (
    'E0312 08:{minute:02}:00.000000    2201 widget.go:10] "Could not start widget" err="failed to reach store: '
    'dial tcp 192.0.2.5:2379: connect: connection refused"\n'
)


def log_of(line: str, **words: str) -> str:
    """Repeat a line once a minute."""
    return "".join(line.format(minute=minute, **words) for minute in range(5))


@pytest.fixture
def report(kvdiag, tmp_path):
    """Give a function that returns the report on a log as JSON."""

    def read(text: str) -> dict:
        (tmp_path / "kubelet.log").write_text(text, "utf-8")
        return json.loads(kvdiag("analyze", "--year", "2024", "-o", "json", tmp_path / "kubelet.log").stdout)

    return read


def test_an_umbrella_names_the_cause(report):
    """Title, sentence and first step of a rule for any failure of CNI name the socket that is missing."""
    found = report(log_of(ADD, error=f"dial unix {SOCKET}: connect: no such file or directory"))["findings"][0]
    assert found["rule"] == "cni-add-failed"
    sentence = f"CNI plug-in portgate: the socket {SOCKET} does not exist: the agent of portgate does not run, or not with this path"
    assert found["title_object"] == f"FailedCreatePodSandBox: CNI ADD fails: {sentence}"
    assert found["says"].endswith(sentence)
    assert found["fix"][0]["run"] == f"ls -l {SOCKET}"
    assert found["anatomy"]["primitive"] == "ENOENT"
    assert found["anatomy"]["object"] == SOCKET
    assert found["anatomy"]["operation"] == "CNI ADD"


def test_an_error_without_a_cause_is_quoted(report):
    """Where no primitive is known, the sentence has the whole error, the title its last clause."""
    found = report(log_of(ADD, error="the gate keeper: is out for lunch"))["findings"][0]
    assert found["says"].endswith("CNI plug-in portgate: the gate keeper: is out for lunch")
    assert found["title_object"].endswith(": the gate keeper: is out for lunch")
    assert found["anatomy"]["primitive"] == ""
    assert "ls" not in found["fix"][0]["run"]


def test_pods_whose_failures_a_finding_explains_are_not_listed_as_retried(report):
    """A finding about the node explains the failures of each pod; a pod that fails for another reason is listed."""
    explained = log_of(ADD, error="the gate keeper: is out for lunch")
    other_pod = explained.replace("web-0", "web-1").replace("5b0c7a1e", "6c1d8b2f").replace(":00.0", ":01.0")
    assert not report(explained + other_pod)["errors"]["retried"]
    unknown = log_of(
        'E0312 08:{minute:02}:02.000000    2201 pod_workers.go:1300] "Error syncing pod, skipping" err="the widget is '
        'stuck" pod="shop/web-2" podUID="7d2e9c30-2f4d-4c8e-9a63-0d1e2f3a4b5c"\n'
    )
    retried = report(explained + other_pod + unknown)["errors"]["retried"]
    assert [(pod["pod"], pod["count"]) for pod in retried] == [("shop/web-2", 5)]


def test_a_secret_in_an_error(kvdiag, tmp_path):
    """What looks like a secret is in no output of the cause."""
    log = tmp_path / "kubelet.log"
    log.write_text(log_of(ADD, error="open /run/x?password=hunter2hunter2: permission denied"), "utf-8")
    for output in ("text", "json", "markdown", "html", "sarif", "junit", "github", "compact"):
        done = kvdiag("analyze", "--year", "2024", "-o", output, log)
        assert "hunter2" not in done.stdout


def test_an_unknown_error_has_its_cause(kvdiag, tmp_path, report):
    """A group that nothing explains is followed by its cause in text, Markdown, JSON and the page."""
    sentence = "connection refused by 192.0.2.5:2379, etcd: no program or endpoint listens there"
    read = report(log_of(REFUSED))
    group = read["errors"]["groups"][0]
    assert group["anatomy"]["sentence"] == sentence
    assert group["anatomy"]["check"] == "nc -vz -w3 192.0.2.5 2379"
    assert read["findings"] == []
    for output in ("text", "html"):
        assert f"Cause: {sentence}" in kvdiag("analyze", "-o", output, tmp_path / "kubelet.log").stdout
    assert (
        "192.0.2.5:2379, etcd: no program or endpoint listens there"
        in kvdiag("analyze", "-o", "markdown", tmp_path / "kubelet.log").stdout
    )
    assert f"Cause: {sentence}" in kvdiag("errors", tmp_path / "kubelet.log").stdout


def test_a_weak_error_has_no_line(kvdiag, tmp_path):
    """Who waited is no cause; the group stays as it is."""
    log = tmp_path / "kubelet.log"
    log.write_text(
        log_of(REFUSED).replace("dial tcp 192.0.2.5:2379: connect: connection refused", "timed out"), "utf-8"
    )
    assert "Cause:" not in kvdiag("analyze", log).stdout


def test_a_cause_makes_no_finding(report):
    """However strong a cause is, an error that no rule knows is no finding."""
    lines = "".join(
        f'E0312 08:00:{second:02}.000000    2201 widget.go:{second}] "Widget failed" err="{error}"\n'
        for second, error in enumerate(
            ("write /srv/x: no space left on device", "x509: certificate signed by unknown authority")
        )
    )
    found = [one for one in report(lines)["findings"] if Severity.from_label(one["severity"]) > Severity.INFO]
    assert found == []


def test_a_line_is_explained(kvdiag):
    """`kvdiag explain LINE` names operation, cause, owner and check."""
    line = f'plugin type="portgate" failed (add): dial unix {SOCKET}: connect: no such file or directory'
    said = kvdiag("explain", line).stdout
    assert f"Cause      CNI plug-in portgate: the socket {SOCKET} does" in said
    assert "Operation  CNI ADD\n" in said
    assert f"Check      ls -l {SOCKET}\n" in said
    assert json.loads(kvdiag("explain", "-o", "json", line).stdout)["anatomy"]["primitive"] == "ENOENT"


def test_a_line_without_an_error(kvdiag):
    """A line that reports no error has no cause."""
    line = 'I0312 08:15:00.100000    2201 kubelet.go:2463] "SyncLoop DELETE" source="api" pods=["shop/web-0"]'
    assert "Cause" not in kvdiag("explain", line).stdout
    assert json.loads(kvdiag("explain", "-o", "json", line).stdout)["anatomy"] is None


def test_a_modest_line_says_why(kvdiag):
    """What is missing while a pod is removed is told as already gone."""
    line = (
        'E0312 08:15:00.100000    2201 nestedpendingoperations.go:348] UnmountVolume.TearDown failed for volume "data" : '
        "remove /srv/x: no such file or directory"
    )
    said = kvdiag("explain", line).stdout
    assert "Cause" not in said
    assert "already gone" in said


ATTACHMENT = "csi-c0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0de"
STAGED = "ab12" * 16


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            (
                'Mar 12 08:{minute:02}:00 n1 k3s[11]: time="2024-03-12T08:{minute:02}:00Z" level=info msg="Waiting to retrieve agent '
                'configuration; server is not ready: unable to find interface: route ip+net: no such network interface"\n'
            ),
            (
                "k3s or RKE2 on n1 does not get its configuration, the certificates of its server, or its tunnel; reported 5 "
                "times over 4m: a network interface that is asked for by its name does not exist here"
            ),
        ),
        (
            (
                "I0312 08:{minute:02}:00.000000       1 connection.go:186] GRPC error: rpc error: code = DeadlineExceeded desc = "
                "context deadline exceeded\n"
            ),
            "Calls to the CSI driver fail; reported 5 times over 4m: DeadlineExceeded: context deadline exceeded",
        ),
        (
            (
                f'I0312 08:{{minute:02}}:00.000000       1 csi_handler.go:234] Error processing "{ATTACHMENT}": failed to attach: '
                "rpc error: code = Internal desc = the array is out for lunch\n"
            ),
            (
                f"An attach or detach of the volume of attachment {ATTACHMENT} fails; reported 5 times over 4m: "
                "failed to attach: the array is out for lunch"
            ),
        ),
        (
            (
                "E0312 08:{minute:02}:00.000000       1 utils.go:58] GRPC call: /csi.v1.Node/NodeStageVolume, GRPC error: rpc "
                'error: code = Internal desc = Could not mount "a" at "/var/lib/kubelet/plugins/kubernetes.io/csi/'
                f'disk.example.org/{STAGED}/globalmount": the array is out for lunch\n'
            ),
            f"Calls to the CSI driver for the volume staged in {STAGED} fail; reported 5 times over 4m",
        ),
        (
            (
                'time="2024-03-12T08:{minute:02}:00Z" level=error msg="ControllerUnpublishVolume: err: rpc error: code = '
                'DeadlineExceeded desc = Failed to detach volume v from node n1" func=csi.logGRPC file="server.go:136"\n'
            ),
            "A volume was not detached: the call timed out or was canceled; reported 5 times over 4m.",
        ),
        (
            (
                'time="2024-03-12T08:{minute:02}:00Z" level=error msg="StopContainer for \\"c0de\\" failed" error="failed to stop '
                'container: unknown error after kill: runc did not terminate successfully: exit status 1"\n'
            ),
            "StopContainer failed or timed out",
        ),
    ],
)
def test_a_frame_is_true_for_any_cause(report, line, says):
    """A rule whose sentence quotes any error says of the rest only what its lines prove, and names what they name."""
    assert says in "\n".join(one["says"] for one in report(log_of(line))["findings"])


@pytest.mark.parametrize(
    ("row", "has", "has_not"),
    [
        (
            (
                "FailedAttachVolume  3m (x9 over 19m)  attachdetach-controller  AttachVolume.Attach failed for volume "
                '"pvc-1" : rpc error: code = Internal desc = out for lunch'
            ),
            "csi-attacher",
            "kube-controller-manager",
        ),
        (
            (
                "ProvisioningFailed  3m (x9 over 19m)  disk.example.com_csi-provisioner-0_1f0c  failed to provision volume "
                'with StorageClass "fast": out for lunch'
            ),
            "csi-provisioner",
            "kube-controller-manager",
        ),
        (
            (
                "ProvisioningFailed  3m (x9 over 19m)  persistentvolume-controller  Failed to provision volume with "
                'StorageClass "fast": out for lunch'
            ),
            "kube-controller-manager",
            "csi-provisioner",
        ),
    ],
)
def test_the_log_of_the_program_that_failed_is_collected(report, row, has, has_not):
    """A sidecar's or driver's error sends to its pod, one of an in-tree plug-in to the controller manager."""
    collected = "\n".join(run for one in report(f"  Warning  {row}\n")["findings"] for run in one["collect"])
    assert has in collected
    assert has_not not in collected


@pytest.mark.parametrize(
    ("device", "check"),
    [
        ("/dev/topo/vol-1", ""),
        ("/dev/sdq", "{host} ls -l /dev/sdq"),
        ("/dev/disk/by-id/x", "{host} ls -l /dev/disk/by-id/x"),
    ],
)
def test_a_device_of_a_driver(report, device, check):
    """A CSI driver names devices of its container, which the node has if they are the kernel's or udev's."""
    row = (
        '  Warning  FailedMount  3m (x9 over 19m)  kubelet  MountVolume.MountDevice failed for volume "pvc-1" : rpc error: '
        f"code = Internal desc = open {device}: no such file or directory\n"
    )
    (anatomy,) = {json.dumps(one["anatomy"]) for one in report(row)["findings"]}
    assert json.loads(anatomy)["sentence"] == f"the device {device} does not exist where the CSI driver runs"
    assert json.loads(anatomy)["check"] == check


def test_the_output_below_an_event_is_evidence(kvdiag, tmp_path):
    """What mount printed below its event is shown with it."""
    (tmp_path / "events.log").write_text(
        '  Warning  FailedMount  30s  kubelet  MountVolume.SetUp failed for volume "exports" : mount failed: exit status 32\n'
        "Mounting command: mount\nMounting arguments: -t nfs 192.0.2.10:/exports /x\n"
        "Output: mount.nfs: access denied by server while mounting 192.0.2.10:/exports\n",
        "utf-8",
    )
    shown = " ".join(kvdiag("analyze", tmp_path / "events.log").stdout.split())
    assert "Output: mount.nfs: access denied" in shown


def test_a_command_without_its_names_is_not_collected(report):
    """What is to be collected can be typed as printed: a command whose namespace no line shows is left out."""
    line = "Warning  BackOff  2m (x32 over 11m)  kubelet  Back-off restarting failed container\n"
    collected = [run for one in report(line)["findings"] for run in one["collect"]]
    assert collected
    assert not [run for run in collected if "<" in run]


@pytest.mark.parametrize(("age", "state"), [("24m", "unknown"), ("10s", "ongoing")])
def test_a_row_of_long_ago_is_not_still_failing(report, age, state):
    """The ages of a table count back from when it was printed: a failure of 24 minutes before may be over."""
    row = f'Warning  FailedMount  {age} (x5 over 50m)  kubelet  MountVolume.SetUp failed for volume "data" : out for lunch\n'
    assert [one["state"] for one in report(row)["findings"]] == [state]


def test_a_sentence_that_is_the_title_stands_once(kvdiag):
    """Where a title has the cause, the sentence would repeat it; `-v` prints both."""
    line = b"F0312 08:00:00.000000    2201 kubelet.go:1359] Failed to start ContainerManager the widget is broken for good\n"
    once, twice = (" ".join(kvdiag("analyze", *more, stdin=line).stdout.split()) for more in ((), ("-v",)))
    assert once.count("cannot start: ") == 1
    assert twice.count("cannot start: ") == 2
