"""Whatever is given to the command: one clear line, the right exit code, the other inputs still analysed."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kvdiag.base.errors import InputError
from kvdiag.inputs.files import atomic_write
from kvdiag.inputs.paths import sources

ROOT = Path(__file__).parents[1]
PATIENCE = 60  # seconds
UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
RULE = "csi-driver-not-registered-teardown"
ABSENT = "driver name disk.csi.example.com not found in the list of registered CSI drivers"
COMMANDS = [["analyze"], ["analyze", "-o", "json"], ["parse"], ["events"]]
each_command = pytest.mark.parametrize("command", COMMANDS, ids=" ".join)


def failure(minute: int, volume: str = "data", error: str = ABSENT) -> str:
    """Give a kubelet line that says why a volume cannot be unmounted."""
    return (
        f'E0312 08:{minute}:20.000000    2201 nestedpendingoperations.go:348] Operation for "{{volumeName:kubernetes.io/csi/disk.csi.example.com^vol-0a1b podName:{UID} nodeName:}}" failed. '
        f"No retries permitted until 2024-03-12 08:{minute}:21.6 +0000 UTC m=+199.1 (durationBeforeRetry 500ms). "
        f'Error: UnmountVolume.TearDown failed for volume "{volume}" (UniqueName: "kubernetes.io/csi/disk.csi.example.com^vol-0a1b") pod "{UID}" (UID: "{UID}") : '
        f"kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: {error}\n"
    )


LAST = 'I0312 08:29:30.000000    2201 kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/other"]\n'
GOOD = "".join(failure(minute) for minute in range(14, 19)) + LAST


@pytest.fixture
def good(tmp_path):
    """Give a log in which something is found."""
    path = tmp_path / "good.log"
    path.write_text(GOOD, "utf-8")
    return path


def one_line(text: str) -> bool:
    """Tell whether a message is one line."""
    return text.count("\n") == 1 and text.endswith("\n")


def empty_file(folder: Path) -> Path:
    """Make an empty file."""
    (folder / "empty.log").touch()
    return folder / "empty.log"


def binary_file(folder: Path) -> Path:
    """Make a file that is no text."""
    (folder / "core").write_bytes(bytes(range(256)) * 40)
    return folder / "core"


def lzma_file(folder: Path) -> Path:
    """Make a file of the older format of xz, which is not unpacked."""
    (folder / "kubelet.log.lzma").write_bytes(lzma.compress(GOOD.encode(), lzma.FORMAT_ALONE))
    return folder / "kubelet.log.lzma"


def folder_without_logs(folder: Path) -> Path:
    """Make a folder in which nothing is a log."""
    (folder / "manifests").mkdir()
    (folder / "manifests" / "pod.yaml").write_text("kind: Pod\nmetadata: {name: web-0}\n", "utf-8")
    return folder / "manifests"


def missing_path(folder: Path) -> Path:
    """Name a file that is not there."""
    return folder / "kubelet.lgo"


def device(_folder: Path) -> Path:
    """Name a device."""
    return Path("/dev/null")


each_bad_input = pytest.mark.parametrize(
    "make", [empty_file, binary_file, lzma_file, folder_without_logs, missing_path, device]
)


@each_command
@each_bad_input
def test_input_that_is_no_log(command, make, kvdiag, tmp_path):
    """An input that was named and is no log gives one line that names it, and exit 3."""
    path = make(tmp_path)
    done = kvdiag(*command, path)
    assert done.returncode == 3
    assert one_line(done.stderr)
    assert done.stderr.startswith(f"kvdiag: {path}: ")


@each_bad_input
def test_the_others_are_analysed(make, kvdiag, good, tmp_path):
    """A bad input beside a good one does not stop it: the finding is there, and the exit code still says 3."""
    done = kvdiag("analyze", make(tmp_path), good)
    assert done.returncode == 3
    assert RULE in done.stdout
    assert one_line(done.stderr)


def test_findings_win_over_unreadable(kvdiag, good, tmp_path):
    """With --fail-on, findings at or above it give exit 1 though an input could not be read."""
    assert kvdiag("analyze", "--fail-on", "high", tmp_path / "no.log", good).returncode == 1
    assert kvdiag("analyze", "--fail-on", "critical", tmp_path / "no.log", good).returncode == 3


@each_command
def test_gzip_cut_in_the_middle(command, kvdiag, tmp_path):
    """What a broken .gz holds until it breaks is used; that it breaks is said."""
    path = tmp_path / "kubelet.log.gz"
    log = gzip.decompress((ROOT / "sample-logs" / "driver-removed-before-pod" / "kubelet.log.gz").read_bytes())
    packed = gzip.compress(log)
    path.write_bytes(packed[: len(packed) * 3 // 4])
    done = kvdiag(*command, path)
    assert done.returncode == 3
    assert one_line(done.stderr)
    assert "compressed data is truncated" in done.stderr
    assert RULE in done.stdout or len(done.stdout.splitlines()) > 100


def test_file_that_may_not_be_read(kvdiag, good, tmp_path):
    """A file without permission is told as that; the others are analysed."""
    shut = tmp_path / "shut.log"
    shut.write_text(GOOD, "utf-8")
    shut.chmod(0)
    if os.access(shut, os.R_OK):
        pytest.skip("this user may read everything")
    done = kvdiag("analyze", shut, good)
    assert done.returncode == 3
    assert "ermission" in done.stderr
    assert RULE in done.stdout


def test_prose_is_not_healthy(kvdiag, tmp_path):
    """A text in which no line is a log record is not understood, and that is no success."""
    path = tmp_path / "notes.txt"
    path.write_text("Dear all,\nthe node was slow on Friday.\nNobody knows why.\n" * 50, "utf-8")
    assert kvdiag("analyze", path).returncode == 3


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("id: KV999\nname: x\nwhen: a then b\n", "x.yaml:1:1: "),
        ("id: [KV999\n", "x.yaml:"),
        ("- 1\n- 2\n", "x.yaml:1:1: "),
    ],
)
@pytest.mark.parametrize("command", [["analyze"], ["events"]])
def test_broken_rule(text, place, command, kvdiag, good, tmp_path):
    """A broken rule in --patterns is told with file, line and column, and exit 2."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "x.yaml").write_text(text, "utf-8")
    done = kvdiag(*command, "--patterns", tmp_path / "rules", good)
    assert done.returncode == 2
    assert place in done.stderr
    assert re.search(r"x\.yaml:\d+:\d+: \S", done.stderr)
    assert done.stdout == ""


