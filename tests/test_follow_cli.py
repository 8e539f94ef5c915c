"""`kvdiag analyze --follow`: findings while the log is still written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Queue

import pytest

from tests.wrappers import cri_parts, written

ROOT = Path(__file__).parents[1]
LINES = (ROOT / "sample-logs/hostpath-driver-lost-state/kubelet.log").read_text("utf-8").splitlines(keepends=True)
BUSY = next(n for n, line in enumerate(LINES) if "pod.kept" in line or "durationBeforeRetry 1m4s" in line) + 1
PATIENCE = 60  # seconds: a test that waits longer has failed


class Following:
    """A process that follows, and what it says, line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Reads its output in the background."""
        self.process = process
        self._said: Queue[bytes] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self._said.put(line)
        self._said.put(b"")

    def write(self, lines: list[str]) -> None:
        """Give it more of the log."""
        self.process.stdin.write("".join(lines).encode())
        self.process.stdin.flush()

    def said(self) -> dict:
        """Give the next change."""
        return json.loads(self._said.get(timeout=PATIENCE))

    def until(self, rule: str, change: str) -> dict:
        """Give the first such change of a rule."""
        while (said := self.said())["finding"]["rule"] != rule or said["change"] != change:
            pass
        return said

    def rest(self) -> list[dict]:
        """Give all changes until it ends."""
        return [json.loads(line) for line in iter(lambda: self._said.get(timeout=PATIENCE), b"")]


@contextmanager
def following(*arguments: object) -> Iterator[Following]:
    process = subprocess.Popen(
        [sys.executable, "-m", "kvdiag", "analyze", "--follow", "-o", "json", "--year", "2026", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    try:
        yield Following(process)
    finally:
        process.kill()
        process.wait(PATIENCE)
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(BrokenPipeError):
                pipe.close()


def test_a_finding_is_told_while_the_pipe_is_open_and_its_end_when_it_is_over():
    """What is certain is told before the log ends; when the pod is gone at last, that is told too."""
    with following() as live:
        live.write(LINES[:BUSY])
        found = live.until("unmount-device-busy", "found")
        assert found["finding"]["verdict"] == "confirmed"
        assert live.process.poll() is None
        live.write(LINES[BUSY:])
        over = live.until("unmount-device-busy", "over")
        assert over["time"] > found["finding"]["ends"]
        live.process.stdin.close()
        rest = live.rest()
        assert live.process.wait(PATIENCE) == 0
        assert "csi-nodeunpublish-state-lost" in {said["finding"]["rule"] for said in rest if said["change"] == "found"}


STAGE = """\
I0312 08:00:00.000000       1 server.go:101] GRPC call: /csi.v1.Node/NodeStageVolume
I0312 08:00:00.000000       1 server.go:102] GRPC request: {"staging_target_path":"/s","volume_id":"vol-0a1b2c3d4e5f"}
"""
MISMATCH = (
    f"E0312 08:00:00.000000       1 server.go:108] GRPC error: rpc error: code = Internal desc = {'retried, ' * 80}"
    "multipath device 'dm-76' serial check failed\n"
)


def test_parts_of_lines_are_told_when_their_last_part_has_come():
    """A runtime writes a long line of a container in parts; a reader of the pipe gets some of them."""
    log = (STAGE + MISMATCH).encode()
    cut = [f"{part}\n" for of in written(log, "csi-driver", 2026) for part in cri_parts(of).split("\n")]
    last = max(number for number, part in enumerate(cut) if " stderr P " in part) + 1
    with following() as live:
        live.write(cut[:last])
        time.sleep(1)  # it is read by now
        live.write(cut[last:])
        live.process.stdin.close()
        assert [said["finding"]["rule"] for said in live.rest()] == ["multipath-serial-mismatch"]


def test_a_log_that_grows_and_is_rotated(tmp_path):
    """A file is read from its beginning, then as it grows, also when another takes its place."""
    log = tmp_path / "kubelet.log"
    log.write_text("".join(LINES[: BUSY // 2]), "utf-8")
    with following(log) as live:
        log.rename(tmp_path / "kubelet.log.1")
        log.write_text("".join(LINES[BUSY // 2 : BUSY]), "utf-8")
        assert live.until("unmount-device-busy", "found")["finding"]["verdict"] == "confirmed"
        with log.open("a", encoding="utf-8") as more:
            more.writelines(LINES[BUSY:])
        assert live.until("unmount-device-busy", "over")


def test_interrupted():
    """Ctrl-C ends it without a word."""
    with following() as live:
        live.write(LINES[:BUSY])
        live.until("unmount-device-busy", "found")
        live.process.send_signal(signal.SIGINT)
        assert live.process.wait(PATIENCE) == 130
        assert live.process.stderr.read() == b""


def test_an_exported_journal():
    """A journal in a mode of many lines an entry is followed as well."""
    entry = "__CURSOR=s=1;i={0}\n__REALTIME_TIMESTAMP=1795100000{0:06d}\n_HOSTNAME=worker-1\nSYSLOG_IDENTIFIER=kubelet\n_PID=1\nMESSAGE={1}\n\n"
    told = [entry.format(number * 100, line.rstrip("\n")) for number, line in enumerate(LINES[:BUSY])]
    with following() as live:
        live.write(told)
        assert live.until("unmount-device-busy", "found")["finding"]["subject"]["ids"]["node"] == "worker-1"


def test_what_cannot_be_followed(kvdiag, tmp_path):
    """A missing file is said, and the exit code tells."""
    done = kvdiag("analyze", "--follow", tmp_path / "none.log")
    assert (done.returncode, "none.log: " in done.stderr) == (3, True)


def test_fail_on(kvdiag):
    """The exit code is that of the worst that was found."""
    log = "".join(LINES).encode()
    assert kvdiag("analyze", "--follow", "--fail-on", "medium", stdin=log).returncode == 1
    assert kvdiag("analyze", "--follow", "--fail-on", "critical", stdin=log).returncode == 0


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc here")
def test_a_path_that_is_a_folder_for_a_moment(tmp_path):
    """It is waited until there is a file again, as when a log is put in place anew."""
    log = tmp_path / "kubelet.log"
    log.write_text("".join(LINES[: BUSY // 2]), "utf-8")
    with following(log) as live:
        while not any(file.exists() and file.samefile(log) for file in Path(f"/proc/{live.process.pid}/fd").iterdir()):
            time.sleep(0.05)
        log.rename(tmp_path / "kubelet.log.1")
        log.mkdir()
        time.sleep(2)  # it looks twice a second
        log.rmdir()
        log.write_text("".join(LINES[BUSY // 2 : BUSY]), "utf-8")
        assert live.until("unmount-device-busy", "found")["finding"]["verdict"] == "confirmed"
