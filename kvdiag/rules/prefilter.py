"""What a rule looks for: the kinds of events it asks for, and of which sets of kinds one must be there."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kvdiag.model.rule import All, AnyOf, Chain, Condition, Rule
from kvdiag.rules.event_order import sure_steps
from kvdiag.rules.grammar import positive_names

MOST_RULES = 4096  # whose kinds are kept

Clauses = tuple[frozenset[str], ...]

_PREFILTERS: dict[int, RulePrefilter] = {}  # by the identity of its rule


class RulePrefilter(NamedTuple):
    """What a rule looks for: the `kinds` it asks for, in its order, and its `clauses`, of each of which one must be.

    `positive` are the kinds of what must have been seen, whatever is absent.
    """

    rule: Rule
    kinds: tuple[str, ...]
    clauses: Clauses
    positive: frozenset[str]

    def can_hold(self, seen_kinds: AbstractSet[str]) -> bool:
        """Whether each clause has a kind that was heard."""
        return clauses_can_hold(self.clauses, seen_kinds)


def clauses_can_hold(clauses: Clauses, seen_kinds: AbstractSet[str]) -> bool:
    """Whether each clause has a kind that was heard."""
    return not any(map(seen_kinds.isdisjoint, clauses))


def prefilter_of(rule: Rule) -> RulePrefilter:
    """The kinds and clauses of a rule, worked out once: rules live as long as the process."""
    known = _PREFILTERS.get(id(rule))
    if known is None or known.rule is not rule:
        if len(_PREFILTERS) >= MOST_RULES:
            _PREFILTERS.clear()
        kinds = tuple(dict.fromkeys(kind for selector in rule.events.values() for kind in selector.kinds))
        positive = frozenset(kind for name in positive_names(rule.when) for kind in rule.events[name].kinds)
        known = _PREFILTERS[id(rule)] = RulePrefilter(rule, kinds, tuple(_clauses(rule.when, rule)), positive)
    return known


def _clauses(condition: Condition, rule: Rule) -> Iterator[frozenset[str]]:
    """Sets of kinds; where one of them has no event the condition cannot hold."""
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