def test_broken_condition_has_a_caret(kvdiag, good, tmp_path):
    """A fault in the language of `when` is shown with a caret under it and the word that was meant."""
    text = kvdiag("rules", "new", "my-rule", "--patterns", tmp_path / "mine").stdout
    path = next((tmp_path / "mine").rglob("my-rule.yaml"))
    assert str(path) in text
    path.write_text(
        re.sub(r"^when: .*$", "when: apple thne pear", path.read_text("utf-8"), flags=re.MULTILINE), "utf-8"
    )
    done = kvdiag("analyze", "--patterns", tmp_path / "mine", good)
    assert done.returncode == 2
    assert re.search(r"my-rule\.yaml:\d+:\d+: ", done.stderr)
    assert "^" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--bogus"], "--bogus"),
        (["--rule", "KV000"], "unknown rule 'KV000'"),
        (["--component", "kubelet"], "write name=version"),
        (["--component", "kubelet=latest"], "write name=version"),
        (["-o", "xml"], "unknown output"),
        (["--fail-on", "awful"], "unknown severity"),
        (["--since", "yesterdayish"], "--since"),
        (["--until", "13:99"], "--until"),
        (["--tz", "Mars/Olympus"], "--tz"),
        (["--year", "12"], "--year"),
        (["--patterns", "no-such-folder"], "no such folder"),
        (["--output-file", "/no/such/folder/report"], "--output-file"),
    ],
)
def test_wrong_usage(arguments, said, kvdiag, good):
    """Wrong usage is told by its last line, gives exit 2 and no report."""
    done = kvdiag("analyze", *arguments, good)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert done.stdout == ""


