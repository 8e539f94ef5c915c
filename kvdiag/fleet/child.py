"""Run `python -m kvdiag.fleet.child BUNDLE`: read one job from standard input, store its results, print the outcome.

Only `kvdiag.fleet.unit` starts it. All input is untrusted, so the limits are set first. After the analysis the process
becomes `kvdiag.fleet.packer`, which stores the results.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import NoReturn

from kvdiag.fleet.guard import NOTHING_READ, OUT_OF_MEMORY, limit_me
from kvdiag.fleet.values import Job, Outcome, outcome_of, read_job

PACKER = "kvdiag.fleet.packer"


def main() -> int:
    """Run the job; the exit code says whether it was done."""
    request = json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))
    job, folder = read_job(request), Path(request["folder"])
    gc.disable()  # the values have no reference cycles
    try:
        limit_me(job.limits, request["parent"])
        if job.keys:
            sys.stdout.write(json.dumps(_join(job)._asdict()) + "\n")
        else:
            _judge(job, folder)
    except MemoryError:
        return OUT_OF_MEMORY
    if not job.keys:
        os.execv(sys.executable, [sys.executable, "-m", PACKER, *sys.argv[1:2], str(folder)])  # noqa: S606 (our own)
    return 0


def _judge(job: Job, folder: Path) -> None:
    from kvdiag.analysis.analyze import analyze_case
    from kvdiag.analysis.case import Case
    from kvdiag.fleet.places import place
    from kvdiag.fleet.rows import failed_row, rows
    from kvdiag.fleet.spool import spool
    from kvdiag.fleet.unit import day_of
    from kvdiag.model.options import Options

    root = str(place(job.bundle.place).fetch(job.bundle.files, folder))
    if Path(root).is_symlink():
        _nothing_read("it is a symbolic link, which is not followed; give its target")

    def relative(source: str) -> str:
        return source.removeprefix(root).lstrip("/") or Path(root).name

    case = Case(Options(paths=(root,)))
    report, history = analyze_case(case)
    day = _day(history.ends) if history.events else day_of(job)
    skipped = tuple(note.replace(root, job.bundle.place) for note in report.notes)
    worst = max(report.findings, key=lambda one: one.severity, default=None)
    outcome = outcome_of(job)._replace(
        findings=len(report.findings),
        worst=worst.severity if worst else -1,
        worst_rule=worst.rule.name if worst else "",
        day=day,
        problems=tuple(problem.replace(root, job.bundle.place) for problem in report.problems),
        notes=(*skipped, *_notes(job, {e.node for e in history.events if e.node and not e.is_from_controller})),
    )
    if not any(reading.records for reading in report.inputs):
        _nothing_read(next(iter(outcome.problems), "no line was recognized as one of a log"))
    tables = dict(rows(report, history, job.bundle, relative, case.patterns.vocabulary.wide))
    tables["failed"] = [dict(failed_row(outcome, time.time_ns() // 1000, one)) for one in (*outcome.problems, *skipped)]
    spool(folder, outcome, job.dest, tables)


def _nothing_read(why: str) -> NoReturn:
    sys.stderr.write(why)
    sys.exit(NOTHING_READ)


def _join(job: Job) -> Outcome:
    from kvdiag.fleet.cross_node import join_cluster

    return join_cluster(job)


def _day(stamp: int) -> str:
    from kvdiag.base.clock import to_datetime

    return to_datetime(stamp).date().isoformat()


def _notes(job: Job, nodes: set[str]) -> list[str]:
    """Return a note if the layout or manifest contradicts the node names in the lines."""
    from kvdiag.model.event import NAMELESS

    names = sorted(name for name in nodes if not name.startswith(NAMELESS))
    if not names or job.bundle.node in names:
        return []
    return [f"named {job.bundle.node}, but its lines are of {', '.join(names[:4])}"]


if __name__ == "__main__":
    sys.exit(main())
