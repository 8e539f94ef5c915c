"""Decide from two rules' capabilities whether findings of one may explain findings of the other."""

from __future__ import annotations

from enum import Enum

from kvdiag.model.rule import Rule
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