@each_command
def test_nothing_on_standard_input(command, kvdiag):
    """Nothing piped in is an input that could not be read."""
    done = kvdiag(*command)
    assert done.returncode == 3
    assert one_line(done.stderr)
    assert "stdin" in done.stderr


def test_closed_standard_input():
    """Without a standard input the command says what to name, and exits 2."""
    shell = ["sh", "-c", f"exec {sys.executable} -m kvdiag analyze <&-"]
    done = subprocess.run(shell, capture_output=True, check=False, cwd=ROOT)
    assert done.returncode == 2
    assert one_line(done.stderr.decode())
    assert b"nothing to read" in done.stderr


@each_command
def test_log_from_a_pipe(command, kvdiag):
    """A log piped in is read as if it were a file."""
    done = kvdiag(*command, "-", stdin=GOOD.encode())
    assert done.returncode == 0
    assert "disk.csi.example.com" in done.stdout


@each_command
def test_very_long_line(command, kvdiag, tmp_path):
    """A line of 5 MB is cut, told of as cut, and takes nothing from its neighbours."""
    path = tmp_path / "long.log"
    monster = f'I0312 08:20:00.000000    2201 kubelet.go:1] "{"x" * 5_000_000}"\n'
    path.write_text(failure(14) + monster + "".join(failure(minute) for minute in range(21, 25)) + LAST, "utf-8")
    done = kvdiag(*command, path)
    assert done.returncode == 0
    assert len(done.stdout) < 2_000_000
    if command == ["analyze", "-o", "json"]:
        report = json.loads(done.stdout)
        assert [finding["count"] for finding in report["findings"]] == [5]
        assert report["inputs"][0]["truncated"] == 1
        assert report["inputs"][0]["lines"] == 7
    elif command == ["parse"]:
        assert [json.loads(line)["truncated"] for line in done.stdout.splitlines()] == [False, True, *[False] * 5]


@each_command
def test_nul_bytes(command, kvdiag, tmp_path):
    """NUL bytes, as a crash leaves them in a file, hide nothing."""
    path = tmp_path / "nul.log"
    path.write_text("".join(failure(minute) + "\0\0\0\n" for minute in range(14, 19)) + "\0" * 24 + LAST, "utf-8")
    done = kvdiag(*command, path)
    assert done.returncode == 0
    assert "disk.csi.example.com" in done.stdout
    assert "\0" not in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ["analyze"],
        ["analyze", "--year", "2024"],
        ["analyze", "-o", "json"],
        ["parse"],
        ["events"],
        ["rules", "list"],
        ["rules", "show", "KV310"],
    ],
    ids=" ".join,
)
def test_closed_pipe(command):
    """When the reader goes away, as `head` does, the command ends without a word, and not with a finding's exit code."""
    paths = [] if command[0] == "rules" else ["sample-logs/kubelet-no-runtime-endpoint"]
    running = subprocess.Popen(
        [sys.executable, "-m", "kvdiag", *command, *paths],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    running.stdout.close()
    assert running.stderr.read() == b""
    running.stderr.close()
    assert running.wait() in {0, -signal.SIGPIPE}


@pytest.mark.parametrize("command", [["analyze"], ["analyze", "--year", "2024"], ["parse"], ["events"]], ids=" ".join)
def test_interrupted(command):
    """Ctrl-C ends the command with 130 and without a traceback."""
    running = subprocess.Popen(
        [sys.executable, "-m", "kvdiag", *command, "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    running.stdin.write(LAST.encode() * 1_000)  # more than a pipe holds: once it is taken, the command is reading
    running.stdin.flush()
    running.send_signal(signal.SIGINT)
    assert running.wait(PATIENCE) == 130
    _, said = running.communicate(timeout=PATIENCE)
    assert b"Traceback" not in said


@pytest.mark.parametrize(
    "command", [["analyze"], ["timeline", "volume", "vol-0a1b", "--year", "2024"]], ids=["analyze", "timeline"]
)
def test_absolute_and_relative(kvdiag, good, command):
    """Paths from the root and from here may be mixed; they have no folder in common."""
    (good.parent / "rel").mkdir()
    (good.parent / "rel" / "more.log").write_text(GOOD, "utf-8")
    done = kvdiag(*command, "rel/more.log", good, cwd=good.parent)
    assert done.returncode == 0
    assert done.stderr == ""


def test_a_hole_takes_no_time(kvdiag, tmp_path):
    """Of a hole of 50 GB, as copytruncate leaves one at the head of a log, no byte but the first are read."""
    path = tmp_path / "kubelet.log"
    with path.open("wb") as file:
        file.write(GOOD.encode())
        file.truncate(50 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + GOOD.replace("data", "other").encode())
        file.truncate(100 << 30)
    done = kvdiag("analyze", "-o", "json", path)
    assert done.returncode == 0
    (read,) = json.loads(done.stdout)["inputs"]
    assert read["records"] == 2 * GOOD.count("\n") + 1  # the beginning of the hole


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path: os.truncate(path, 100), "it was cut to 100 bytes while it was read"),
        (
            lambda path: (path.rename(f"{path}.1"), path.write_text(GOOD)),
            "another file took its name while it was read",
        ),
        (lambda path: path.unlink(), ""),
        (lambda path: path.write_text(GOOD * 3000), ""),
    ],
    ids=["cut", "replaced", "removed", "longer"],
)
def test_a_log_that_changes_while_it_is_read(tmp_path, change, said):
    """A log that was cut or replaced meanwhile is reported; one that grew or was removed was read."""
    path = tmp_path / "kubelet.log"
    path.write_text(GOOD * 2000)
    problems: list[InputError] = []
    (source,) = sources([str(path)], problems.append)
    with source.open() as reader:
        buffer = memoryview(bytearray(65536))
        reader.readinto(buffer)
        change(path)
        while reader.readinto(buffer):
            pass
    assert [said in str(problem) and str(path) in str(problem) for problem in problems] == [True] * bool(said)


