"""Which kinds of events the rules need of a history: an analysis makes no others, but to tell who is who.

A rule asks for something only where each of its steps was told, in words that it looks for: without a failure in the
logs the rules about failures ask for nothing, and of a healthy node's events four in five need not be made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

from kvdiag.history.correlate.handover import HANDED_OVER, STAGED, TOLD_BY
from kvdiag.model.rule import All, AnyOf, Chain, Condition, Rule, Selector
from kvdiag.rules.ending import BEFORE_START, STARTED
from kvdiag.rules.order import sure_steps
from kvdiag.rules.selection import Told, may_stand_for
from kvdiag.rules.shelf import possible
from kvdiag.rules.sought import sought

ToldByKind = Mapping[str, Collection[Told]]


def asked(rules: Iterable[Rule], told: ToldByKind) -> frozenset[str]:
    """The kinds that rules ask for which can hold by what was `told`, of each kind, or by what can follow from it."""
    following = told.keys() | HANDED_OVER if not told.keys().isdisjoint(STAGED) else told.keys()
    return kinds_of(holdable(possible(rules, following), told))


def kinds_of(rules: Iterable[Rule]) -> frozenset[str]:
    """The kinds that these rules ask for, and those that a hand-over is told by if one of them asks for it."""
    kinds = {kind for rule in rules for kind in sought(rule).kinds}
    if any(kind.rpartition(".")[0] in BEFORE_START for kind in kinds):
        kinds |= STARTED
    return frozenset(kinds | TOLD_BY if kinds & HANDED_OVER else kinds)


def holdable(rules: Iterable[Rule], told: ToldByKind) -> Iterator[Rule]:
    """The rules of which each step that must be there may be one of what was told; what is handed over always may."""
    return (rule for rule in rules if _can_hold(rule.when, rule, told))


def _can_hold(condition: Condition, rule: Rule, told: ToldByKind) -> bool:
    match condition:
        case Chain(steps):
            return all(_may_be(rule.events[step.name], told) for step in sure_steps(steps, rule.cut))
        case All(terms):
            return all(_can_hold(term, rule, told) for term in terms)
        case AnyOf(terms):
            return any(_can_hold(term, rule, told) for term in terms)
        case _:
            return True


def _may_be(selector: Selector, told: ToldByKind) -> bool:
    may_be = partial(may_stand_for, selector)
    there = [kind for kind in selector.kinds if kind in told]
    return any(any(map(may_be, told[kind])) for kind in there) or not HANDED_OVER.isdisjoint(selector.kinds)
