"""Choose between two findings on the same lines of one subject: the rule with more conditions is more specific."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kvdiag.model.record import Origin
from kvdiag.model.report import Finding
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import SubjectKey
from kvdiag.model.values import Verdict
from kvdiag.rules.related_findings import subject_of


class SharedLines:
    """Findings by the lines of their evidence."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        """Take all findings."""
        self._by_line: dict[tuple[SubjectKey, Origin], dict[int, tuple[Finding, str]]] = defaultdict(dict)
        for finding in findings:
            subject = subject_of(finding)
            for one in finding.evidence:
                self._by_line[subject, one.event.origin].setdefault(id(finding), (finding, one.step))

    def more_certain(self, finding: Finding) -> Iterator[Finding]:
        """Yield confirmed findings on the same subject that share all lines of a possible finding."""
        if finding.verdict is Verdict.POSSIBLE:
            for shared in self._sharing_lines(finding):
                if shared[0][0].verdict is Verdict.CONFIRMED and len(shared) == len(finding.evidence):
                    yield shared[0][0]

    def more_specific(self, finding: Finding) -> Iterator[Finding]:
        """Yield findings on the same subject whose rules have more conditions on the shared lines."""
        for shared in self._sharing_lines(finding):
            other = shared[0][0]
            if all(
                _precision(other.rule, other_step) > _precision(finding.rule, own_step)
                for _, other_step, own_step in shared
            ):
                yield other

    def _sharing_lines(self, finding: Finding) -> Iterable[list[tuple[Finding, str, str]]]:
        """Return each other finding on the same subject, with both rules' names for the shared lines."""
        subject, lines = subject_of(finding), {one.event.origin: one.step for one in finding.evidence}
        by_finding: dict[int, list[tuple[Finding, str, str]]] = defaultdict(list)
        for line, step in lines.items():
            for key, (other, other_step) in self._by_line[subject, line].items():
                if key != id(finding):
                    by_finding[key].append((other, other_step, step))
        return by_finding.values()


def _precision(rule: Rule, step: str) -> tuple[int, int]:
    """Return how specific a rule is about a line: its conditions on values, then how few kinds it accepts."""
    selector = rule.events.get(step)
    return (len(selector.where), -len(selector.kinds)) if selector else (0, 0)