def test_nothing_recognized_is_a_problem_in_json_too(kvdiag, tmp_path):
    """Exit 3 has its reason in every output."""
    path = tmp_path / "notes.txt"
    path.write_text("nothing\nof a log\n")
    done = kvdiag("analyze", "-o", "json", path)
    assert (done.returncode, json.loads(done.stdout)["problems"]) == (3, [f"{path}: no log lines recognized"])


@pytest.mark.parametrize("command", ["events", "parse", "pods", "volumes"])
def test_nothing_recognized_is_said(kvdiag, tmp_path, command):
    """Also a list that is empty for it says why it exits with 3."""
    path = tmp_path / "notes.txt"
    path.write_text("nothing\nof a log\n")
    done = kvdiag(command, path)
    assert (done.returncode, done.stderr) == (3, "kvdiag: no log lines recognized\n")


@pytest.mark.parametrize("option", ["--baseline", "--suppressions"])
@pytest.mark.parametrize(
    "make", [device, lambda folder: (os.mkfifo(folder / "f"), folder / "f")[1]], ids=["device", "fifo"]
)
def test_a_device_is_no_file_of_settings(kvdiag, good, tmp_path, option, make):
    """Neither is read without end, nor waited for."""
    done = kvdiag("analyze", option, make(tmp_path), good)
    assert (done.returncode, one_line(done.stderr)) == (2, True)


def test_an_output_is_whole_or_not_there(tmp_path):
    """The name of an output never stands for half of it; a device is written to as it is."""
    out = tmp_path / "report.json"
    out.write_text("before")
    out.chmod(0o640)
    with pytest.raises(ZeroDivisionError), atomic_write(out) as file:
        file.writelines(b"%d" % (1 // left) for left in (1, 0))
    assert (out.read_text(), sorted(path.name for path in tmp_path.iterdir())) == (
        "before",
        ["report.json"],
    )
    with atomic_write(out) as file:
        file.write(b"whole")
    assert (out.read_text(), out.stat().st_mode & 0o777) == ("whole", 0o640)
    with atomic_write(Path("/dev/null")) as file:
        file.write(b"nowhere")
    assert Path("/dev/null").is_char_device()


def test_a_link_stays_a_link(tmp_path):
    """What a link names is replaced, not the link."""
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"whole")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "whole"
