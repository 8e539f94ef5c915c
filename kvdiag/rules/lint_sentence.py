"""Check a well-formed condition: unused names, and clauses without effect."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

from kvdiag.base.errors import PatternError
from kvdiag.model.rule import Absent, All, AnyOf, Chain, ChainStep, Condition, Not, Rule
from kvdiag.rules.grammar import names_in, position, positive_names, required_chains
from kvdiag.rules.rule_page import format_condition

MOST_BRANCHES = 64


def lint_sentence(rule: Rule) -> Iterator[PatternError]:
    """Yield every fault of the rule's condition; for a part of it with the condition and a caret."""
    by = rule.healed.by if rule.healed else ()
    used = {*names_in(rule.when), *rule.shows, *rule.follows, *rule.cause_from, *by, rule.counts}
    narrowed = {kind for selector in rule.events.values() if selector.where for kind in selector.kinds}
    for name, selector in rule.events.items():
        is_raw_line = not selector.where and selector.kinds[0].startswith("line.")
        if name not in used and not (is_raw_line and selector.kinds[0] in narrowed):
            yield PatternError(rule.place_of(f"events.{name}"), f"the event {name!r} is defined but never used")
    bound = set(positive_names(rule.when))
    if not bound:
        text = "the condition requires no event; an absence alone is not a finding"
        yield PatternError(rule.place_of("when"), text)
    yield from _keys(rule, bound)
    sentence = format_condition(rule.when)
    for name, problem in _clauses(rule, frozenset(bound)):
        yield PatternError(rule.place_of("when"), problem, sentence, position(name, sentence), len(name))


def _keys(rule: Rule, bound: set[str]) -> Iterator[PatternError]:
    """Yield faults for keys that name events which the condition does not require."""
    listed = (("proof", "proof.by", rule.proof.by if rule.proof else ()), ("alarm", "alarm", rule.alarm))
    for what, path, names in (*listed, ("cut", "cut", rule.cut)):
        for number, name in enumerate(names):
            if name not in bound:
                problem = f"the {what} {name!r} is not an event that the condition requires"
                yield PatternError(rule.place_of(f"{path}.{number}"), problem)
    ends = {c.steps[-1].name for c in required_chains(rule.when) if c.within or c.steps[-1].lasting}
    for number, name in enumerate(rule.cut):
        if name in bound and name not in ends:
            problem = f"{name!r} can only be cut off as the last step of a chain with 'within' or 'lasting'"
            yield PatternError(rule.place_of(f"cut.{number}"), problem)


def _clauses(rule: Rule, bound: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield each faulty clause with the name that it is about."""
    for absent, measured in _bounded(rule.when, bound):
        open_end = absent.after and not absent.before and not absent.within and not absent.to_end
        if open_end:
            text = f"no {absent.name} after {absent.after}"
            yield absent.name, f"'{text}' has no bound; write 'within 5m', or 'until end' if that is meant"
        for side in (absent.after, absent.before):
            if side and side not in measured:
                text = f"'no {absent.name}' is measured from {side!r}, which the condition does not require"
                yield side, text
    yield from _never_bound(rule.when, bound)
    yield from _reversed_bounds(rule.when)
    yield from _redundant_branches(rule, rule.when)


def _bounded(condition: Condition, bound: frozenset[str]) -> Iterator[tuple[Absent, frozenset[str]]]:
    """Yield each absence with the names that it may be measured from: required ones, or those of its negated term."""
    match condition:
        case Absent():
            yield condition, bound
        case Not(term):
            yield from _bounded(term, bound | frozenset(positive_names(term)))
        case All(terms) | AnyOf(terms):
            for term in terms:
                yield from _bounded(term, bound)
        case Chain():
            return


def _never_bound(condition: Condition, anywhere: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield absences that are measured from an event which only another branch of an `or` requires."""
    reported: set[tuple[str, str]] = set()
    for branch in _branches(condition):
        bound = {name for term in branch for name in positive_names(term)}
        for absent in (term for term in branch if isinstance(term, Absent)):
            for side in (absent.after, absent.before):
                if side in anywhere - bound and (absent.name, side) not in reported:
                    reported.add((absent.name, side))
                    yield side, f"'no {absent.name}' is measured from {side!r}, which only another branch requires"


def _branches(condition: Condition) -> list[list[Condition]]:
    """Return the alternatives of a condition, each a list of terms that must all hold; negated terms stay whole."""
    match condition:
        case AnyOf(terms):
            return [branch for term in terms for branch in _branches(term)][:MOST_BRANCHES]
        case All(terms):
            ways = product(*map(_branches, terms))
            return [[part for some in way for part in some] for way, _ in zip(ways, range(MOST_BRANCHES), strict=False)]
        case _:
            return [[condition]]


def _reversed_bounds(condition: Condition) -> Iterator[tuple[str, str]]:
    """Yield absences between two steps that the chain requires in the opposite order: nothing is ever between them."""
    for branch in _branches(condition):
        orders = [
            (one.name, then.name) for chain in branch if isinstance(chain, Chain) for one, then in pairwise(chain.steps)
        ]
        for absent in (term for term in branch if isinstance(term, Absent)):
            if (absent.before, absent.after) in orders and absent.before != absent.after:
                problem = (
                    f"nothing is between {absent.after} and {absent.before}: the chain has them in the other order"
                )
                yield absent.name, problem


def _redundant_branches(rule: Rule, condition: Condition) -> Iterator[tuple[str, str]]:
    """Yield branches of an `or` that hold only if an earlier branch does, and add no alarm or proof."""
    match condition:
        case AnyOf(terms):
            for number, term in enumerate(terms):
                covering = next((other for other in terms[:number] if _implies(term, other)), None)
                added = set(names_in(term)) - set(names_in(covering)) if covering is not None else set()
                if covering is not None and added.isdisjoint((*rule.alarm, *(rule.proof.by if rule.proof else ()))):
                    idle = format_condition(term)
                    yield (
                        next(names_in(term)),
                        f"'{idle}' is redundant: if it holds, '{format_condition(covering)}' does too",
                    )
                yield from _redundant_branches(rule, term)
        case All(terms):
            for term in terms:
                yield from _redundant_branches(rule, term)
        case Not(term):
            yield from _redundant_branches(rule, term)
        case _:
            return


def _implies(term: Condition, other: Condition) -> bool:
    """Return whether the first condition implies the second, judged by their form alone."""
    match term, other:
        case All(parts), All(required):
            holds = all(any(_implies(part, requirement) for part in parts) for requirement in required)
        case AnyOf(parts), _:
            holds = all(_implies(part, other) for part in parts)
        case All(parts), _:
            holds = any(_implies(part, other) for part in parts)
        case _, AnyOf(required):
            holds = any(_implies(term, want) for want in required)
        case Chain(), Chain():
            holds = _is_part(other, term)
        case _:
            holds = False
    return holds or term == other


def _is_part(part: Chain, whole: Chain) -> bool:
    """Return whether a chain requires no more than the other, with its steps in the same order."""
    if part.within and not 0 < whole.within <= part.within:
        return False
    steps = iter(whole.steps)
    return all(any(_is_less(required, step) for step in steps) for required in part.steps)


def _is_less(step: ChainStep, than: ChainStep) -> bool:
    return (
        (step.name, step.different) == (than.name, than.different)
        and step.at_least <= than.at_least
        and step.lasting <= than.lasting
    )
