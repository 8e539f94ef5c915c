"""Rank findings: which one explains which, and the order in which they are reported.

A cause breaks a capability. A finding that suffers from this capability, or from one that needs it, is its symptom if
their subjects are related and the capability was broken when the symptom began. docs/ranking.md gives the reasons.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kvdiag.base.clock import MINUTE, SECOND
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History
from kvdiag.model.values import Role, Severity, SubjectKind, Verdict
from kvdiag.rules.capabilities import Capabilities, capabilities
from kvdiag.rules.missing_logs import CollectCommands
from kvdiag.rules.related_findings import (
    EVERYTHING,
    FindingGraph,
    NodeDriver,
    Relation,
    RuleRelations,
    is_node_fallback,
    is_of_another,
    is_of_node,
    never_explains,
    node_of,
    subject_of,
)
from kvdiag.rules.specificity import SharedLines

TOUCH = 10 * MINUTE  # a symptom may begin this long after the end of its cause
SLACK = 10 * SECOND  # two components may differ this much by clock and log buffering
DEVICES = ("device",)
OBJECTS = ("image", "server", "container_name")
OF_PODS = ("pod_uid", "pod", "container_id", "sandbox_id")  # pod names in lines of a finding that counts for the node
MONITOR_DELAY = MINUTE
"""Two monitors of a node may report one failure this far apart: PLEG after 3m, a runtime call after 2m or 4m."""


def rank(findings: Sequence[Finding], history: History) -> list[Finding]:
    """Return the findings with causes and symptoms: causes first, then by severity, certainty and time.

    A finding that only says that a step fails is left out if another finding explains why.
    """
    known = capabilities()
    collect = CollectCommands(history, known)
    ranked = _Ranking(findings, history, known).explained()
    reported = (one for one in ranked if not (one.explained_by and EVERYTHING in one.rule.never_explains))
    return ordered(_with_commands(one, collect) for one in reported)


def _with_commands(finding: Finding, collect: CollectCommands) -> Finding:
    commands = collect.to_collect(finding)
    return finding._replace(collect=commands) if commands else finding


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in report order."""
    return sorted(
        findings,
        key=lambda f: (
            f.role is Role.SYMPTOM,
            -f.severity,
            f.verdict is Verdict.POSSIBLE,
            f.begins,
            f.rule.name,
            f.subject.name,
            f.place,
        ),
    )


class _Ranking:
    """Processes findings from the deepest capability upwards, so that the cause of a cause is known first."""

    def __init__(self, findings: Sequence[Finding], history: History, known: Capabilities) -> None:
        self._relations = RuleRelations(known)
        self._graph, self._shared_lines = FindingGraph(findings, history), SharedLines(findings)
        rules = {finding.rule.name: finding.rule for finding in findings}
        depth = {name: known.depth(rule) for name, rule in rules.items()}
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
        """Return the deepest finding that explains this one, and record the rules between them."""
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
        """Return a sort key: confirmed causes first, then those on the finding's own subject, then the deepest."""
        is_others = not any(subject_of(cause) == subject_of(finding) for cause in causes)
        return (root.role is Role.SYMPTOM, root.verdict is Verdict.POSSIBLE, is_others, self._order[id(root)])

    def _root(self, finding: Finding) -> Finding:
        """Return the root cause of a finding."""
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
        """Return findings about a CSI driver that may explain this rule; cached for all findings of the rule."""
        key = (*node_driver, finding.rule.name)
        if key not in self._related:
            of_driver = self._graph.same_driver(node_driver)
            self._related[key] = [cause for cause in of_driver if self._relation(cause, finding) is Relation.BY_DRIVER]
        return self._related[key]

    def _related_to_node(self, finding: Finding) -> list[Finding]:
        """Return findings about the node that may explain this rule; cached."""
        key = (node_of(finding), finding.rule.name)
        if key not in self._related:
            self._related[key] = [cause for cause in self._graph.about_node(finding) if self._relation(cause, finding)]
        return self._related[key]

    def _related_on_node(self, finding: Finding) -> list[Finding]:
        """Return findings about the node and everything on it that may explain this rule; cached."""
        is_fallback = is_node_fallback(finding)
        key = (node_of(finding), finding.rule.name, "", is_fallback)
        if key not in self._related:
            relations = ((cause, self._relation(cause, finding)) for cause in self._graph.on_node(finding))
            self._related[key] = [
                cause for cause, relation in relations if relation is Relation.NAMED or (relation and is_fallback)
            ]
        return self._related[key]

    def _shared_objects(self, cause: Finding, finding: Finding) -> tuple[str, ...]:
        """Return the kinds of objects that both must share if both name one; for a cause on a node only devices."""
        if self._relation(cause, finding) is Relation.BY_NODE:
            return DEVICES
        return (*DEVICES, *OBJECTS, *(OF_PODS if is_node_fallback(cause) or is_node_fallback(finding) else ()))

    def _relation(self, cause: Finding, finding: Finding) -> Relation | None:
        return self._relations.relation(cause.rule, finding.rule)


def _is_alarm_enough(cause: Finding, finding: Finding) -> bool:
    """Return whether the severities allow it: a finding of severity info explains no alarm."""
    return cause is not finding and (cause.severity is not Severity.INFO or finding.severity is Severity.INFO)


def _is_sure_enough(cause: Finding, finding: Finding) -> bool:
    """Return whether the cause is certain enough; only symptoms may be confirmed and have a possible cause."""
    is_guess = cause.verdict is Verdict.POSSIBLE and finding.verdict is Verdict.CONFIRMED
    return not is_guess or finding.rule.role is Role.SYMPTOM


def _was_broken(cause: Finding, finding: Finding) -> bool:
    """Return whether the times allow it: a node's fault must begin first, a volume's cause may become visible later."""
    if finding.begins > cause.ends + TOUCH or finding.ends < cause.begins - TOUCH:
        return False
    is_nodes = cause.subject.kind is SubjectKind.NODE
    if cause.healed is not None and finding.begins > cause.healed + (SLACK if is_nodes else -1):
        return False
    if not is_nodes:
        return True
    return cause.begins <= finding.begins + (MONITOR_DELAY if is_of_node(finding) else SLACK)
