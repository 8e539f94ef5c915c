"""Run `python -m kvdiag.fleet.child BUNDLE`: read one job from standard input, store its results, print the outcome.

Only `kvdiag.fleet.unit` starts it. All input is untrusted, so the limits are set first.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from kvdiag.base.errors import InputError
from kvdiag.fleet.guard import NOT_STORED, NOTHING_READ, OUT_OF_MEMORY, limit_me
from kvdiag.fleet.places import place
from kvdiag.fleet.results import put_results
from kvdiag.fleet.values import Job, Outcome, outcome_of, read_job

if TYPE_CHECKING:
    from kvdiag.model.report import Report
    from kvdiag.model.timeline import History


def main() -> int:
    """Run the job; the exit code says whether it was done."""
    request = json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))
    job, folder = read_job(request), Path(request["folder"])
    gc.disable()  # the values have no reference cycles
    try:
        limit_me(job.limits, request["parent"])
        outcome = {"analyze": _analyze, "join": _join, "merge": _merge}[job.kind](job, folder)
    except MemoryError:
        return OUT_OF_MEMORY
    sys.stdout.write(json.dumps(outcome._asdict()) + "\n")
    return 0


def _analyze(job: Job, folder: Path) -> Outcome:
    from kvdiag.analysis.analyze import analyze_case
    from kvdiag.analysis.case import Case
    from kvdiag.fleet.rows import failed_row, rows
    from kvdiag.fleet.shared import shared_kinds
    from kvdiag.model.options import Options

    root = str(place(job.bundle.place).fetch(job.bundle.files, folder))
    if Path(root).is_symlink():
        _nothing_read("it is a symbolic link, which is not followed; give its target")

    def relative(source: str) -> str:
        return source.removeprefix(root).lstrip("/") or Path(root).name

    case = Case(Options(paths=(root,)))
    report, history = analyze_case(case)
    skipped = tuple(note.replace(root, job.bundle.place) for note in report.notes)
    worst = max(report.findings, key=lambda one: one.severity, default=None)
    bundle = job.bundle._replace(node=_node(job.bundle.node, report, history))
    outcome = outcome_of(job)._replace(
        node=bundle.node,
        findings=len(report.findings),
        worst=worst.severity if worst else -1,
        worst_rule=worst.rule.name if worst else "",
        problems=tuple(problem.replace(root, job.bundle.place) for problem in report.problems),
        notes=(*skipped, *_notes(job, {e.node for e in history.events if e.node and not e.is_from_controller})),
    )
    if history.events:
        outcome = outcome._replace(day=_day(history.ends))
    if not any(reading.records for reading in report.inputs):
        _nothing_read(next(iter(outcome.problems), "no line was recognized as one of a log"))
    tables = dict(rows(report, history, bundle, relative, shared_kinds(case.patterns)))
    tables["failed"] = [dict(failed_row(outcome, time.time_ns() // 1000, one)) for one in (*outcome.problems, *skipped)]
    _store(job, outcome, tables, folder)
    return outcome


def _join(job: Job, folder: Path) -> Outcome:
    from kvdiag.fleet.cross_node import join_cluster

    outcome, tables = join_cluster(job)
    _store(job, outcome, tables, folder)
    return outcome


def _merge(job: Job, folder: Path) -> Outcome:
    from kvdiag.fleet.merge import merge

    del folder
    try:
        merge(place(job.dest), job.bundle.node, job.only)
    except (OSError, InputError) as error:
        _not_stored(error)
    return outcome_of(job)


def _store(job: Job, outcome: Outcome, tables: Mapping[str, Iterable[Mapping[str, Any]]], folder: Path) -> None:
    try:
        put_results(place(job.dest), outcome, tables, folder)
    except OSError as error:
        _not_stored(error)


def _not_stored(error: Exception) -> NoReturn:
    sys.stderr.write(str(error))
    sys.exit(NOT_STORED)


def _nothing_read(why: str) -> NoReturn:
    sys.stderr.write(why)
    sys.exit(NOTHING_READ)


def _day(stamp: int) -> str:
    from kvdiag.base.clock import to_datetime

    return to_datetime(stamp).date().isoformat()


def _node(named: str, report: Report, history: History) -> str:
    """Return the node's name in the logs of its kubelet and runtime, if they have one; else that of the path.

    Otherwise a finding that names its node would be of another node than one that does not.
    """
    from kvdiag.model.event import NAMELESS

    logs = {one.source for one in report.inputs if one.component in _OF_NODE}
    names = {event.node for event in history.events if event.origin.source in logs and event.node}
    return names.pop() if len(names) == 1 and not min(names).startswith(NAMELESS) else named


_OF_NODE = frozenset({"kubelet", "containerd", "crio", "dockerd", "cri-dockerd"})


def _notes(job: Job, nodes: set[str]) -> list[str]:
    """Return a note if the layout or manifest contradicts the node names in the lines."""
    from kvdiag.model.event import NAMELESS

    names = sorted(name for name in nodes if not name.startswith(NAMELESS))
    if not names or job.bundle.node in names:
        return []
    return [f"named {job.bundle.node}, but its lines are of {', '.join(names[:4])}"]


if __name__ == "__main__":
    sys.exit(main())
