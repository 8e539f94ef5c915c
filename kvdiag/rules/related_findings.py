"""Which findings one finding explains: by the capabilities of their rules, and by what their events share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from kvdiag.model.event import NAMELESS
from kvdiag.model.report import Finding
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import History, SubjectKey
from kvdiag.model.values import Role, SubjectKind
from kvdiag.rules.capabilities import Capabilities

EVERYTHING = "*"
"""In `never-explains`: the rule only says that a step fails, so it explains no other rule."""


class Relation(Enum):
    """Why one rule may explain another: named in `explains`, or a capability of an entity, a node or a CSI driver."""

    NAMED = "named"
    BY_NODE = "by node"
    BY_ENTITY = "by entity"
    BY_DRIVER = "by driver"


class RuleRelations:
    """Compares pairs of rules and caches the result: thousands of findings come from few rules."""

    def __init__(self, known: Capabilities) -> None:
        """Take the graph of capabilities."""
        self._known = known
        self._relations: dict[tuple[str, str], Relation | None] = {}

    def relation(self, cause: Rule, rule: Rule) -> Relation | None:
        """Return why findings of `cause` may explain those of `rule`; None if they may not."""
        pair = (cause.name, rule.name)
        if pair not in self._relations:
            self._relations[pair] = self._compute(cause, rule)
        return self._relations[pair]

    def shares_capability(self, one: Rule, other: Rule) -> bool:
        """Return whether both are about one capability, and neither explains the other."""
        shared = {*one.breaks, *one.suffers} & {*other.breaks, *other.suffers}
        return bool(shared) and not self.is_related(one, other) and not never_explains(one, other)

    def is_related(self, one: Rule, other: Rule) -> bool:
        """Return whether one of the rules may explain the other."""
        return (self.relation(one, other) or self.relation(other, one)) is not None

    def _compute(self, cause: Rule, rule: Rule) -> Relation | None:
        if rule.name in cause.explains:
            return Relation.NAMED
        if never_explains(cause, rule):
            return None
        spreading = [
            one for one in cause.breaks if any(self._known.spreads(one, suffered) for suffered in rule.suffers)
        ]
        entities = {self._known.by_name[one].on for one in spreading if one in self._known.by_name}
        if SubjectKind.DRIVER in entities:
            return Relation.BY_DRIVER
        if SubjectKind.NODE in entities:
            return Relation.BY_NODE
        return Relation.BY_ENTITY if spreading or self._is_nearer(cause, rule) else None

    def _is_nearer(self, cause: Rule, rule: Rule) -> bool:
        """Return whether a symptom suffers from a capability that needs what the cause suffers from."""
        if rule.role is not Role.SYMPTOM:
            return False
        return any(one in self._known.needs_of(suffered) for one in cause.suffers for suffered in rule.suffers)


def never_explains(cause: Rule, rule: Rule) -> bool:
    """Return whether `never-explains` of the cause excludes the rule."""
    return rule.name in cause.never_explains or EVERYTHING in cause.never_explains


NodeDriver = tuple[str, str]  # a node and a CSI driver on it
_OF_A_POD = {SubjectKind.CONTAINER, SubjectKind.SANDBOX}


def subject_of(finding: Finding) -> SubjectKey:
    """Return the key of the finding's subject in timelines."""
    return (finding.subject.kind, finding.subject.key)


def is_of_node(finding: Finding) -> bool:
    """Return whether the finding is about a node, or was counted for it as its lines name no pod or volume."""
    return finding.subject.kind is SubjectKind.NODE


def is_node_fallback(finding: Finding) -> bool:
    """Return whether the finding counts for the node because its lines name no pod or volume."""
    return finding.rule.or_node and is_of_node(finding)


def node_of(finding: Finding) -> str:
    """Return the node, which may be a generated name for the log; empty if unknown."""
    named = finding.subject.ids.get("node", "")
    if named or is_of_node(finding):
        return named or finding.subject.key
    return next((one.event.node for one in finding.evidence if one.event.node.startswith(NAMELESS)), "")


def is_of_another(cause: Finding, finding: Finding, names: Sequence[str]) -> bool:
    """Return whether both findings name an object of one of these kinds, such as an image, and share none."""
    for name in names:
        cause_names = _object_names(cause, name)
        others = _object_names(finding, name) if cause_names else ()
        if others and not any(_is_same_object(a, b) for a in cause_names for b in others):
            return True
    return False


