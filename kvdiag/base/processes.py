"""Copies of this process that work on tasks, and hand over the results in the order of the tasks.

A copy (fork) has all that was loaded, the patterns and the scanner, and the same hashes of bytes. A task and its result
go through a pipe as pickle, so that what takes long to make again is packed by the caller.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

T = TypeVar("T")
R = TypeVar("R")

_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")
AHEAD = 2  # tasks that a process has at a time, so that it need not wait for the next


class LostProcessError(Exception):
    """A process ended without its result, as it was killed; or it could not be started."""


class Processes(Generic[T, R]):
    """Processes that run one function; close them in any case.

    A task must be small, 60 KB as pickle: two of them must fit into a pipe whose other end sends a result itself.
    """

    def __init__(self, count: int, run: Callable[[T], R]) -> None:
        """Start `count` copies of this process. A task and its result must be picklable. Raise LostProcessError."""
        import multiprocessing  # 10 ms, which small inputs do not need

        context = multiprocessing.get_context("fork")
        self._pipes: list[Connection] = []
        self._processes = []
        self._order: deque[int] = deque()  # the process that has each task, the oldest first
        self._load = [0] * count
        for _ in range(count):
            try:
                mine, its = context.Pipe()
                self._pipes.append(mine)
                process = context.Process(target=_work, args=(its, list(self._pipes), run), daemon=True)
                with warnings.catch_warnings():
                    # Python 3.12 warns of threads, as a progress bar has: a copy needs no lock of it.
                    warnings.simplefilter("ignore", DeprecationWarning)
                    process.start()
            except OSError:  # there are too many processes or files
                self.close()
                raise LostProcessError from None
            its.close()
            self._processes.append(process)

    @property
    def most_tasks(self) -> int:
        """Return how many tasks may be given before the first result is taken."""
        return AHEAD * len(self._pipes)

    def give(self, task: T) -> None:
        """Give a task to the process with the fewest. Raise LostProcessError if it is gone."""
        number = min(range(len(self._load)), key=self._load.__getitem__)
        try:
            self._pipes[number].send(task)
        except OSError:
            raise LostProcessError from None
        self._load[number] += 1
        self._order.append(number)

    def take(self) -> R:
        """Return the result of the oldest task. Raise LostProcessError if its process is gone."""
        number = self._order.popleft()
        self._load[number] -= 1
        try:
            result: R = self._pipes[number].recv()
        except (EOFError, OSError):
            raise LostProcessError from None
        return result

    def close(self) -> None:
        """End all processes, whatever they do."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
        for pipe in self._pipes:
            pipe.close()


def can_copy() -> bool:
    """Return whether this system can copy a process safely; on macOS its libraries cannot be used in a copy."""
    return sys.platform == "linux" and hasattr(os, "fork")


def cores() -> int:
    """Return the number of cores that this process may use, in a container those of its CPU limit."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _CPU_LIMIT.read_text("ascii").split()
        return max(1, min(count, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no control group of version 2, or no limit: max 100000
        return count


def _work(pipe: Connection, others: list[Connection], run: Callable[[T], R]) -> None:
    """Run tasks until the other end is closed; Ctrl-C is handled by the first process, which ends this one."""
    for other in others:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0)
    while True:
        try:
            pipe.send(run(pipe.recv()))
        except Exception:  # noqa: BLE001 (the other end is closed; or a fault, which the first process meets again)
            return
