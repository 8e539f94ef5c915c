"""The engine for many machines: each job is a task of a Dask cluster, whose workers start a child process."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from itertools import islice

from distributed import Client, Future, KilledWorker, as_completed

from kvdiag.base.errors import UsageError
from kvdiag.fleet.judge import judge_version
from kvdiag.fleet.unit import work
from kvdiag.fleet.values import Job, Outcome, outcome_of

AHEAD = 1_000  # tasks submitted to the scheduler at a time
RETRIES = 2  # retries of a task whose worker died
PATIENCE = 60  # seconds to wait for an answer of the scheduler
WORKERS_PATIENCE = 600  # seconds to wait for the first worker, which may have to pull an image


def run_dask(jobs: Iterable[Job], scheduler: str) -> Iterator[Outcome]:
    """Yield the outcome of each job when it ends. Raise UsageError if no scheduler answers, or a worker differs.

    When the scheduler is lost, so is every job that has not ended.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # the outcomes say what was lost
    try:
        client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"--scheduler {scheduler}: {error}; start one with: dask scheduler") from None
    except TypeError:  # what distributed raises without a key
        raise UsageError(
            f"--scheduler {scheduler}: no key is configured; set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT"
            " and …__CLIENT__KEY"
        ) from None
    with client:
        _check_workers(client)
        rest = iter(jobs)
        pending = {_submitted(client, job): job for job in islice(rest, AHEAD)}
        under_way = as_completed(pending, loop=client.loop)
        for future in under_way:
            if future.status == "lost":  # the worker that held the outcome died; another one does the job again
                under_way.add(future)
                continue
            if future.status == "cancelled":
                break
            job = pending.pop(future)
            yield _outcome(future, job)
            for other in islice(rest, 1):
                pending[added := _submitted(client, other)] = other
                under_way.add(added)
        for job in (*pending.values(), *rest):
            reason = f"the Dask scheduler {scheduler} is gone, or was restarted"
            yield outcome_of(job)._replace(reason=reason, next_step="look at the scheduler's log; run again")


def _check_workers(client: Client) -> None:
    """Raise UsageError if a worker has another kvdiag or other rules than this process."""
    try:
        client.wait_for_workers(1, timeout=WORKERS_PATIENCE)
    except TimeoutError:
        raise UsageError(
            f"--engine dask: no worker came in {WORKERS_PATIENCE} s; start some with: dask worker"
        ) from None
    try:
        versions = client.run(judge_version)
    except Exception as error:  # noqa: BLE001  # whatever a worker raises that has no kvdiag
        raise UsageError(f"--engine dask: a worker cannot run kvdiag: {error}; install the same there") from None
    for worker, version in sorted(versions.items()):
        if version != judge_version():
            raise UsageError(
                f"--engine dask: the worker {worker} has kvdiag {version}, this is {judge_version()}; install the same"
            )


def _submitted(client: Client, job: Job) -> object:
    return client.submit(work, job, key=f"{job.bundle.id}-{job.key}-{job.kind}", pure=False, retries=RETRIES)


def _outcome(future: Future[Outcome], job: Job) -> Outcome:
    try:
        error = None if future.status == "finished" else future.exception()
        return future.result() if error is None else _lost(job, error)
    except Exception as error:  # noqa: BLE001  # its worker died before the outcome was here
        return _lost(job, error)


def _lost(job: Job, error: BaseException | None) -> Outcome:
    """Return the outcome of a job that has none: its workers died, or one could not even start it."""
    if isinstance(error, KilledWorker):
        reason = f"{error.allowed_failures + 1} Dask workers died with it"
        next_step = "look at the workers' logs; run again"
    else:
        reason = f"failed on a Dask worker: {type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
        next_step = "check the disk and memory of that worker; run again"
    return outcome_of(job)._replace(reason=reason, next_step=next_step)
