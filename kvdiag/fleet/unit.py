"""The unit of work of every engine: a job in a child process with limits. Its outcome is a value."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from datetime import UTC, datetime

from kvdiag.fleet.guard import Guard
from kvdiag.fleet.places import place
from kvdiag.fleet.values import Job, Outcome, outcome_of, read_outcome

CHILD = "kvdiag.fleet.child"


def work(job: Job, guard: Guard | None = None) -> Outcome:
    """Analyze one bundle or join one cluster; a failure is an outcome too, and is stored."""
    with tempfile.TemporaryDirectory(prefix="kvdiag-") as folder:
        request = json.dumps(job.plain() | {"parent": os.getpid(), "folder": folder}).encode("utf-8", "surrogateescape")
        variables = os.environ | {"TMPDIR": folder, "MALLOC_ARENA_MAX": "2", "PYTHONUTF8": "1"}
        name = f"{job.bundle.cluster}/{job.bundle.node}".encode("ascii", "backslashreplace").decode()
        ended = (guard or Guard()).run([sys.executable, "-m", CHILD, name], request, job.limits, variables)
    if not ended.reason:
        return read_outcome(json.loads(ended.out))
    failed = outcome_of(job)._replace(reason=ended.reason, next_step=ended.next_step, day=day_of(job))
    from kvdiag.fleet.results import put_failed

    put_failed(place(job.dest), failed, time.time_ns() // 1000)
    return failed


def day_of(job: Job) -> str:
    """Return the day (UTC) on which the newest file of a bundle was modified."""
    newest = max((file.modified for file in job.bundle.files), default=0.0)
    return datetime.fromtimestamp(newest, UTC).date().isoformat()
