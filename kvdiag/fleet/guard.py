"""A process with limits: it ends when its time is up or its parent dies, and what ended it is told in words.

The child sets the limits of memory and CPU itself, before it reads anything (`limit_me`); the wall is watched here.
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

OUT_OF_MEMORY = 70
"""The exit code of a child that could get no more memory."""
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_TAIL = 4096
_LIVE: set[subprocess.Popen[bytes]] = set()
_LOCK = threading.Lock()


class Ended(NamedTuple):
    """How a process ended: its output, or the reason it has none and what to do."""

    out: bytes
    reason: str = ""
    next_step: str = ""


def run(command: Sequence[str], given: bytes, limits: Limits, environment: Mapping[str, str]) -> Ended:
    """Run a command to its end or to its limit; `given` is its standard input."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=dict(environment),
            start_new_session=True,
        )
        with _LOCK:
            _LIVE.add(child)
        try:
            out, _ = child.communicate(given, limits.seconds)
        except subprocess.TimeoutExpired:
            return Ended(
                b"", f"took more than {limits.seconds:g} s", "raise --limit-seconds, or look at its largest log"
            )
        finally:
            _kill(child)
            child.communicate()
            with _LOCK:
                _LIVE.discard(child)
        return Ended(out) if child.returncode == 0 else _failed(child.returncode, _tail(said), limits)


def end_all() -> None:
    """End every process that was started here and is still at work."""
    with _LOCK:
        live = list(_LIVE)
    for child in live:
        _kill(child)


def limit_me(limits: Limits, parent: int) -> None:
    """Set the limits of this process; it ends at once if its `parent` did already."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    import resource

    seconds = int(limits.seconds) + 1
    for what, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, limits.memory), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):  # already lower, or a system without it
            resource.setrlimit(what, (most, most))


def _failed(code: int, said: str, limits: Limits) -> Ended:
    if code == OUT_OF_MEMORY or "bad_alloc" in said:
        memory = f"{limits.memory / (1 << 30):.3g} GiB"
        return Ended(b"", f"needed more than {memory} of memory", "raise --limit-memory, or split the bundle")
    if code == -signal.SIGXCPU:
        return Ended(b"", f"took more than {limits.seconds:g} s of CPU", "raise --limit-seconds")
    if code == -signal.SIGKILL:
        return Ended(b"", "was killed from outside, by the OOM killer perhaps", "run fewer at once: --workers")
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return Ended(b"", f"crashed: {name}", "run kvdiag analyze on it alone, and report what ends it")
    last = said.strip().rpartition("\n")[2]
    return Ended(b"", f"ended with {code}: {last[:500]}", "run kvdiag analyze on it alone")


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End the process and whatever it started; its own session has the number of the process."""
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    return file.read(_TAIL).decode("utf-8", "replace")
