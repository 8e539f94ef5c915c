"""Cause over symptom: which finding explains which, and the order in which they are reported.

A symptom is folded under a cause when the cause's rule names it, their subjects are linked (the same pod or volume, a
pod and a volume it uses, or anything on the same node when the cause is the node's) and their times touch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kvdiag.clock import MINUTE, SECOND
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History
from kvdiag.model.values import Role, Severity, SubjectKind, Verdict

TOUCH = 10 * MINUTE  # between the end of a cause and the beginning of what it explains
SLACK = 10 * SECOND  # between the clocks and the buffers of two components

Subject = tuple[SubjectKind, str]


def rank(findings: Sequence[Finding], history: History) -> list[Finding]:
    """The findings with causes and symptoms distinguished: causes first, then by severity, certainty and time."""
    near = _Near(findings, history)
    return ordered(_explained(finding, near) for finding in findings)


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in the order in which they are reported."""
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


def _explained(finding: Finding, near: _Near) -> Finding:
    causes = [cause for cause in near.linked(finding) if _explains(cause, finding) and _touch(cause, finding)]
    if not causes:
        return finding
    best = min(causes, key=lambda c: (c.role is Role.SYMPTOM, not _same(c, finding), -c.severity, c.begins, c.key))
    return finding._replace(role=Role.SYMPTOM, explained_by=best.key)


def _explains(cause: Finding, finding: Finding) -> bool:
    """What is told for information only is no reason for an alarm."""
    if cause.severity is Severity.INFO and finding.severity is not Severity.INFO:
        return False
    return finding.rule.name in cause.rule.explains and cause.key != finding.key


def _subject(finding: Finding) -> Subject:
    return (finding.subject.kind, finding.subject.key)


def _same(cause: Finding, finding: Finding) -> bool:
    return _subject(cause) == _subject(finding)


class _Near:
    """Findings by their subjects: each is held against those it is linked with alone, since there may be thousands."""

    def __init__(self, findings: Sequence[Finding], history: History) -> None:
        self._findings = findings
        self._about: dict[Subject, list[Finding]] = defaultdict(list)
        for finding in findings:
            self._about[_subject(finding)].append(finding)
        self._linked: dict[Subject, set[Subject]] = {subject: {subject} for subject in self._about}
        for subject in self._about:
            timeline = history.timelines.get(subject)
            for used in timeline.uses & self._about.keys() if timeline else ():
                self._linked[subject].add(used)
                self._linked[used].add(subject)
        self._of_nodes = [finding for finding in findings if finding.subject.kind is SubjectKind.NODE]

    def linked(self, finding: Finding) -> Iterator[Finding]:
        """Give those about the same, about what it uses or is used by, and what befell its node."""
        if finding.subject.kind is SubjectKind.NODE:
            yield from (other for other in self._findings if _shares_node(other, finding))
            return
        for subject in self._linked[_subject(finding)]:
            yield from self._about[subject]
        yield from (other for other in self._of_nodes if _shares_node(other, finding))


def _shares_node(one: Finding, other: Finding) -> bool:
    if _same(one, other):
        return True
    return len({one.subject.ids.get("node", ""), other.subject.ids.get("node", "")} - {""}) <= 1


def _touch(cause: Finding, finding: Finding) -> bool:
    """Whether their times allow it: what befell a node must come first, a volume's cause may show itself late."""
    if finding.begins > cause.ends + TOUCH or finding.ends < cause.begins - TOUCH:
        return False
    return cause.begins <= finding.begins + SLACK or cause.subject.kind is not SubjectKind.NODE
