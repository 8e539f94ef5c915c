"""Cause over symptom: which finding explains which, and the order in which they are told.

A symptom is folded under a cause when the cause's rule names it, their subjects are linked (the same pod or volume, a
pod and a volume it uses, or anything on the same node when the cause is the node's) and their times touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kvdiag.clock import MINUTE, SECOND
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History, Timeline
from kvdiag.model.values import Role, SubjectKind, Verdict

TOUCH = 10 * MINUTE  # between the end of a cause and the beginning of what it explains
SLACK = 10 * SECOND  # between the clocks and the buffers of two components


def rank(findings: Sequence[Finding], history: History) -> list[Finding]:
    """The findings with causes and symptoms told apart: causes first, then by severity, certainty and time."""
    return ordered(_explained(finding, findings, history) for finding in findings)


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in the order in which they are told."""
    return sorted(
        findings,
        key=lambda f: (
            f.role is Role.SYMPTOM,
            -f.severity,
            f.verdict is Verdict.POSSIBLE,
            f.begins,
            f.rule.name,
            f.subject.name,
        ),
    )


def _explained(finding: Finding, findings: Sequence[Finding], history: History) -> Finding:
    causes = [c for c in findings if _explains(c, finding) and _linked(c, finding, history) and _touch(c, finding)]
    if not causes:
        return finding
    best = min(causes, key=lambda c: (c.role is Role.SYMPTOM, not _same(c, finding), -c.severity, c.begins, c.key))
    return finding._replace(role=Role.SYMPTOM, explained_by=best.key)


def _explains(cause: Finding, finding: Finding) -> bool:
    return finding.rule.name in cause.rule.explains and cause.key != finding.key


def _same(cause: Finding, finding: Finding) -> bool:
    return (cause.subject.kind, cause.subject.key) == (finding.subject.kind, finding.subject.key)


def _linked(cause: Finding, finding: Finding, history: History) -> bool:
    if _same(cause, finding):
        return True
    nodes = {cause.subject.ids.get("node", ""), finding.subject.ids.get("node", "")} - {""}
    if SubjectKind.NODE in {cause.subject.kind, finding.subject.kind}:
        return len(nodes) <= 1
    return _uses(cause, finding, history.timelines) or _uses(finding, cause, history.timelines)


def _uses(one: Finding, other: Finding, timelines: Mapping[tuple[SubjectKind, str], Timeline]) -> bool:
    timeline = timelines.get((one.subject.kind, one.subject.key))
    return timeline is not None and (other.subject.kind, other.subject.key) in timeline.uses


def _touch(cause: Finding, finding: Finding) -> bool:
    """Whether their times allow it: what befell a node must come first, a volume's cause may show itself late."""
    if finding.begins > cause.ends + TOUCH or finding.ends < cause.begins - TOUCH:
        return False
    return cause.begins <= finding.begins + SLACK or cause.subject.kind is not SubjectKind.NODE
