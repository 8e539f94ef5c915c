"""The unit of work of every engine: a job in a child process with limits. Its outcome is a value."""

from __future__ import annotations

import json
import os
import sys

from kvdiag.fleet.guard import Guard
from kvdiag.fleet.judge import judge_version
from kvdiag.fleet.places import scratch
from kvdiag.fleet.values import Job, Outcome, outcome_of, read_outcome

CHILD = "kvdiag.fleet.child"


def work(job: Job, guard: Guard | None = None) -> Outcome:
    """Analyze one bundle, join one cluster or merge one day; a failure is an outcome too."""
    if job.judge != judge_version():
        reason = f"the worker has kvdiag {judge_version()}, the run {job.judge}"
        return outcome_of(job)._replace(reason=reason, next_step="install the same kvdiag on all machines")
    with scratch() as folder:
        request = json.dumps(job.plain() | {"parent": os.getpid(), "folder": str(folder)}).encode(
            "utf-8", "surrogateescape"
        )
        variables = os.environ | {"TMPDIR": str(folder), "MALLOC_ARENA_MAX": "2", "PYTHONUTF8": "1"}
        name = f"{job.bundle.cluster}/{job.bundle.node}".encode("ascii", "backslashreplace").decode()
        ended = (guard or Guard()).run([sys.executable, "-m", CHILD, name], request, job.limits, variables)
    if ended.reason:
        return outcome_of(job)._replace(reason=ended.reason, next_step=ended.next_step)
    return read_outcome(json.loads(ended.out))
