"""The engine without a service: one thread per core, each with one child process at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from kvdiag.base.processes import cores
from kvdiag.fleet.guard import Guard
from kvdiag.fleet.unit import work
from kvdiag.fleet.values import Job, Outcome

AHEAD = 2  # jobs queued per worker, so that none waits for the next


def run_local(jobs: Iterable[Job], workers: int = 0) -> Iterator[Outcome]:
    """Yield the outcome of each job when it ends; if the caller stops, running jobs are killed."""
    count = workers or cores()
    pool, rest, guard = ThreadPoolExecutor(count), iter(jobs), Guard()
    try:
        under_way: set[Future[Outcome]] = {pool.submit(work, job, guard) for job in islice(rest, count * AHEAD)}
        while under_way:
            ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            under_way |= {pool.submit(work, job, guard) for job in islice(rest, len(ended))}
            for one in ended:
                yield one.result()
    finally:
        guard.stop()
        pool.shutdown(cancel_futures=True)
