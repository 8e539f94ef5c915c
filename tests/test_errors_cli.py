"""`kvdiag errors`, and what `kvdiag analyze` says of error lines that nothing explains."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.conftest import SAMPLES
from tests.errorlines import KUBELET, klog, network

LOG = KUBELET + "".join(network(f"08:15:{n:02}") for n in range(12))
CRASHING = "".join(
    klog(
        'pod_workers.go:1300] "Error syncing pod, skipping" err="failed to \\"StartContainer\\" for \\"web\\" with '
        'CrashLoopBackOff: \\"back-off 20s restarting failed container=web pod=web-0_shop'
        '(1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01)\\"" pod="shop/web-0" podUID="1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"',
        f"08:15:{n:02}",
    )
    for n in range(0, 50, 10)
)

SAMPLE = SAMPLES / "hostpath-driver-lost-state"


@pytest.fixture
def log(tmp_path):
    """Give a log with errors that nobody knows."""
    path = tmp_path / "kubelet.log"
    path.write_text(LOG, "utf-8")
    return path


def test_no_known_failure_does_not_stand_alone(kvdiag, log):
    """Where errors are left, the report says so, and begins with the last words of the one with which the log ends."""
    done = kvdiag("analyze", "--year", "2024", log)
    first, second, *_ = done.stdout.splitlines()
    assert first == "No rule matches. An error line says: “spin: the widget is stuck”."
    assert second == "Not explained by a rule: 12 error lines in 1 group"
    assert "  ongoing  widget.go:17  12×  08:15:00–11\n" in done.stdout
    assert f"{log}:2 The widget turns no more err=spin: the widget is stuck" in " ".join(done.stdout.split())
    assert done.returncode == 0


DRIVER = "E0312 08:00:00.000000       1 nodeserver.go:58] NodeStageVolume: the mount failed: {error}\n"
LUSTRE = "mount.lustre: mount 192.0.2.7@tcp:/fs at /x failed: Input/output error. Is the MGS running?"
OTHER = "E0312 08:00:00.000000    2201 widget.go:{line}] The widget turns no more: {error}\n"
WARNING = "W0312 08:00:00.000000    2201 widget.go:17] The widget turns no more: {error}\n"
LATER = 'I0312 09:00:00.000000    2201 kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/web-0"]\n'
SYSTEMD = "Mar 12 08:00:00 node-a systemd[1]: Failed to start Widget Service.\n"
CAUSE = "No rule matches. An error line names a cause: "
SAYS = "No rule matches. An error line says: "
WARNS = "No rule matches. A line says: "
MANY = "".join(OTHER.format(line=line, error=f"it is {word}") for line, word in enumerate("abcdef"))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (DRIVER.format(error=LUSTRE), f"{CAUSE}the management server (MGS)"),
        (DRIVER.format(error=LUSTRE) + LATER, f"{CAUSE}the management server (MGS)"),
        (DRIVER.format(error="the array said no"), f"{SAYS}“the mount failed: the array said no”."),
        (OTHER.format(line=1, error="open /etc/x: no such file or directory"), f"{CAUSE}/etc/x does not exist."),
        (OTHER.format(line=1, error="open /etc/x: no such file or directory") + LATER, "No known failure found."),
        (OTHER.format(line=1, error="it is gone away from here for good and ever") + MANY, "No known failure found."),
        (
            OTHER.format(line=1, error="it is gone away from here for good and ever") + WARNING.format(error=LUSTRE),
            "No rule matches. A line names a cause: the management server (MGS)",
        ),
        (
            WARNING.format(error="it is gone away from here for good and ever"),
            f"{WARNS}“it is gone away from here for good and ever”.",
        ),
        (LATER.replace("09:00", "08:00") * 60 + WARNING.format(error=LUSTRE), "No known failure found."),
        (SYSTEMD, "No known failure found."),
    ],
    ids=[
        *("of a driver", "of a driver, long ago", "without a cause", "an errno", "an errno, long ago", "of many kinds"),
        *("an error and a warning", "a warning", "a warning in a long log", "of systemd"),
    ],
)
def test_the_last_error_comes_first(kvdiag, tmp_path, text, first):
    """Where errors of few kinds are the end of a log, the report begins with their cause, or with their last words."""
    path = tmp_path / "node.log"
    path.write_text(text, "utf-8")
    assert " ".join(kvdiag("analyze", "--year", "2024", path).stdout.split()).startswith(first)


ERRNO = 'E0312 08:00:00.000000    2201 widget.go:3] "Failed" err="connect: no such file or directory"\n'
SOCKET = 'Mar 12 08:00:00 node-a widgetctl[71]: E0312 08:00:00.000000      71 main.go:9] "Failed" err="dial unix /run/widget/widgetd.sock: connect: no such file or directory"\n'
SERVER = 'Mar 12 08:00:00 node-a widgetd[70]: E0312 08:00:00.000000      70 main.go:1] "Failed" err="the store of the widgets has another owner"\n'
LOADER = (
    "/usr/bin/widgetd: error while loading shared libraries: libw.so.1: cannot open shared object file: No such file\n"
)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (ERRNO, f"{CAUSE}a file or folder does not exist."),
        (
            ERRNO + OTHER.format(line=1, error="the widgets are all gone today"),
            f"{SAYS}“the widgets are all gone today”.",
        ),
        (SOCKET, f"{CAUSE}the socket /run/widget/widgetd.sock does not exist."),
        (SOCKET + SERVER, f"{SAYS}“the store of the widgets has another owner”."),
        (
            SERVER.replace("widgetd[", "spinner[") + SOCKET,
            f"{CAUSE}the socket /run/widget/widgetd.sock does not exist.",
        ),
        (
            LOADER + "Error: dial unix /run/widget/widgetd.sock: connect: no such file or directory\n",
            f"{CAUSE}the program /usr/bin/widgetd",
        ),
        (
            "Acquiring store lock with id: 5b0c7a1e\n2024/03/12 08:00:01 [1356] Failed, err:timed out locking store.\n",
            "No rule matches. A line names a cause: another call or process holds the lock",
        ),
    ],
    ids=[
        "an errno alone",
        "an errno and words",
        "a socket",
        "a socket and its program",
        "a socket and another program",
        "a loader",
        "an action",
    ],
)
def test_a_consequence_is_not_the_cause(kvdiag, tmp_path, text, first):
    """What names no object, or only that a program does not listen, gives way to what says more; an action is no error."""
    path = tmp_path / "node.log"
    path.write_text(text, "utf-8")
    assert " ".join(kvdiag("analyze", "--year", "2024", path).stdout.split()).startswith(first)


def test_the_audit_log_is_of_the_node(kvdiag, tmp_path):
    """What is denied to a program of Kubernetes in a container is looked for in the audit log of the node."""
    path = tmp_path / "some.log"
    path.write_text(
        'E0312 08:00:00.000000       1 metrics.go:109] "Failed" err="open /data/x: permission denied"\n', "utf-8"
    )
    assert "$ ausearch -m avc -ts boot\n" in kvdiag("analyze", path).stdout


def test_the_cause_without_a_rule_has_a_first_check(kvdiag, tmp_path):
    """Below the cause that an error line names stands the command that checks it; words alone have none."""
    path = tmp_path / "node.log"
    path.write_text(OTHER.format(line=1, error="open /etc/x: no such file or directory"), "utf-8")
    assert kvdiag("analyze", path).stdout.splitlines()[1:3] == ["  First: Check /etc/x.", "    $ ls -ld /etc/x"]
    path.write_text(OTHER.format(line=1, error="it is gone away from here for good and ever"), "utf-8")
    assert "First:" not in kvdiag("analyze", path).stdout


@pytest.mark.parametrize(
    "line",
    [
        '2024-03-12T08:00:00.000000000Z stderr F nginx: [emerg] open() "/etc/x" failed (13: Permission denied)\n',
        (
            '2024-03-12T08:00:00.000000000Z stderr F E0312 08:00:00.000000      17 main.go:1] "Failed" err="open /etc/x: '
            'no such file or directory"\n'
        ),
        'E0312 08:00:00.000000       1 widget.go:1] "Failed" err="open /data/x: no space left on device"\n',
        'E0312 08:00:00.000000       1 widget.go:1] "Failed" err="dial tcp 127.0.0.1:8080: connect: connection refused"\n',
    ],
    ids=["of nginx", "of a pod", "process 1 of a container", "the loopback of a container"],
)
def test_a_path_in_a_container_is_not_looked_up_on_the_node(kvdiag, tmp_path, line):
    """A container's line names paths and addresses of the container, which no command on the node shows."""
    path = tmp_path / "some.log"
    path.write_text(line, "utf-8")
    done = kvdiag("analyze", path).stdout
    assert "names a cause" in done
    assert "First:" not in done


