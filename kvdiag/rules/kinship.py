"""Whether findings of one rule may explain those of another, by what both say of capabilities."""

from __future__ import annotations

from enum import Enum

from kvdiag.model.rule import Rule
from kvdiag.model.values import Role, SubjectKind
from kvdiag.rules.capabilities import Capabilities

EVERYTHING = "*"
"""In `never-explains`: the rule says only that a step fails, and any other says more."""


class Kin(Enum):
    """Why one rule may explain another: it says so by name, or by a capability of an entity, a node or a CSI driver."""

    NAMED = "named"
    BY_NODE = "by node"
    BY_ENTITY = "by entity"
    BY_DRIVER = "by driver"


class Kinship:
    """Each pair of rules is judged once: thousands of findings are of few rules."""

    def __init__(self, known: Capabilities) -> None:
        """The graph that failures spread along."""
        self._known = known
        self._of: dict[tuple[str, str], Kin | None] = {}

    def of(self, cause: Rule, rule: Rule) -> Kin | None:
        """Why findings of `cause` may explain those of `rule`; None where they do not."""
        pair = (cause.name, rule.name)
        if pair not in self._of:
            self._of[pair] = self._judged(cause, rule)
        return self._of[pair]

    def is_one(self, one: Rule, other: Rule) -> bool:
        """Whether both tell of one capability, and neither is the cause of the other."""
        shared = {*one.breaks, *one.suffers} & {*other.breaks, *other.suffers}
        return bool(shared) and not self.is_akin(one, other) and not is_refused(one, other)

    def is_akin(self, one: Rule, other: Rule) -> bool:
        """Whether one of them may explain the other."""
        return (self.of(one, other) or self.of(other, one)) is not None

    def _judged(self, cause: Rule, rule: Rule) -> Kin | None:
        if rule.name in cause.explains:
            return Kin.NAMED
        if is_refused(cause, rule):
            return None
        broken = [one for one in cause.breaks if any(self._known.spreads(one, felt) for felt in rule.suffers)]
        entities = {self._known.by_name[one].on for one in broken if one in self._known.by_name}
        if SubjectKind.DRIVER in entities:
            return Kin.BY_DRIVER
        if SubjectKind.NODE in entities:
            return Kin.BY_NODE
        return Kin.BY_ENTITY if broken or self._is_nearer(cause, rule) else None

    def _is_nearer(self, cause: Rule, rule: Rule) -> bool:
        """Of two symptoms the one that is felt nearer to its cause explains the other."""
        if rule.role is not Role.SYMPTOM:
            return False
        return any(one in self._known.needed(felt) for one in cause.suffers for felt in rule.suffers)


def is_refused(cause: Rule, rule: Rule) -> bool:
    """Whether a rule says that it does not account for the other."""
    return rule.name in cause.never_explains or EVERYTHING in cause.never_explains
