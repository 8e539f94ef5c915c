"""Run a process with limits: it ends when its time is up or its parent dies, and the reason is reported.

The child limits its own memory and CPU before it reads anything (`limit_me`); the elapsed time is limited here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import IO, NamedTuple

from kvdiag.fleet.values import Limits

OUT_OF_MEMORY, NOTHING_READ, NOT_STORED = 70, 71, 72
"""The exit codes of a child that ran out of memory, could read no line of a log, or could not store its results."""
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_TAIL = 4096


class ProcessResult(NamedTuple):
    """How a process ended: its output, or the reason for its failure and what to do."""

    out: bytes
    reason: str = ""
    next_step: str = ""


class StoppedError(Exception):
    """The run was stopped together with its processes; this is not a failure of the bundle."""


class Guard:
    """Starts processes, and kills those still running when the run ends."""

    def __init__(self) -> None:
        """Start without processes."""
        self._live: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._is_stopped = False

    def run(
        self, command: Sequence[str], stdin_data: bytes, limits: Limits, environment: Mapping[str, str]
    ) -> ProcessResult:
        """Run a command to its end or its limit, with `stdin_data` as standard input. Raise StoppedError.

        The input is a file: writing to a pipe of a crashed child would kill this process, as the command line keeps
        SIGPIPE.
        """
        with tempfile.TemporaryFile() as stderr, tempfile.TemporaryFile() as request:
            request.write(stdin_data)
            request.seek(0)
            child = self._start(command, (request, stderr), environment)
            try:
                out, _ = child.communicate(timeout=limits.seconds)
            except subprocess.TimeoutExpired:
                reason = f"took more than {limits.seconds:g} s"
                return ProcessResult(b"", reason, "raise --limit-seconds, or look at its largest log")
            finally:
                _kill(child)
                child.communicate()
                self._live.discard(child)
            if self._is_stopped:
                raise StoppedError
            return ProcessResult(out) if child.returncode == 0 else _failed(child.returncode, _tail(stderr), limits)

    def stop(self) -> None:
        """Kill every running process, and start no other."""
        with self._lock:
            self._is_stopped = True
            live = list(self._live)
        for child in live:
            _kill(child)

    def _start(
        self, command: Sequence[str], files: tuple[IO[bytes], IO[bytes]], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_stopped:
                raise StoppedError
            child = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
                command,
                stdin=files[0],
                stdout=subprocess.PIPE,
                stderr=files[1],
                env=dict(environment),
                start_new_session=True,
            )
            self._live.add(child)
            return child


def limit_me(limits: Limits, parent: int) -> None:
    """Set the limits of this process, and end it at once if its `parent` has already ended."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    import resource

    seconds = int(limits.seconds) + 1
    for what, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, limits.memory), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):  # the limit is lower already, or the system has none
            resource.setrlimit(what, (most, most))


def _failed(code: int, stderr: str, limits: Limits) -> ProcessResult:
    if code == OUT_OF_MEMORY or "bad_alloc" in stderr or "MemoryError" in stderr:
        memory = f"{limits.memory / (1 << 30):.3g} GiB"
        return ProcessResult(b"", f"needed more than {memory} of memory", "raise --limit-memory, or split the bundle")
    if code == -signal.SIGXCPU:
        return ProcessResult(b"", f"took more than {limits.seconds:g} s of CPU", "raise --limit-seconds")
    if code == -signal.SIGKILL:
        return ProcessResult(b"", "was killed from outside, by the OOM killer perhaps", "run fewer at once: --workers")
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return ProcessResult(b"", f"crashed: {name}", "run kvdiag analyze on it alone, and report what ends it")
    last = stderr.strip().rpartition("\n")[2][:500]
    reasons = {
        NOTHING_READ: ("has no readable log", "run kvdiag analyze on it alone"),
        NOT_STORED: ("could not be stored", "check the space and permissions of the temporary folder and of DEST"),
    }
    reason, next_step = reasons.get(code, (f"ended with {code}", "run kvdiag analyze on it alone"))
    return ProcessResult(b"", f"{reason}: {last}", next_step)


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Kill the process and everything it started: its session has its process id."""
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    return file.read(_TAIL).decode("utf-8", "replace")
