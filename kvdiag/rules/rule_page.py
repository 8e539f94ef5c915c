"""Render a rule as a page of text with fixed headings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvdiag.base.clock import DAY, HOUR, MINUTE, SECOND
from kvdiag.model.rule import Absent, All, AnyOf, Chain, ChainStep, Condition, Not, Rule, Selector, Where
from kvdiag.rules.distribution import default_dialect

UNITS = {"d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND, "ms": SECOND // 1000}


def show_rule(rule: Rule) -> str:
    """Return the page that `kvdiag rules show` prints."""
    return "\n".join(_lines(rule))


def _lines(rule: Rule) -> Iterator[str]:
    yield f"{rule.id} {rule.name}"
    yield f"{rule.title} ({rule.severity.label}, {rule.status}, per {rule.per}{' or node' if rule.or_node else ''})"
    yield from _section("Found when", [format_condition(rule.when)])
    yield from _section("Where", [_selector(selector) for selector in rule.events.values()])
    yield from _section("Applies to", [f"{component} {span}" for component, span in rule.applies.items()])
    if rule.proof:
        yield from _section("Confirmed by", [", ".join(rule.proof.by)])
    if rule.cut:
        yield from _section("Possible where the log ends before", [", ".join(rule.cut)])
    if rule.alarm:
        yield from _section("Information only without", [", ".join(rule.alarm)])
    if rule.cause_from:
        yield from _section("Cause read from the error of", [", ".join(rule.cause_from)])
    if rule.healed:
        yield from _section("Healed by", [", ".join(rule.healed.by)])
    yield from _section("Why", rule.cause.splitlines())
    yield from _section(
        "Known defects",
        [
            f"{b.component} {b.affected}: fixed in {', '.join(b.fixed) or 'no known release'} {b.reference}"
            for b in rule.bugs
        ],
    )
    yield from _section(
        "What to do",
        (
            line
            for number, fix in enumerate(rule.fix, 1)
            for line in _fix(number, *map(default_dialect().expand, fix[:3]))
        ),
    )
    yield from _section("Look-alikes", rule.look_alikes)
    yield from _section("To confirm, collect", map(default_dialect().expand, rule.collect))
    yield from _section("Breaks", rule.breaks)
    yield from _section("Suffers from the failure of", rule.suffers)
    yield from _section("Explains", rule.explains)
    yield from _section("Never explains", rule.never_explains)
    yield from _section("See", rule.references)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    listed = list(lines)
    if listed:
        yield f"\n{title}"
        yield from (f"  {line}" for line in listed)


def _fix(number: int, text: str, run: str, after: str) -> Iterator[str]:
    yield f"{number}. {text}" + (f" Only when {after}." if after else "")
    if run:
        yield f"   $ {run.strip()}"


def _selector(selector: Selector) -> str:
    any_of = " or ".join(f"({_conditions(one)})" for one in selector.any_of)
    where = ", ".join(part for part in (_conditions(selector.where), any_of) if part)
    return f"{selector.name}: {' or '.join(selector.kinds)}{', ' if where else ''}{where}"


def _conditions(where: Where) -> str:
    return ", ".join(f"{name} like {' or '.join(globs)}" for name, globs in where.items())


def format_condition(condition: Condition) -> str:
    """Return a condition as text, in the syntax of `when`."""
    match condition:
        case Chain(steps, within):
            return " then ".join(map(_step, steps)) + (f" within {_span(within)}" if within else "")
        case Absent(name, after, before, within, to_end):
            return f"no {name}{_bound(after, before, within, to_end=to_end)}"
        case Not(term):
            return f"not ({format_condition(term)})"
        case All(terms):
            return " and ".join(map(_inner, terms))
        case AnyOf(terms):
            return " or ".join(map(_inner, terms))


def _inner(condition: Condition) -> str:
    text = format_condition(condition)
    return f"({text})" if isinstance(condition, All | AnyOf) else text


def _step(step: ChainStep) -> str:
    least = f"at least {step.at_least} " if step.at_least > 1 or step.different else ""
    least += f"different {step.different} " if step.different else ""
    lasting = f" lasting {_span(step.lasting)}" if step.lasting else ""
    return f"{least}{step.name}{lasting}"


def _span(microseconds: int) -> str:
    """Return a duration in the syntax of `when`: a whole number of the largest possible unit."""
    unit, size = next((unit, size) for unit, size in UNITS.items() if microseconds % size == 0)
    return f"{microseconds // size}{unit}"


def _bound(after: str, before: str, within: int, *, to_end: bool) -> str:
    if after and before:
        return f" between {after} and {before}"
    side = f" after {after}" if after else f" before {before}" if before else ""
    return side + (f" within {_span(within)}" if within else "") + (" until end" if to_end else "")