def _object_names(finding: Finding, name: str) -> set[str]:
    """Return the objects of that kind in the finding's lines and subject."""
    return {finding.subject.ids.get(name, ""), *(one.event.value(name) for one in finding.evidence)} - {""}


def names_an_object(finding: Finding, name: str) -> bool:
    """Return whether the finding names an object of that kind, which others may name as well."""
    return bool(_object_names(finding, name))


def _is_same_object(one: str, other: str) -> bool:
    """Return whether two names mean one object: a partition and its disk, an image with and without its registry."""
    short, long = sorted((one.removeprefix("/dev/"), other.removeprefix("/dev/")), key=len)
    return long.startswith(short) or long.endswith(f"/{short}")


class FindingGraph:
    """Findings by subject, node and driver, so that each one is compared with related ones only."""

    def __init__(self, findings: Sequence[Finding], history: History) -> None:
        """Take all findings of a history."""
        self._history = history
        self.by_subject: dict[SubjectKey, list[Finding]] = defaultdict(list)
        self.by_driver: dict[NodeDriver, list[Finding]] = defaultdict(list)
        self.about_nodes: dict[str, list[Finding]] = defaultdict(list)
        self.on_nodes: dict[str, list[Finding]] = defaultdict(list)
        for finding in findings:
            self.by_subject[subject_of(finding)].append(finding)
            self.on_nodes[node_of(finding)].append(finding)
            if is_of_node(finding):
                self.about_nodes[node_of(finding)].append(finding)
            elif driver := finding.subject.ids.get("driver"):
                self.by_driver[node_of(finding), driver].append(finding)
        self._uses: dict[SubjectKey, set[SubjectKey]] = {subject: set() for subject in self.by_subject}
        for subject in self.by_subject:
            for used in self._used_subjects(subject):
                self._uses[subject].add(used)
                if used in self._uses:
                    self._uses[used].add(subject)

    def related(self, finding: Finding) -> Iterator[Finding]:
        """Yield findings about the same subject, and about subjects that it uses or is used by."""
        subject = subject_of(finding)
        yield from self.by_subject[subject]
        for used in self._uses[subject]:
            yield from self.by_subject.get(used, ())

    def same_driver(self, node_driver: NodeDriver) -> Iterable[Finding]:
        """Return findings about volumes of a CSI driver on a node."""
        return self.by_driver.get(node_driver, ())

    def node_drivers(self, finding: Finding) -> Sequence[NodeDriver]:
        """Return the CSI drivers of the finding's volumes, with its node."""
        return [(node_of(finding), driver) for driver in sorted(self._drivers(finding))]

    def about_node(self, finding: Finding) -> Iterator[Finding]:
        """Yield findings about the finding's node itself."""
        yield from _at_node(self.about_nodes, node_of(finding))

    def on_node(self, finding: Finding) -> Iterator[Finding]:
        """Yield findings about the finding's node and about everything on it."""
        yield from _at_node(self.on_nodes, node_of(finding))

    def _used_subjects(self, subject: SubjectKey) -> Iterator[SubjectKey]:
        """Yield the subjects that a subject uses; for a container or sandbox also the volumes of its pod."""
        linked_to = self._history.timelines.linked_to
        for used in linked_to(subject):
            if used[0] is not subject[0]:
                yield used
        uid = next((found.subject.ids.get("pod_uid", "") for found in self.by_subject[subject]), "")
        if uid and subject[0] in _OF_A_POD:
            pod = (SubjectKind.POD, uid)
            yield pod
            yield from (used for used in linked_to(pod) if used[0] is SubjectKind.VOLUME)

    def _drivers(self, finding: Finding) -> set[str]:
        found = {finding.subject.ids.get("driver", "")}
        for used in self._uses[subject_of(finding)]:
            timeline = self._history.timelines.get(used)
            found.add(timeline.subject.ids.get("driver", "") if timeline else "")
        return found - {""}


def _at_node(by_node: dict[str, list[Finding]], node: str) -> Iterator[Finding]:
    if not node:
        for findings in by_node.values():
            yield from findings
        return
    yield from by_node.get(node, ())
    yield from by_node.get("", ())
