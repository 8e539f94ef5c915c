"""Runs of the command without the start of an interpreter: a server that has everything imported does one after the other.

A run has its own arguments, folder, environment, standard streams and exit code, as after `python -m kvdiag`, and must
not depend on those before it, as those in a program that imports kvdiag do not. What an interpreter or kvdiag reads once
and keeps (PYTHON…, LC_…, HOME…) needs a new one: `needs_start`.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from threading import Thread
from typing import IO, Any

ROOT = Path(__file__).parents[1]
AT_START = ("PYTHON", "LC_", "LANG", "KVDIAG_", "XDG_", "HOME")
EACH = 20  # runs, between which nobody looks for cycles
MOST = 1 << 20  # bytes of a request: arguments and environment
PATIENCE = 120  # seconds


def needs_start(environment: Mapping[str, str]) -> bool:
    """Whether one of the variables is read only when an interpreter starts."""
    return any(name.startswith(AT_START) for name in environment)


def run(words: Sequence[str], stdin: bytes, cwd: Path, environment: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    """Run the command; give its exit code, what it wrote, and what it said on stderr."""
    return _own().run(words, stdin, cwd, environment)


def run_into(place: Path, words: Sequence[str]) -> tuple[int, bytes]:
    """Run the command with a file as its standard output; give its exit code, and what it said on stderr."""
    with place.open("wb") as file:
        code, _out, said = _own().run(words, b"", ROOT, os.environ, file.fileno())
    return code, said


def stop() -> None:
    """End the server, if one was started."""
    if _own.cache_info().currsize:
        _own().stop()
        _own.cache_clear()


class Server:
    """Runs the command of some sources."""

    def __init__(self, sources: Path, environment: Mapping[str, str]) -> None:
        """The environment holds what is read when an interpreter starts."""
        self._ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.settimeout(PATIENCE)
        for side in (self._ours, its):
            side.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST)
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), str(its.fileno())],
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            cwd=sources,
            env={**environment, "PYTHONPATH": str(sources)},
            start_new_session=True,
        )
        its.close()

    def run(
        self,
        words: Sequence[str],
        stdin: bytes,
        cwd: Path,
        environment: Mapping[str, str],
        out: int | None = None,
    ) -> tuple[int, bytes, bytes]:
        """Run it; give its exit code, what it wrote unless that went to `out`, and what it said on stderr."""
        (its_in, our_in), (our_out, its_out), (our_err, its_err) = os.pipe(), os.pipe(), os.pipe()
        request = json.dumps({"words": list(words), "cwd": str(cwd), "environment": dict(environment)}).encode()
        socket.send_fds(self._ours, [request], [its_in, its_out if out is None else out, its_err])
        for end in (its_in, its_out, its_err):
            os.close(end)
        written: dict[int, bytes] = {}
        threads = [Thread(target=_feed, args=(our_in, stdin))]
        threads += [Thread(target=_drain, args=(end, written)) for end in (our_out, our_err)]
        for thread in threads:
            thread.start()
        code = int(self._ours.recv(16))
        for thread in threads:
            thread.join(PATIENCE)
        return code, written[our_out], written[our_err]

    def stop(self) -> None:
        """End it."""
        self._ours.close()
        self._process.wait(PATIENCE)


def _feed(end: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), os.fdopen(end, "wb") as stream:
        stream.write(data)


def _drain(end: int, written: dict[int, bytes]) -> None:
    with os.fdopen(end, "rb") as stream:
        written[end] = stream.read()


@cache
def _own() -> Server:
    return Server(ROOT, os.environ)


def _serve(requests: socket.socket) -> None:
    """Run one command after the other, until nobody is there to ask."""
    ours = [os.dup(number) for number in range(3)]
    for number in count(1):
        request, streams, _flags, _address = socket.recv_fds(requests, MOST, 3)
        if not request:
            return
        for stream, place in zip(streams, range(3), strict=True):
            os.dup2(stream, place)
            os.close(stream)
        code = _become(json.loads(request))
        for stream, place in zip(ours, range(3), strict=True):
            os.dup2(stream, place)
        requests.send(str(code).encode())
        if number % EACH == 0:
            gc.collect()
            gc.freeze()  # what stays is not looked through again


def _become(asked: Mapping[str, Any]) -> int:
    """Be the command, to the end; give its exit code."""
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    sys.stdin, sys.stdout, sys.stderr = _stream(0, "r"), _stream(1, "w"), _stream(2, "w")
    sys.argv = ["kvdiag", *asked["words"]]
    from kvdiag.cli.main import run as command

    code: object = 0
    try:
        command()
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 (an interpreter says so too, and ends)
        sys.excepthook(*sys.exc_info())
        code = 1
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    return code if isinstance(code, int) else int(code is not None)


def _stream(number: int, mode: str) -> IO[str]:
    return open(number, mode, encoding="utf-8", errors="backslashreplace" if number == 2 else None, closefd=False)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
