"""What people paste when they ask for help: a few lines, without times, without a header, or what kubectl shows."""

from __future__ import annotations

import json

import pytest

POD = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
RESERVED = (
    f'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to reserve sandbox name "web-0_shop_{POD}_0": '
    f'name "web-0_shop_{POD}_0" is reserved for "b71e04b71e04b71e04b71e04b71e04b71e04b71e04b71e04b71e04b71e04b71e"'
)
ABSENT = (
    'MountVolume.MountDevice failed for volume "pvc-4e1b9a70-5f3c-4b0e-8a52-7c9d1e2f3a4b" : kubernetes.io/csi: '
    "attacher.MountDevice failed to create newCsiDriverClient: driver name disk.example.com not found in the list of "
    "registered CSI drivers"
)
DESCRIBED = f"""\
Events:
  Type     Reason                  Age                 From               Message
  ----     ------                  ----                ----               -------
  Normal   Scheduled               33m                 default-scheduler  Successfully assigned shop/web-0 to worker-1
  Warning  FailedCreatePodSandBox  21m (x9 over 23m)   kubelet            {RESERVED}
  Warning  FailedMount             38s (x13 over 12m)  kubelet            {ABSENT}
"""
LISTED = f"""\
NAMESPACE   LAST SEEN   TYPE      REASON                   OBJECT      MESSAGE
shop        21m         Warning   FailedCreatePodSandBox   pod/web-0   {RESERVED}
"""
OBJECTS = {
    "apiVersion": "v1",
    "items": [
        {
            "kind": "Event",
            "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web-0"},
            "type": "Warning",
            "reason": "FailedMount",
            "message": ABSENT,
            "source": {"component": "kubelet", "host": "worker-1"},
            "firstTimestamp": "2024-03-12T08:00:00Z",
            "lastTimestamp": "2024-03-12T08:12:00Z",
            "count": 13,
        },
    ],
    "kind": "List",
}
BUSY = (
    f'Operation for "{{volumeName:kubernetes.io/csi/disk.example.com^data podName:{POD} nodeName:}}" failed. No retries '
    "permitted until 2021-07-15 07:44:56.65 +0000 UTC m=+67549.92 (durationBeforeRetry 2m2s). Error: "
    f'"UnmountVolume.TearDown failed for volume \\"data\\" (UniqueName: \\"kubernetes.io/csi/disk.example.com^data\\") '
    f'pod \\"{POD}\\" (UID: \\"{POD}\\") : kubernetes.io/csi: mounter.TearDownAt failed: rpc error: code = Internal desc = '
    f'remove /var/lib/kubelet/pods/{POD}/volumes/kubernetes.io~csi/data/mount: device or resource busy"\n'
)
REFUSED = (
    '"CreatePodSandbox for pod failed" err="failed to reserve sandbox name \\"web-0_shop_x_0\\": name \\"web-0_shop_x_0\\" '
    'is reserved for \\"b71e04b71e04b71e\\"" pod="shop/web-0"\n'
)
LATER = 'I0312 08:15:20.000000    2201 kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/other"]\n'
CRASH = """\
panic: runtime error: invalid memory address or nil pointer dereference
goroutine 31 [running]:
{frame}
"""


def found(kvdiag, text: str) -> set[tuple[str, str, str]]:
    """Give rule, subject and verdict of what is found in a text that is piped in."""
    told = json.loads(kvdiag("analyze", "-o", "json", "--year", "2024", stdin=text.encode()).stdout)
    return {(one["rule"], one["subject"]["name"], one["verdict"]) for one in told["findings"]}


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        (
            DESCRIBED,
            {
                ("reserve-sandbox-name", "shop/web-0", "possible"),
                ("csi-driver-not-registered", "pvc-4e1b9a70-5f3c-4b0e-8a52-7c9d1e2f3a4b", "confirmed"),
            },
        ),
        (LISTED, {("reserve-sandbox-name", "shop/web-0", "possible")}),
        (
            json.dumps(OBJECTS, indent=4),
            {("csi-driver-not-registered", "pvc-4e1b9a70-5f3c-4b0e-8a52-7c9d1e2f3a4b", "confirmed")},
        ),
        (
            f"38s  Warning  FailedCreatePodSandBox  {RESERVED}",  # columns that somebody chose
            {("reserve-sandbox-name", "shop/web-0", "possible")},
        ),
        (
            f"  Warning  FailedCreatePodSandBox  21m  kubelet  {RESERVED}",
            {("reserve-sandbox-name", "shop/web-0", "possible")},
        ),
        (
            "  Warning  FailedCreatePodSandBox  21m  kubelet  Failed to create pod sandbox: error reserving pod name",
            {("reserve-sandbox-name", "unnamed", "possible")},
        ),
        (BUSY, {("unmount-device-busy", "data", "possible")}),
        (REFUSED, {("reserve-sandbox-name", "shop/web-0", "possible")}),
        (REFUSED + LATER, {("reserve-sandbox-name", "shop/web-0", "possible")}),
        (f"E0312 08:15:20.000000    2201 x.go:1] {REFUSED}", {("reserve-sandbox-name", "shop/web-0", "possible")}),
        (LATER + REFUSED, set()),  # a quotation in a text that goes on after a log
        (CRASH.format(frame="github.com/containerd/containerd/metadata.(*DB).Update(0x1)"), {("containerd-crash", "this node", "confirmed")}),
        (CRASH.format(frame="github.com/kubernetes-csi/csi-driver-host-path/pkg/hostpath.(*hostPath).Publish(0x1)"), set()),
    ],
    ids=[
        "describe", "get events", "get events as JSON", "own columns", "named by the error", "no name", "operation", "message", "above a log", "a line of a log",
        "below a log", "a crash", "a crash of another",
    ],
)  # fmt: skip
def test_what_is_found(kvdiag, text, findings):
    """An excerpt says what it can, and no more: an absence in it proves nothing."""
    assert found(kvdiag, text) == findings


