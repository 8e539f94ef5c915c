"""Which kinds of events the rules need of a history: an analysis makes no others, but to tell who is who.

A rule asks for something only where each of its steps was told, in words that it looks for: without a failure in the
logs the rules about failures ask for nothing, and of a healthy node's events four in five need not be made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

from kvdiag.history.correlate.handover import HANDED_OVER, HANDOVER_EVIDENCE, STAGED
from kvdiag.model.rule import All, AnyOf, Chain, Condition, Rule, Selector
from kvdiag.rules.ending import BEFORE_START, STARTED
from kvdiag.rules.event_order import sure_steps
from kvdiag.rules.prefilter import prefilter_of
from kvdiag.rules.rule_store import possible_rules
from kvdiag.rules.selection import LineValues, may_select

ValuesByKind = Mapping[str, Collection[LineValues]]


def required_kinds(rules: Iterable[Rule], values_by_kind: ValuesByKind) -> frozenset[str]:
    """The kinds that rules ask for which can hold by what was `told`, of each kind, or by what can follow from it."""
    possible_kinds = (
        values_by_kind.keys() | HANDED_OVER if not values_by_kind.keys().isdisjoint(STAGED) else values_by_kind.keys()
    )
    return kinds_of(holdable_rules(possible_rules(rules, possible_kinds), values_by_kind))


def kinds_of(rules: Iterable[Rule]) -> frozenset[str]:
    """The kinds that these rules ask for, and those that a hand-over is told by if one of them asks for it."""
    kinds = {kind for rule in rules for kind in prefilter_of(rule).kinds}
    if any(kind.rpartition(".")[0] in BEFORE_START for kind in kinds):
        kinds |= STARTED
    return frozenset(kinds | HANDOVER_EVIDENCE if kinds & HANDED_OVER else kinds)


def holdable_rules(rules: Iterable[Rule], values_by_kind: ValuesByKind) -> Iterator[Rule]:
    """The rules of which each step that must be there may be one of what was told; what is handed over always may."""
    return (rule for rule in rules if _can_hold(rule.when, rule, values_by_kind))


def _can_hold(condition: Condition, rule: Rule, values_by_kind: ValuesByKind) -> bool:
    match condition:
        case Chain(steps):
            return all(_may_match(rule.events[step.name], values_by_kind) for step in sure_steps(steps, rule.cut))
        case All(terms):
            return all(_can_hold(term, rule, values_by_kind) for term in terms)
        case AnyOf(terms):
            return any(_can_hold(term, rule, values_by_kind) for term in terms)
        case _:
            return True


def _may_match(selector: Selector, values_by_kind: ValuesByKind) -> bool:
    is_match = partial(may_select, selector)
    seen_kinds = [kind for kind in selector.kinds if kind in values_by_kind]
    return any(any(map(is_match, values_by_kind[kind])) for kind in seen_kinds) or not HANDED_OVER.isdisjoint(
        selector.kinds
    )
