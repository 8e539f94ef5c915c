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
from kvdiag.rules.collect_commands import CollectCommands
from kvdiag.rules.related_findings import (
    FindingGraph,
    NodeDriver,
    is_node_fallback,
    is_of_another,
    is_of_node,
    node_of,
    subject_of,
)
from kvdiag.rules.rule_relations import EVERYTHING, Relation, RuleRelations, never_explains
from kvdiag.rules.specificity import SharedLines

TOUCH = 10 * MINUTE  # between the end of a cause and the beginning of what it explains
SLACK = 10 * SECOND  # between the clocks and the buffers of two components
DEVICES = ("device",)
OBJECTS = ("image", "server", "container_name")
OF_PODS = ("pod_uid", "pod", "container_id", "sandbox_id")  # that a line may name though its finding is the node's
MONITOR_DELAY = (
    MINUTE  # between two monitors of a node that see one failure: PLEG takes 3m, a call to the runtime 2m or 4m
)


def rank(findings: Sequence[Finding], history: History) -> list[Finding]:
    """The findings with causes and symptoms distinguished: causes first, then by severity, certainty and time.

    One that says only that a step fails, for a reason unknown, is left out where another tells the reason.
    """
    known = capabilities()
    collect = CollectCommands(history, known)
    ranked = _Ranking(findings, history, known).explained()
    reported = (one for one in ranked if not (one.explained_by and EVERYTHING in one.rule.never_explains))
    return ordered(one._replace(collect=collect.to_collect(one)) for one in reported)


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
        self._relations = RuleRelations(known)
        self._graph, self._shared_lines = FindingGraph(findings, history), SharedLines(findings)
        depth = {finding.rule.name: known.depth(finding.rule) for finding in findings}
        self._findings = sorted(
            findings, key=lambda f: (depth[f.rule.name], f.role is Role.SYMPTOM, -f.severity, f.begins, f.key)
        )
        self._order = {id(finding): number for number, finding in enumerate(self._findings)}
        self._related: dict[tuple[str | bool, ...], list[Finding]] = {}
        self._cause_of: dict[int, Finding] = {}
        self._through: dict[int, tuple[str, ...]] = {}

    def explained(self) -> Iterator[Finding]:
        for finding in self._findings:
            cause = self._cause(finding)
            if cause is not None:
                self._cause_of[id(finding)] = cause
        for finding in self._findings:
            explained_by = self._cause_of.get(id(finding))
            through = self._through.get(id(finding), ())
            yield (
                finding._replace(role=Role.SYMPTOM, explained_by=explained_by.key, through=through)
                if explained_by
                else finding
            )

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
        near = sorted(under[id(best)], key=lambda cause: (cause is not best, self._order[id(cause)]))
        between = dict.fromkeys(one.rule.name for one in near[1:])
        self._through[id(finding)] = tuple(one for one in between if one not in {near[0].rule.name, finding.rule.name})
        return near[0]

    def _merit(self, root: Finding, causes: Sequence[Finding], finding: Finding) -> tuple[bool, bool, bool, int]:
        """What is a cause for certain, was found on the finding's own subject, and lies deepest comes first."""
        is_others = not any(subject_of(cause) == subject_of(finding) for cause in causes)
        return (root.role is Role.SYMPTOM, root.verdict is Verdict.POSSIBLE, is_others, self._order[id(root)])

    def _root(self, finding: Finding) -> Finding:
        """What explains it in the end; never what it explains itself, as no chain is closed to a ring."""
        while id(finding) in self._cause_of:
            finding = self._cause_of[id(finding)]
        return finding

    def _causes(self, finding: Finding) -> Iterator[Finding]:
        for cause in self._candidates(finding):
            is_sure = _is_sure_enough(cause, finding) or finding.rule.name in cause.rule.explains
            is_possible = is_sure and _is_alarm_enough(cause, finding) and _was_broken(cause, finding)
            if is_possible and not is_of_another(cause, finding, self._shared_objects(cause, finding)):
                yield cause
        for cause in self._shared_lines.more_specific(finding):
            is_sure = _is_sure_enough(cause, finding) and _is_alarm_enough(cause, finding)
            if is_sure and self._relations.shares_capability(cause.rule, finding.rule):
                yield cause
        for cause in self._shared_lines.more_certain(finding):
            is_related = self._relations.is_related(cause.rule, finding.rule) and not never_explains(
                cause.rule, finding.rule
            )
            if is_related and _is_alarm_enough(cause, finding):
                yield cause

    def _candidates(self, finding: Finding) -> Iterator[Finding]:
        for cause in self._graph.related(finding):
            if self._relation(cause, finding):
                yield cause
        for node_driver in self._graph.node_drivers(finding):
            yield from self._related_by_driver(finding, node_driver)
        yield from self._related_to_node(finding)
        if is_of_node(finding):
            yield from self._related_on_node(finding)

    def _related_by_driver(self, finding: Finding, node_driver: NodeDriver) -> list[Finding]:
        """Those of a driver whose rules are kin to its own: the same for all findings of the rule there."""
        key = (*node_driver, finding.rule.name)
        if key not in self._related:
            of_driver = self._graph.same_driver(node_driver)
            self._related[key] = [cause for cause in of_driver if self._relation(cause, finding) is Relation.BY_DRIVER]
        return self._related[key]

    def _related_to_node(self, finding: Finding) -> list[Finding]:
        """Those about its node, likewise."""
        key = (node_of(finding), finding.rule.name)
        if key not in self._related:
            self._related[key] = [cause for cause in self._graph.about_node(finding) if self._relation(cause, finding)]
        return self._related[key]

    def _related_on_node(self, finding: Finding) -> list[Finding]:
        """Those about its node and all that is on it, likewise; a stand-in's need not be named by the rule."""
        is_fallback = is_node_fallback(finding)
        key = (node_of(finding), finding.rule.name, "", is_fallback)
        if key not in self._related:
            relations = ((cause, self._relation(cause, finding)) for cause in self._graph.on_node(finding))
            self._related[key] = [
                cause for cause, relation in relations if relation is Relation.NAMED or (relation and is_fallback)
            ]
        return self._related[key]

    def _shared_objects(self, cause: Finding, finding: Finding) -> tuple[str, ...]:
        """The kinds of objects that both must share, if both name one; what befell a whole node has no image."""
        if self._relation(cause, finding) is Relation.BY_NODE:
            return DEVICES
        return (*DEVICES, *OBJECTS, *(OF_PODS if is_node_fallback(cause) or is_node_fallback(finding) else ()))

    def _relation(self, cause: Finding, finding: Finding) -> Relation | None:
        return self._relations.relation(cause.rule, finding.rule)


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
    return cause.begins <= finding.begins + (MONITOR_DELAY if is_of_node(finding) else SLACK)
