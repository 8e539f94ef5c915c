"""Compare two logs, or two subjects in the same logs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kvdiag.analysis.case import Case, Note, read_with_notes
from kvdiag.base.errors import UsageError
from kvdiag.history.correlate.entities import look_up
from kvdiag.history.lifecycles.build import build_lifecycle
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.history.views.causes import causes
from kvdiag.history.views.diff import compare_events, compare_lives
from kvdiag.model.options import Options
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History, Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.model.views import ComparedFinding, Comparison

KINDS = (SubjectKind.POD, SubjectKind.VOLUME, SubjectKind.SANDBOX, SubjectKind.CONTAINER)


def compare(left: str, right: str, options: Options, note: Note) -> Comparison:
    """Compare two logs if both names are files or folders, else two pods or volumes in `options.paths`.

    Raise UsageError if a name is unknown or ambiguous, or if the two are of different kinds.
    """
    if not options.paths and Path(left).exists() and Path(right).exists():
        first, second = (read_with_notes(Case(options._replace(paths=(name,))), note) for name in (left, right))
        return compare_events((left, first.events), (right, second.events), lifecycles().labels)
    case = Case(options)
    history = read_with_notes(case, note)
    findings = case.findings(history)
    for kind in KINDS:
        one, other = (_look_up_one(history, kind, name) for name in (left, right))
        if one is not None and other is not None:
            comparison = compare_lives(build_lifecycle(one, history), build_lifecycle(other, history))
            return comparison._replace(
                left=comparison.left._replace(findings=_found(findings, one)),
                right=comparison.right._replace(findings=_found(findings, other)),
            )
    raise UsageError(f"{left!r} and {right!r} are neither two pods or volumes in these logs nor two log files")


def _found(findings: Sequence[Finding], about: Timeline) -> tuple[ComparedFinding, ...]:
    """Return the findings on one subject, each with its cause."""
    above, subject = causes(findings), about.subject
    subject_findings = (one for one in findings if (one.subject.kind, one.subject.key) == (subject.kind, subject.key))
    return tuple(ComparedFinding(one, above.get(one.key)) for one in subject_findings)


def _look_up_one(history: History, kind: SubjectKind, name: str) -> Timeline | None:
    found = look_up(history, kind, name)
    if len(found) > 1:
        uids = ", ".join(timeline.subject.key for timeline in found)
        raise UsageError(f"{name!r} is ambiguous; give a UID or id: {uids}")
    return found[0] if found else None