@pytest.mark.parametrize(
    ("refused", "command"),
    [
        (
            'list resource "pods" in API group "" at the cluster scope',
            "list pods --as system:serviceaccount:net:agent --all-namespaces=true",
        ),
        (
            'list resource "pods" in API group "" in the namespace "shop"',
            "list pods --as system:serviceaccount:net:agent -n shop",
        ),
        (
            'get resource "pods" in API group "metrics.k8s.io"',
            "get pods.metrics.k8s.io --as system:serviceaccount:net:agent",
        ),
        (
            'patch resource "nodes/status" in API group "" at the cluster scope',
            "patch nodes --subresource status --as system:serviceaccount:net:agent --all-namespaces=true",
        ),
        (
            'create pods/exec in the namespace "shop"',
            "create pods --subresource exec --as system:serviceaccount:net:agent -n shop",
        ),
    ],
)
def test_kubectl_asks_what_was_refused(kvdiag, tmp_path, refused, command):
    """To kubectl a word behind a slash is a name, no group is any group, and no namespace is that of its context."""
    path = tmp_path / "node.log"
    path.write_text(
        OTHER.format(line=1, error=f'x is forbidden: User "system:serviceaccount:net:agent" cannot {refused}'), "utf-8"
    )
    assert f"    $ kubectl auth can-i {command}\n" in kvdiag("analyze", path).stdout


