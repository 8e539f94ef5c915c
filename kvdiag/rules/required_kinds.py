"""Determine which kinds of events the rules need, so that an analysis builds no others.

A rule needs events only if each of its steps may have an event in the logs. On a healthy node, four of five events are
not needed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from kvdiag.history.correlate.handover import HANDED_OVER, HANDOVER_EVIDENCE, STAGED
from kvdiag.model.rule import All, AnyOf, Chain, Condition, Rule, Selector
from kvdiag.rules.ending import BEFORE_START, STARTED
from kvdiag.rules.event_order import sure_steps
from kvdiag.rules.prefilter import prefilter_of
from kvdiag.rules.rule_store import possible_rules
from kvdiag.rules.selection import LineValues, may_select, value_of, value_tests

ValuesByKind = Mapping[str, Collection[LineValues]]


def rules_of_lines(rules: Iterable[Rule], values_by_kind: ValuesByKind) -> list[Rule]:
    """Return the rules that can hold with these values of lines, or with events derived from them."""
    seen_kinds = values_by_kind.keys()
    possible_kinds = seen_kinds if seen_kinds.isdisjoint(STAGED) else seen_kinds | HANDED_OVER
    return list(holdable_rules(possible_rules(rules, possible_kinds), values_by_kind))


def kinds_of(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the kinds that these rules use, and those that a volume hand-over is derived from if a rule uses one."""
    kinds = {kind for rule in rules for kind in prefilter_of(rule).kinds}
    if any(kind.rpartition(".")[0] in BEFORE_START for kind in kinds):
        kinds |= STARTED
    return frozenset(kinds | HANDOVER_EVIDENCE if kinds & HANDED_OVER else kinds)


def holdable_rules(rules: Iterable[Rule], values_by_kind: ValuesByKind) -> Iterator[Rule]:
    """Yield the rules whose required steps may all have an event; derived hand-over events count as possible."""
    seen = _SeenValues(values_by_kind)
    return (rule for rule in rules if _can_hold(rule.when, rule, seen))


class _SeenValues:
    """The values of all lines. Many rules have the same condition: it is tested once for each kind."""

    def __init__(self, values_by_kind: ValuesByKind) -> None:
        self._values_by_kind = values_by_kind
        self._found: dict[tuple[object, ...], bool] = {}
        self._values: dict[tuple[str, str], AbstractSet[str]] = {}

    def may_match(self, selector: Selector) -> bool:
        """Return whether the selector may match a line."""
        kinds = (kind for kind in selector.kinds if kind in self._values_by_kind)
        return any(self._may_match(selector, kind) for kind in kinds) or not HANDED_OVER.isdisjoint(selector.kinds)

    def _may_match(self, selector: Selector, kind: str) -> bool:
        key = (kind, *(tuple(where.items()) for where in selector.conditions))
        if key not in self._found:
            # Of most selectors one value fits on no line, which takes a third of the time of all conditions.
            is_possible = all(any(map(fits, self._values_of(kind, name))) for name, fits in value_tests(selector))
            self._found[key] = is_possible and any(map(may_select(selector), self._values_by_kind[kind]))
        return self._found[key]

    def _values_of(self, kind: str, name: str) -> AbstractSet[str]:
        """Return the values of this name in the lines of a kind."""
        values = self._values.get((kind, name))
        if values is None:
            values = self._values[kind, name] = {value_of(line, name) for line in self._values_by_kind[kind]}
        return values


def _can_hold(condition: Condition, rule: Rule, seen: _SeenValues) -> bool:
    match condition:
        case Chain(steps):
            return all(seen.may_match(rule.events[step.name]) for step in sure_steps(steps, rule.cut))
        case All(terms):
            return all(_can_hold(term, rule, seen) for term in terms)
        case AnyOf(terms):
            return any(_can_hold(term, rule, seen) for term in terms)
        case _:
            return True
