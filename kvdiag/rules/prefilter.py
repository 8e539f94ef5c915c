"""Which kinds of events a rule needs, to exclude rules quickly before they are evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kvdiag.base.identity_cache import cached_by_identity
from kvdiag.model.rule import All, AnyOf, Chain, Condition, Rule
from kvdiag.rules.event_order import sure_steps
from kvdiag.rules.grammar import positive_names

Clauses = tuple[frozenset[str], ...]


class RulePrefilter(NamedTuple):
    """The `kinds` of a rule's events, and its `clauses`: each set of kinds must have an event.

    `positive` are the kinds of events that must exist for the condition to hold.
    """

    rule: Rule
    kinds: tuple[str, ...]
    clauses: Clauses
    positive: frozenset[str]

    def can_hold(self, seen_kinds: AbstractSet[str]) -> bool:
        """Return whether each clause has one of the seen kinds."""
        return clauses_can_hold(self.clauses, seen_kinds)


def clauses_can_hold(clauses: Clauses, seen_kinds: AbstractSet[str]) -> bool:
    """Return whether each clause has one of the seen kinds."""
    return not any(map(seen_kinds.isdisjoint, clauses))


@cached_by_identity
def prefilter_of(rule: Rule) -> RulePrefilter:
    """Return the prefilter of a rule."""
    kinds = tuple(dict.fromkeys(kind for selector in rule.events.values() for kind in selector.kinds))
    positive = frozenset(kind for name in positive_names(rule.when) for kind in rule.events[name].kinds)
    return RulePrefilter(rule, kinds, tuple(_clauses(rule.when, rule)), positive)


def _clauses(condition: Condition, rule: Rule) -> Iterator[frozenset[str]]:
    """Yield sets of kinds; if one of them has no event, the condition cannot hold."""
    match condition:
        case Chain(steps):
            yield from (frozenset(rule.events[step.name].kinds) for step in sure_steps(steps, rule.cut))
        case All(terms):
            for term in terms:
                yield from _clauses(term, rule)
        case AnyOf(terms):
            each = [list(_clauses(term, rule)) for term in terms]
            if all(each):
                yield frozenset().union(*(min(clauses, key=len) for clauses in each))