def test_a_line_cut_within_a_word_is_explained_as_the_whole_one(kvdiag, tmp_path):
    """A line that ends within a word of an explained line of the same place is the same failure; another is not."""
    full = 'W0312 08:00:00.000000    2201 status_manager.go:446] Failed to update status for pod "{pod}": etcdserver: {end}\n'
    path = tmp_path / "kubelet.log"
    cut = full.format(pod="b", end="mvcc: database space ex")
    path.write_text(full.format(pod="a", end="mvcc: database space exceeded") + cut, "utf-8")
    assert "Not explained" not in kvdiag("analyze", path).stdout
    path.write_text(full.format(pod="a", end="mvcc: database space exceeded") + cut.replace(" ex\n", "\n"), "utf-8")
    assert "Not explained by a rule: 1 " in kvdiag("analyze", path).stdout


def test_quiet_hides_no_error(kvdiag, log):
    """With `-q` and no finding one line counts what nothing explains."""
    (line,) = kvdiag("analyze", "-q", "--year", "2024", log).stdout.splitlines()
    assert line.startswith("No failure found in ")
    assert line.endswith("; 1 group of errors not explained")


def test_as_yaml(kvdiag, log):
    """The list as YAML is the list as JSON."""
    as_json, as_yaml = (kvdiag("errors", "--year", "2024", "-o", one, log).stdout for one in ("json", "yaml"))
    assert yaml.safe_load(as_yaml) == json.loads(as_json)


def test_without_errors_nothing_is_said_of_them(kvdiag, tmp_path):
    """A log without error lines has no section."""
    (tmp_path / "kubelet.log").write_text(KUBELET, "utf-8")
    assert "xplained" not in kvdiag("analyze", "--year", "2024", tmp_path).stdout


def test_a_pod_that_is_retried_is_named(kvdiag, tmp_path):
    """Whether a rule knows the reason or not, somebody tells of the pod."""
    (tmp_path / "kubelet.log").write_text(KUBELET + CRASHING, "utf-8")
    assert "shop/web-0" in kvdiag("analyze", "--year", "2024", tmp_path).stdout


def test_all_groups(kvdiag, log):
    """The list tells what is not explained, what findings explain, and on demand what is harmless."""
    assert "Not explained by a rule: 12 error lines in 1 group\n" in kvdiag("errors", "--year", "2024", log).stdout
    folder = SAMPLE
    said = kvdiag("errors", folder).stdout
    assert "[csi-nodeunpublish-state-lost]" in said
    assert "[shim-ended]" not in said
    assert "[shim-ended]" in kvdiag("errors", "--show-benign", folder).stdout


def test_json(kvdiag, log):
    """The figures are those of the report."""
    said = json.loads(kvdiag("errors", "-o", "json", "--year", "2024", log).stdout)
    report = json.loads(kvdiag("analyze", "-o", "json", "--year", "2024", log).stdout)
    assert said["schema"] == "kvdiag.errors/1"
    assert {name: said[name] for name in report["errors"]} == report["errors"]
    assert said["lines"] == 12


