"""Cause over symptom: which finding explains which, and the order in which they are reported.

A cause breaks a capability; what suffers from that capability, or from one that needs it, is folded under the cause if
their entities are linked and it was broken when the symptom began. docs/ranking.md tells it with its reasons.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kvdiag.base.clock import MINUTE, SECOND
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History
from kvdiag.model.values import Role, Severity, SubjectKind, Verdict
from kvdiag.rules.capabilities import Capabilities, capabilities
from kvdiag.rules.kinship import EVERYTHING, Kin, Kinship, is_refused
from kvdiag.rules.links import Links, Place, is_of_another, is_of_node, is_stand_in, node_of, subject_of
from kvdiag.rules.narrower import Shared
from kvdiag.rules.uncaused import Uncaused

TOUCH = 10 * MINUTE  # between the end of a cause and the beginning of what it explains
SLACK = 10 * SECOND  # between the clocks and the buffers of two components
DEVICES = ("device",)
OBJECTS = ("image", "server", "container_name")
OF_PODS = ("pod_uid", "pod", "container_id", "sandbox_id")  # that a line may name though its finding is the node's
MONITORS = MINUTE  # between two monitors of a node that see one failure: PLEG takes 3m, a call to the runtime 2m or 4m


def rank(findings: Sequence[Finding], history: History) -> list[Finding]:
    """The findings with causes and symptoms distinguished: causes first, then by severity, certainty and time.

    One that says only that a step fails, for a reason unknown, is left out where another tells the reason.
    """
    known = capabilities()
    uncaused = Uncaused(history, known)
    ranked = _Ranking(findings, history, known).explained()
    told = (one for one in ranked if not (one.explained_by and EVERYTHING in one.rule.never_explains))
    return ordered(one._replace(collect=uncaused.to_collect(one)) for one in told)


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
        depth = {finding.rule.name: known.depth(finding.rule) for finding in findings}
        self._findings = sorted(
            findings, key=lambda f: (depth[f.rule.name], f.role is Role.SYMPTOM, -f.severity, f.begins, f.key)
        )
        self._place = {id(finding): number for number, finding in enumerate(self._findings)}
        self._around: dict[tuple[str | bool, ...], list[Finding]] = {}
        self._by: dict[int, Finding] = {}
        self._through: dict[int, tuple[str, ...]] = {}

    def explained(self) -> Iterator[Finding]:
        for finding in self._findings:
            cause = self._cause(finding)
            if cause is not None:
                self._by[id(finding)] = cause
        for finding in self._findings:
            by = self._by.get(id(finding))
            through = self._through.get(id(finding), ())
            yield finding._replace(role=Role.SYMPTOM, explained_by=by.key, through=through) if by else finding

    def _cause(self, finding: Finding) -> Finding | None:
        """The deepest of all that explain the finding; what lies between the two is noted."""
        under: dict[int, list[Finding]] = defaultdict(list)
        roots: dict[int, Finding] = {}
        for cause in {id(one): one for one in self._causes(finding)}.values():
            root = self._root(cause)
            if root is not finding:
                roots[id(root)] = root
                under[id(root)].append(cause)
        if not roots:
            return None
        best = min(roots.values(), key=lambda root: self._merit(root, under[id(root)], finding))
        near = sorted(under[id(best)], key=lambda cause: (cause is not best, self._place[id(cause)]))
        between = dict.fromkeys(one.rule.name for one in near[1:])
        self._through[id(finding)] = tuple(one for one in between if one not in {near[0].rule.name, finding.rule.name})
        return near[0]

    def _merit(self, root: Finding, causes: Sequence[Finding], finding: Finding) -> tuple[bool, bool, bool, int]:
        """What is a cause for certain, was found on the finding's own subject, and lies deepest comes first."""
        is_others = not any(subject_of(cause) == subject_of(finding) for cause in causes)
        return (root.role is Role.SYMPTOM, root.verdict is Verdict.POSSIBLE, is_others, self._place[id(root)])

    def _root(self, finding: Finding) -> Finding:
        """What explains it in the end; never what it explains itself, as no chain is closed to a ring."""
        while id(finding) in self._by:
            finding = self._by[id(finding)]
        return finding

    def _causes(self, finding: Finding) -> Iterator[Finding]:
        for cause in self._candidates(finding):
            is_sure = _is_sure_enough(cause, finding) or finding.rule.name in cause.rule.explains
            is_possible = is_sure and _is_alarm_enough(cause, finding) and _was_broken(cause, finding)
            if is_possible and not is_of_another(cause, finding, self._objects(cause, finding)):
                yield cause
        for cause in self._shared.narrower(finding):
            is_sure = _is_sure_enough(cause, finding) and _is_alarm_enough(cause, finding)
            if is_sure and self._kinship.is_one(cause.rule, finding.rule):
                yield cause
        for cause in self._shared.surer(finding):
            is_kin = self._kinship.is_akin(cause.rule, finding.rule) and not is_refused(cause.rule, finding.rule)
            if is_kin and _is_alarm_enough(cause, finding):
                yield cause

    def _candidates(self, finding: Finding) -> Iterator[Finding]:
        for cause in self._links.linked(finding):
            if self._kin(cause, finding):
                yield cause
        for place in self._links.drivers(finding):
            yield from self._kin_of_driver(finding, place)
        yield from self._kin_around(finding)
        if is_of_node(finding):
            yield from self._kin_all_around(finding)

    def _kin_of_driver(self, finding: Finding, place: Place) -> list[Finding]:
        """Those of a driver whose rules are kin to its own: the same for all findings of the rule there."""
        at = (*place, finding.rule.name)
        if at not in self._around:
            of_driver = self._links.same_driver(place)
            self._around[at] = [cause for cause in of_driver if self._kin(cause, finding) is Kin.BY_DRIVER]
        return self._around[at]

    def _kin_around(self, finding: Finding) -> list[Finding]:
        """Those about its node, likewise."""
        at = (node_of(finding), finding.rule.name)
        if at not in self._around:
            self._around[at] = [cause for cause in self._links.around(finding) if self._kin(cause, finding)]
        return self._around[at]

    def _kin_all_around(self, finding: Finding) -> list[Finding]:
        """Those about its node and all that is on it, likewise; a stand-in's need not be named by the rule."""
        stands_in = is_stand_in(finding)
        at = (node_of(finding), finding.rule.name, "", stands_in)
        if at not in self._around:
            kin = ((cause, self._kin(cause, finding)) for cause in self._links.all_around(finding))
            self._around[at] = [cause for cause, of in kin if of is Kin.NAMED or (of and stands_in)]
        return self._around[at]

    def _objects(self, cause: Finding, finding: Finding) -> tuple[str, ...]:
        """The kinds of objects that both must share, if both name one; what befell a whole node has no image."""
        if self._kin(cause, finding) is Kin.BY_NODE:
            return DEVICES
        return (*DEVICES, *OBJECTS, *(OF_PODS if is_stand_in(cause) or is_stand_in(finding) else ()))

    def _kin(self, cause: Finding, finding: Finding) -> Kin | None:
        return self._kinship.of(cause.rule, finding.rule)


def _is_alarm_enough(cause: Finding, finding: Finding) -> bool:
    """What is told for information only is no reason for an alarm."""
    return cause is not finding and (cause.severity is not Severity.INFO or finding.severity is Severity.INFO)


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