def test_a_text_that_nobody_named(kvdiag, tmp_path):
    """In a folder any text may hold words of a log; there lines without a time do not count, a table's rows do."""
    (tmp_path / "kubelet.log").write_text(LATER)
    (tmp_path / "notes.log").write_text(f"We saw this:\n{REFUSED}")
    assert "reserve-sandbox-name" not in kvdiag("analyze", "--year", "2024", tmp_path).stdout
    assert "reserve-sandbox-name" in kvdiag("analyze", "--year", "2024", tmp_path / "notes.log").stdout
    (tmp_path / "events.log").write_text(DESCRIBED)
    assert "reserve-sandbox-name" in kvdiag("analyze", "--year", "2024", tmp_path).stdout


def test_the_timeline_of_a_described_pod(kvdiag):
    """The rows of a description are of the pod and on the node that the scheduler's row names, with their repeats."""
    told = json.loads(kvdiag("timeline", "pod", "shop/web-0", "-o", "json", stdin=DESCRIBED.encode()).stdout)
    (one,) = told
    assert one["subject"]["ids"]["node"] == "worker-1"
    assert [row["repeats"] for row in one["rows"]] == [0, 8, 12]


def test_what_is_asked_for_without_a_time(kvdiag):
    """A log that says nowhere when it was cannot say from when to when another is wanted."""
    told = kvdiag("analyze", "--year", "2024", stdin=REFUSED.encode()).stdout
    assert "with timestamps, covering these lines" in told
    assert "$ journalctl -u kubelet\n" in told
    dated = kvdiag("analyze", "--year", "2024", stdin=(REFUSED + LATER).encode()).stdout
    assert "$ journalctl -u kubelet --since '2024-03-12" in dated


def test_two_descriptions_in_one_text(kvdiag):
    """Each row is about the pod that the lines above its table name, though two tables may hold the same row."""
    row = "  Warning  FailedCreatePodSandBox  21m (x9 over 23m)  kubelet  Failed to create pod sandbox: context deadline\n"
    text = "".join(
        f"Name:             {pod}\nNamespace:        shop\nPriority:         0\nNode:             {node}/10.0.0.6\n"
        f"Events:\n  Type     Reason    Age   From     Message\n{row}\n"
        for pod, node in (("db-0", "worker-1"), ("db-1", "worker-2"))
    )
    told = json.loads(kvdiag("pods", "-o", "json", stdin=text.encode()).stdout)["items"]
    assert {(one["name"], one["node"], one["retries"]) for one in told} == {
        ("shop/db-0", "worker-1", 9),
        ("shop/db-1", "worker-2", 9),
    }


def test_a_table_below_that_of_another(kvdiag):
    """The rows of a table that nothing names are not taken for those of the pod that was described above it."""
    heading = "  Type     Reason                  Age  From     Message\n"
    row = "  Warning  FailedCreatePodSandBox  21m  kubelet  Failed to create pod sandbox: context deadline\n"
    told = json.loads(kvdiag("pods", "-o", "json", stdin=(DESCRIBED + heading + row).encode()).stdout)["items"]
    assert {one["name"] for one in told} == {"shop/web-0", "unnamed"}


def test_an_event_that_goes_on_below(kvdiag):
    """The lines below a row of events are part of its error, without the quotes that kvdiag puts around that."""
    text = """\
Warning  FailedMount  24s (x6 over 41s)  kubelet, worker-1  MountVolume.MountDevice failed for volume "data" : rpc error: code = Internal desc = exit status 255
Output: mount: mounting /dev/sdb on /x/globalmount failed: no such thing
"""  # fmt: skip
    told = json.loads(kvdiag("analyze", "-o", "json", "--year", "2024", stdin=text.encode()).stdout)
    (says,) = (one["says"] for one in told["findings"])
    assert "exit status 255 Output: mount: mounting" in " ".join(says.replace("\\n", " ").split())


def test_a_pod_that_no_line_names(kvdiag):
    """Where no line names the pod the sentence does not either."""
    text = """\
  Type     Reason                  Age                 From     Message
  Warning  FailedCreatePodSandBox  62m (x12 over 64m)  kubelet  Failed create pod sandbox: open /run/resolv.conf: no such file
  Warning  Failed                  4s (x3 over 39s)    kubelet  Failed to pull image "a.example.org/app:1": failed to do request: Head "https://a.example.org/v2/": dial tcp 10.0.0.7:443: connect: no route to host
"""  # fmt: skip
    told = json.loads(kvdiag("analyze", "-o", "json", "--year", "2024", stdin=text.encode()).stdout)["findings"]
    said = sorted(one["says"] for one in told)
    assert [one.split(" cannot")[0] for one in said] == ["A pod", "The image a.example.org/app:1"]


def test_lines_without_a_time(kvdiag):
    """Of a log without times it is not told when it begins and ends."""
    text = (
        f'Orphaned pod "{POD}" found, but volume paths are still present on disk : There were a total of 2398 errors '
        "similar to this. Turn up verbosity to see them.\n"
    )
    (told,) = json.loads(kvdiag("analyze", "-o", "json", "--year", "2024", stdin=text.encode()).stdout)["findings"]
    assert "the lines of the kubelet log have no time: what came before and after them is unknown" in told["doubts"]
    assert not [said for said in told["doubts"] if "begins at" in said or "ends" in said]