def test_stdin_and_windows(kvdiag):
    """A log may come from stdin, and only some of its time may count."""
    words = ("errors", "-o", "json", "--year", "2024", "--since", "2024-03-12T08:15:06Z")
    assert json.loads(kvdiag(*words, stdin=LOG.encode()).stdout)["lines"] == 6


def test_wrong_usage(kvdiag, log):
    """An output that is none is told with those that are."""
    done = kvdiag("errors", "-o", "xml", log)
    assert done.returncode == 2
    assert "choose from text, json" in done.stderr


def test_hostile_words_are_cleaned(kvdiag, tmp_path):
    """Nothing of a line reaches the terminal as it is, and no secret at all."""
    line = klog('a.go:1] "Gone \x1b[2J" err="Authorization: Bearer abcdefghijklmnop: gone" pod="shop/\x1b[2Jweb"')
    (tmp_path / "kubelet.log").write_text(KUBELET + line, "utf-8")
    for words in (("errors",), ("errors", "-o", "json"), ("analyze",)):
        said = kvdiag(*words, "--year", "2024", tmp_path).stdout
        assert "\x1b" not in said
        assert "abcdefghijklmnop" not in said


def test_a_message_of_several_lines_is_explained_as_one(kvdiag, tmp_path):
    """A terminal has wrapped it; what a finding reads in its last line explains its first."""
    (tmp_path / "kubelet.log").write_text(
        KUBELET
        + klog('remote_runtime.go:143] StopPodSandbox "5a1b" from runtime service failed: rpc error:')
        + "code = Unknown desc = failed to stop infra container for pod sandbox 5a1b: failed to\n"
        + "stop container k8s_POD_db-0_shop_1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01_0: ttrpc: closed: unknown\n"
    )
    errors = json.loads(kvdiag("errors", "-o", "json", "--year", "2024", tmp_path).stdout)
    assert (errors["groups"], [group["explained_by"] for group in errors["known"]]) == ([], ["shim-ttrpc-closed"])


def test_few_harmless_lines_alone_are_shown(kvdiag, tmp_path):
    """A report is not silent on the only error line that it read: it says why the line is harmless, and when not."""
    (tmp_path / "events.txt").write_text(
        "  Warning  VolumeResizeFailed  2m  kubelet  NodeExpandVolume.NodeExpandVolume failed for volume "
        '"pvc-1" : Expander.NodeExpand found CSI plugin kubernetes.io/csi/file.example.com to not support node expansion\n'
    )
    shown = " ".join(kvdiag("analyze", "events.txt", cwd=tmp_path).stdout.split())
    assert "Known to be harmless by themselves: 1 error line 1× events.txt:1 NodeExpandVolume" in shown
    assert "Exception: the claim keeps its old size" in shown


def test_a_narrow_terminal_keeps_the_end_of_an_error(kvdiag, tmp_path):
    """Beside a finding an error has three lines; its end, which names the cause, is among them."""
    (tmp_path / "a-node-with-a-long-name.log").write_text(
        "E0312 08:00:00.000000    2201 oom_watcher_linux.go:1] x\n"
        "Mar 12 08:00:00 node-a kernel: Out of memory: Killed process 42 (java) total-vm:1kB, anon-rss:9kB, file-rss:0kB\n"
        f'E0312 08:00:01.000000    2201 widget.go:1] "Failed" err="{"the widgets of all shops " * 9}are sold out"\n'
    )
    shown = kvdiag("analyze", "--year", "2024", "a-node-with-a-long-name.log", cwd=tmp_path, COLUMNS="40").stdout
    assert "are sold out" in " ".join(shown.split()), shown


