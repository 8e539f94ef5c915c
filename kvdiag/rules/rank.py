"""Cause over symptom: which finding explains which, and the order in which they are reported.

A cause breaks a capability; what suffers from that capability, or from one that needs it, is folded under the cause if
their entities are linked and it was broken when the symptom began. docs/ranking.md tells it with its reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kvdiag.clock import MINUTE, SECOND
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History
from kvdiag.model.values import Role, Severity, SubjectKind, Verdict
from kvdiag.rules.capabilities import Capabilities, capabilities
from kvdiag.rules.kinship import Kin, Kinship
from kvdiag.rules.links import Links, is_of_node, is_stand_in, subject_of
from kvdiag.rules.narrower import Shared
from kvdiag.rules.uncaused import Uncaused

TOUCH = 10 * MINUTE  # between the end of a cause and the beginning of what it explains
SLACK = 10 * SECOND  # between the clocks and the buffers of two components
MONITORS = MINUTE  # between two monitors of a node that see one failure: PLEG takes 3m, a call to the runtime 2m or 4m


def rank(findings: Sequence[Finding], history: History) -> list[Finding]:
    """The findings with causes and symptoms distinguished: causes first, then by severity, certainty and time."""
    known = capabilities()
    uncaused = Uncaused(history, known)
    ranked = _Ranking(findings, history, known).explained()
    return ordered(one._replace(collect=uncaused.to_collect(one)) for one in ranked)


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
            f.key,
        ),
    )


class _Ranking:
    """Findings are taken from the deepest on, so that what explains a cause is known before the cause explains."""

    def __init__(self, findings: Sequence[Finding], history: History, known: Capabilities) -> None:
        self._kinship = Kinship(known)
        self._links, self._shared = Links(findings, history), Shared(findings)
        self._depth = {finding.rule.name: known.depth(finding.rule) for finding in findings}
        self._findings = sorted(findings, key=lambda f: (self._depth[f.rule.name], f.role is Role.SYMPTOM, f.key))
        self._by: dict[str, Finding] = {}
        self._through: dict[str, tuple[str, ...]] = {}

    def explained(self) -> Iterator[Finding]:
        for finding in self._findings:
            cause = self._cause(finding)
            if cause is not None:
                self._by[finding.key] = cause
        for finding in self._findings:
            by = self._by.get(finding.key)
            through = self._through.get(finding.key, ())
            yield finding._replace(role=Role.SYMPTOM, explained_by=by.key, through=through) if by else finding

    def _cause(self, finding: Finding) -> Finding | None:
        """The deepest of all that explain the finding; what lies between the two is noted."""
        found = {cause.key: cause for cause in self._causes(finding) if not self._is_above(finding, cause)}
        if not found:
            return None
        roots = {key: self._root(cause) for key, cause in found.items()}
        own = {roots[key].key for key, cause in found.items() if subject_of(cause) == subject_of(finding)}
        root = min(roots.values(), key=lambda one: (*self._merit(one), one.key not in own, *self._place(one)))
        near = sorted((cause for key, cause in found.items() if roots[key] == root), key=self._place)
        first = min(near, key=lambda one: one.key != root.key)
        names = dict.fromkeys(one.rule.name for one in near)
        self._through[finding.key] = tuple(name for name in names if name not in {first.rule.name, finding.rule.name})
        return first

    def _merit(self, cause: Finding) -> tuple[bool, bool]:
        return (cause.role is Role.SYMPTOM, cause.verdict is Verdict.POSSIBLE)

    def _place(self, cause: Finding) -> tuple[int, int, int, str]:
        return (self._depth[cause.rule.name], -cause.severity, cause.begins, cause.key)

    def _root(self, finding: Finding) -> Finding:
        while finding.key in self._by:
            finding = self._by[finding.key]
        return finding

    def _is_above(self, finding: Finding, cause: Finding) -> bool:
        """Whether the finding already explains, step by step, what is to explain it."""
        while cause.key != finding.key:
            above = self._by.get(cause.key)
            if above is None:
                return False
            cause = above
        return True

    def _causes(self, finding: Finding) -> Iterator[Finding]:
        for cause in self._candidates(finding):
            is_sure = _is_sure_enough(cause, finding) or finding.rule.name in cause.rule.explains
            if is_sure and _is_alarm_enough(cause, finding) and _was_broken(cause, finding):
                yield cause
        for cause in self._shared.narrower(finding):
            is_sure = _is_sure_enough(cause, finding) and _is_alarm_enough(cause, finding)
            if is_sure and self._kinship.is_one(cause.rule, finding.rule):
                yield cause
        for cause in self._shared.surer(finding):
            if self._kinship.is_akin(cause.rule, finding.rule) and _is_alarm_enough(cause, finding):
                yield cause

    def _candidates(self, finding: Finding) -> Iterator[Finding]:
        for cause in self._links.linked(finding):
            if self._kin(cause, finding):
                yield cause
        for cause in self._links.same_driver(finding):
            if self._kin(cause, finding) is Kin.BY_DRIVER:
                yield cause
        for cause in self._links.around(finding):
            if self._kin(cause, finding):
                yield cause
        if is_of_node(finding):
            for cause in self._links.all_around(finding):
                kin = self._kin(cause, finding)
                if kin is Kin.NAMED or (kin and is_stand_in(finding)):
                    yield cause

    def _kin(self, cause: Finding, finding: Finding) -> Kin | None:
        return self._kinship.of(cause.rule, finding.rule)


def _is_alarm_enough(cause: Finding, finding: Finding) -> bool:
    """What is told for information only is no reason for an alarm."""
    return cause.key != finding.key and (cause.severity is not Severity.INFO or finding.severity is Severity.INFO)


def _is_sure_enough(cause: Finding, finding: Finding) -> bool:
    """What is only possible is no reason for what is certain, unless that is a symptom and must have one."""
    is_guess = cause.verdict is Verdict.POSSIBLE and finding.verdict is Verdict.CONFIRMED
    return not is_guess or finding.rule.role is Role.SYMPTOM


def _was_broken(cause: Finding, finding: Finding) -> bool:
    """Whether their times allow it: what befell a node must come first, a volume's cause may show itself late."""
    if finding.begins > cause.ends + TOUCH or finding.ends < cause.begins - TOUCH:
        return False
    if cause.healed is not None and finding.begins > cause.healed + SLACK:
        return False
    if cause.subject.kind is not SubjectKind.NODE:
        return True
    return cause.begins <= finding.begins + (MONITORS if is_of_node(finding) else SLACK)
