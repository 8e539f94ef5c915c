"""Mutate a rule: the rule's tests must detect each mutant, or they do not prove the rule.

The name of a mutant says what was changed: `without no gone after busy within 5m`, `busy within 5s x10`, `failed
without csi.nodestage.failed`. The rule's key `survives` uses these names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from kvdiag.model.rule import Absent, All, AnyOf, Chain, ChainStep, Condition, Not, Rule, Selector
from kvdiag.rules.grammar import names_in, positive_names
from kvdiag.rules.rule_page import format_condition

SCALE = 10  # tests must notice a bound that is ten times as long or as short

Change = Callable[[Selector], Selector]
Changed = tuple[str, str, Condition]  # operator, name of the mutant, changed condition


class Mutant(NamedTuple):
    """A rule with one change; `operator` is the kind of the change."""

    operator: str
    name: str
    rule: Rule


def mutants(rule: Rule) -> Iterator[Mutant]:
    """Yield every mutant of the rule's condition and events, each with a unique name."""
    counts: Counter[str] = Counter()
    for operator, name, changed in _faulty(rule):
        counts[name] += 1
        yield Mutant(operator, name if counts[name] == 1 else f"{name} ({counts[name]})", changed)


def _faulty(rule: Rule) -> Iterator[tuple[str, str, Rule]]:
    for operator, name, condition in _conditions(rule.when):
        if any(positive_names(condition)):
            yield operator, name, rule._replace(when=condition)
    used = [rule.events[name] for name in dict.fromkeys(names_in(rule.when))]
    for operator, label, alike, changed in _selectors(used):
        yield operator, label, rule._replace(events={**rule.events, **{one.name: changed(one) for one in alike}})


def _conditions(condition: Condition) -> Iterator[Changed]:
    match condition:
        case Chain():
            yield from _chains(condition)
        case Absent():
            yield from _absences(condition)
        case Not(term):
            yield from ((operator, name, Not(inner)) for operator, name, inner in _conditions(term))
        case All(terms) | AnyOf(terms):
            yield from _terms(condition, terms)


def _terms(condition: All | AnyOf, terms: tuple[Condition, ...]) -> Iterator[Changed]:
    operator = "term dropped" if isinstance(condition, All) else "branch removed"
    for at, term in enumerate(terms):
        rest = (*terms[:at], *terms[at + 1 :])
        yield (
            operator,
            f"without {format_condition(term)}",
            rest[0] if len(rest) == 1 else condition._replace(terms=rest),
        )
        for fault, name, inner in _conditions(term):
            yield fault, name, condition._replace(terms=(*terms[:at], inner, *terms[at + 1 :]))


def _chains(chain: Chain) -> Iterator[Changed]:
    steps, text = chain.steps, format_condition(chain)
    for at, step in enumerate(steps):
        if len(steps) > 1:
            yield "step dropped", f"{text}: without {step.name}", chain._replace(steps=(*steps[:at], *steps[at + 1 :]))
        for operator, name, changed in _steps(step):
            yield operator, f"{text}: {name}", chain._replace(steps=(*steps[:at], changed, *steps[at + 1 :]))
    for at in range(len(steps) - 1):
        swapped = (*steps[:at], steps[at + 1], steps[at], *steps[at + 2 :])
        if swapped != steps:
            yield "steps swapped", f"{text}: {steps[at + 1].name} first", chain._replace(steps=swapped)
    for name, within in _bounds(chain.within):
        yield "within", f"{text}: within {name}", chain._replace(within=within)


def _steps(step: ChainStep) -> Iterator[tuple[str, str, ChainStep]]:
    if step.at_least > (2 if step.lasting else 1):  # a single event has no duration
        yield "count lowered", f"{step.at_least - 1} {step.name}", step._replace(at_least=step.at_least - 1)
    for name, lasting in _bounds(step.lasting):
        yield "lasting", f"{step.name} lasting {name}", step._replace(lasting=lasting)


def _absences(absent: Absent) -> Iterator[Changed]:
    text = format_condition(absent)
    for name, within in _bounds(absent.within):
        yield "absence", f"{text}: within {name}", absent._replace(within=within)


def _bounds(length: int) -> Iterator[tuple[str, int]]:
    if length:
        yield f"x{SCALE}", length * SCALE
        yield f"/{SCALE}", length // SCALE
        yield "dropped", 0


def _selectors(used: Sequence[Selector]) -> Iterator[tuple[str, str, Sequence[Selector], Change]]:
    """Yield changes of events. Kinds or globs that several events share are changed in all of them."""
    for kinds in dict.fromkeys(one.kinds for one in used if len(one.kinds) > 1):
        alike = [one for one in used if one.kinds == kinds]
        for kind in dict.fromkeys(kinds):
            yield "kind removed", f"{alike[0].name} without {kind}", alike, partial(_without_kind, kind=kind)
    for key, globs in dict.fromkeys((key, globs) for one in used for key, globs in one.where.items()):
        alike = [one for one in used if one.where.get(key) == globs]
        yield "value ignored", f"{alike[0].name} whatever {key}", alike, partial(_whatever, key=key)
        for glob in globs if len(globs) > 1 else ():
            label = f"{alike[0].name} without {key} {glob}"
            yield "glob removed", label, alike, partial(_without_glob, key=key, glob=glob)


def _without_kind(selector: Selector, kind: str) -> Selector:
    return selector._replace(kinds=tuple(other for other in selector.kinds if other != kind))


def _whatever(selector: Selector, key: str) -> Selector:
    return selector._replace(where={other: globs for other, globs in selector.where.items() if other != key})


def _without_glob(selector: Selector, key: str, glob: str) -> Selector:
    rest = tuple(other for other in selector.where[key] if other != glob)
    return selector._replace(where={**selector.where, key: rest})