STATUS = "[cont-init.d] 0-widget-init: exited 127.\n"
GLIBC = "Fatal glibc error: CPU does not support x86-64-v3\n"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (GLIBC + STATUS, f"{CAUSE}the program, or a library that it loads, is built for"),
        (STATUS, f"{CAUSE}exit status 127"),
        (
            "cannot turn the widget today\n" + STATUS.replace("127", "126"),
            f"{SAYS}“cannot turn the widget today”.",
        ),
        ("cannot turn the widget today\n" + STATUS, f"{SAYS}“cannot turn the widget today”."),
        (
            "cannot turn the widget today\n" + "it turns\n" * 3 + STATUS,
            f"{CAUSE}exit status 127",
        ),
    ],
    ids=["of glibc", "alone", "126 behind words", "127 behind words", "far below"],
)
def test_an_exit_status_is_no_cause_behind_an_error(kvdiag, tmp_path, text, first):
    """An exit status just below another error is its effect."""
    path = tmp_path / "app.log"
    path.write_text("it begins\n" + text, "utf-8")
    assert " ".join(kvdiag("analyze", path).stdout.split()).startswith(first)


def test_the_kernels_last_word_on_an_overlay(kvdiag, tmp_path):
    """What overlayfs does not find is a warning; that it refuses the mount is the error, which comes first."""
    words = (
        "upper fs does not support tmpfile.",
        "failed to set xattr on upper",
        "upper fs missing required features.",
    )
    path = tmp_path / "kernel.log"
    path.write_text("".join(f"Mar 12 08:00:00 node-a kernel: overlayfs: {one}\n" for one in words), "utf-8")
    done = " ".join(kvdiag("analyze", "--year", "2024", path).stdout.split())
    assert done.startswith(f"{CAUSE}the kernel refuses an overlay mount")
    assert "Not explained by a rule: 3 lines in 3 groups" in done


def test_a_folder_that_a_check_removes(kvdiag, tmp_path):
    """The command is for the folder that stays."""
    path = tmp_path / "kernel.log"
    trial = "/var/lib/containerd/snapshots/multiple-lowerdir-check214524349/upper"
    path.write_text(f"overlayfs: filesystem on '{trial}' not supported as upperdir\n", "utf-8")
    assert "$ findmnt -T /var/lib/containerd/snapshots\n" in kvdiag("analyze", path).stdout


def test_a_path_that_a_container_may_not_use(kvdiag, tmp_path):
    """Of a program in a container the user comes first, and no command looks for its path on the node."""
    path = tmp_path / "app.log"
    path.write_text(
        "2024-03-12T08:00:00.000000000Z stderr F mkdir: cannot create directory /data/db: Permission denied\n"
    )
    done = kvdiag("analyze", path).stdout
    assert " ".join(done.split()).startswith(
        "No rule matches. A line names a cause: access to /data/db is denied in the container: its user,"
    )
    assert "$ " not in done


def test_a_path_of_an_unknown_program(kvdiag, tmp_path):
    """Where nothing says whether it runs in a container, no command looks on the node for a path that nodes lack."""
    path = tmp_path / "pasted.txt"
    path.write_text("chmod: changing permissions of '/scripts/run.sh': Read-only file system\n")
    done = " ".join(kvdiag("analyze", path).stdout.split())
    assert "/scripts/run.sh is on a read-only file system: in a container mostly since readOnlyRootFilesystem" in done
    assert "$ " not in done
    path.write_text("/sbin/wrapper: line 5: can't create /etc/widget/env: Permission denied\n")
    done = " ".join(kvdiag("analyze", path).stdout.split())
    assert "access to /etc/widget/env is denied: owner and mode" in done
    assert "$ ls -ldZ /etc/widget /etc/widget/env" in done


UNIT_EXIT = """\
Jul 15 03:49:33 worker-1 kubelet[2201]: E0715 03:49:33.100000    2201 run.go:72] "command failed" err="{error}"
Jul 15 03:49:33 worker-1 systemd[1]: {unit}.service: Main process exited, code=exited, status=1/FAILURE
Jul 15 03:49:33 worker-1 systemd[1]: {unit}.service: Failed with result 'exit-code'.
"""


@pytest.mark.parametrize(
    ("unit", "error", "listed"),
    [
        ("kubelet", "failed to parse kubelet flag: unknown flag: --foo", False),
        ("snapd", "failed to parse kubelet flag: unknown flag: --foo", True),
    ],
    ids=["of kubelet", "of another program"],
)
def test_the_exit_of_a_unit_is_part_of_the_finding(kvdiag, tmp_path, unit, error, listed):
    """What systemd says of the exit of kubelet is explained by the finding that kubelet exits."""
    path = tmp_path / "node.log"
    path.write_text(UNIT_EXIT.format(unit=unit, error=error), "utf-8")
    done = kvdiag("analyze", path).stdout
    assert "exits" in done
    assert (f"{unit}.service: " in done) is listed
