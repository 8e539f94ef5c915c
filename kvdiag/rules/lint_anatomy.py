"""Check the conditions on the anatomy of errors, and that no glob asks for words of a cause without a reason."""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.anatomy.conditions import strong_cause_in, words_of
from kvdiag.base.suggestions import suggestion
from kvdiag.model.rule import Rule, Selector
from kvdiag.rules.selection import ANATOMY, TEXT, TEXTS
from kvdiag.rules.selectors import GLOB_BECAUSE

Fault = tuple[str, str]  # the path of a key, such as `fix.0.run`, and the problem

_WORDS = tuple(name for name in ANATOMY if name != "object")  # of `object` the condition is a glob


def lint_anatomy(rule: Rule) -> Iterator[Fault]:
    """Yield unknown causes, peers and operations, and globs over a whole error for a cause that a rule can ask for."""
    for selector in rule.events.values():
        if f"events.{selector.name}" in rule.places:  # not a second name that the condition gives
            yield from _unknown_words(selector)
            yield from _globs_of_causes(selector)
    known = words_of("cause")
    for number, fix in enumerate(rule.fix):
        for place, cause in enumerate(fix.causes):
            if cause not in known:
                yield f"fix.{number}.causes.{place}", f"unknown cause {cause!r}{suggestion(cause, known)}"
        if fix.causes and not rule.cause_from:
            yield f"fix.{number}.causes", "a step for some causes needs `cause-from`"


def _unknown_words(selector: Selector) -> Iterator[Fault]:
    for path, where in selector.placed_conditions:
        for name in (name for name in _WORDS if name in where):
            known = words_of(name)
            for number, word in enumerate(where[name]):
                asked = word.removeprefix("!")
                if asked not in known:
                    problem = f"{selector.name}: unknown {name} {asked!r}{suggestion(asked, known)}"
                    yield f"{path}.{name}.{number}", problem


def _globs_of_causes(selector: Selector) -> Iterator[Fault]:
    """Yield globs with the words of a cause, if no reason is given; and a reason that no glob needs."""
    found = [
        (f"{path}.{name}", glob, cause)
        for path, where in selector.placed_conditions
        for name, globs in where.items()
        for glob in (globs if name in {TEXT, *TEXTS} else ())
        if not glob.startswith("!") and (cause := strong_cause_in(glob))
    ]
    if selector.glob_because and not found:
        yield f"events.{selector.name}.{GLOB_BECAUSE}", "no glob has the words of a known cause; remove the reason"
    for path, glob, cause in () if selector.glob_because else found:
        problem = f"{glob!r} has the words of a cause: write 'cause: {cause}', or why not under '{GLOB_BECAUSE}'"
        yield path, problem
