"""The engine for many machines: each job is a task of a Dask cluster, whose workers start a child process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from distributed import Client, as_completed

from kvdiag.base.errors import UsageError
from kvdiag.fleet.unit import work
from kvdiag.fleet.values import Job, Outcome, outcome_of

AHEAD = 1_000  # tasks submitted to the scheduler at a time
RETRIES = 2  # retries of a task whose worker died
PATIENCE = 60  # seconds to wait for an answer of the scheduler


def run_dask(jobs: Iterable[Job], scheduler: str) -> Iterator[Outcome]:
    """Yield the outcome of each job when it ends. Raise UsageError if no scheduler answers."""
    try:
        client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"--scheduler {scheduler}: {error}; start one with: dask scheduler") from None
    with client:
        rest = iter(jobs)
        pending = {_submitted(client, job): job for job in islice(rest, AHEAD)}
        under_way = as_completed(pending, loop=client.loop)
        for future in under_way:
            job = pending.pop(future)
            yield future.result() if future.status == "finished" else _lost(job, str(future.exception()))
            for other in islice(rest, 1):
                pending[added := _submitted(client, other)] = other
                under_way.add(added)


def _submitted(client: Client, job: Job) -> object:
    return client.submit(work, job, key=f"{job.bundle.id}-{job.key}", pure=False, retries=RETRIES)


def _lost(job: Job, error: str) -> Outcome:
    reason = f"its workers died: {error.partition(chr(10))[0][:200]}"
    return outcome_of(job)._replace(reason=reason, next_step="look at the workers' logs; run again to repeat it")
