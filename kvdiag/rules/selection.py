"""Select the events that a name in a rule stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import translate
from functools import lru_cache
from itertools import accumulate, chain
from typing import NamedTuple, Protocol

from kvdiag.base.identity_cache import cached_by_identity
from kvdiag.base.regex import lazy_regex
from kvdiag.model.event import Event, event_order
from kvdiag.model.record import Origin
from kvdiag.model.report import Doubt, DoubtReason
from kvdiag.model.rule import Rule, Selector, Where
from kvdiag.model.values import code_name
from kvdiag.rules.event_order import soonest

LONGEST_VALUE = 4096  # characters of an attribute that globs see; the rest is ignored, to bound the time
TEXTS = frozenset({"error", "reason", "message"})
_SORTED_TEXTS = tuple(sorted(TEXTS))
TEXT = "text"  # a condition on whichever of TEXTS the event has
ANATOMY = ("cause", "object", "peer", "operation")  # conditions on the anatomy of the error (kvdiag/anatomy)
CODE = "code"  # the gRPC code in TEXTS: the first one, as the description may quote another
MAYBE_MISSING = ("component", "version")  # a line without these values may still match
_SKIPPED_NAMES = frozenset(MAYBE_MISSING)
MOST_GLOBS = 4096  # compiled lists of globs in the cache, more than all rules have
_WILD = frozenset("*?[")
_CHOICE = frozenset("?[")
_LETTERS = lazy_regex(r"\[([a-zA-Z]{1,3})\]")
MOST_SPELLED = 3  # choices of letters in one glob: they make up to 27 globs of it
_WILDCARD = lazy_regex(r"[*?]|\[!?\]?[^\]]*\]?")
_CODE_BEGINS = "code = "
_CODE = lazy_regex(r"\bcode = ([A-Za-z]{2,18}|\d{1,2}) desc\b")


class LineValues(Protocol):
    """The values of a line: an event, or an event match before correlation."""

    @property
    def kind(self) -> str:
        """The kind of the event."""

    @property
    def attrs(self) -> Mapping[str, str]:
        """The values of the line other than names."""

    def value(self, name: str) -> str:
        """Return the attribute of that name, else the ref of that kind, else an empty string."""


ByKind = Mapping[str, Sequence[Event]]
EventPosition = tuple[int, Origin]


def by_kind(events: Iterable[Event]) -> dict[str, list[Event]]:
    """Group events by kind; the order within a kind is kept."""
    divided: dict[str, list[Event]] = {}
    for event in events:
        kind = event.kind
        if kind in divided:
            divided[kind].append(event)
        else:
            divided[kind] = [event]
    return divided


class Selected(dict[str, tuple[Event, ...]]):
    """The events of each name in a rule in order, selected on first access."""

    def __init__(self, selectors: Mapping[str, Selector], divided: ByKind) -> None:
        """Take the selectors; `divided` are the events by kind."""
        super().__init__()
        self._selectors, self._divided = selectors, divided
        self._positions: dict[str, list[EventPosition]] = {}
        self._ends: dict[str, list[int]] = {}

    def __missing__(self, name: str) -> tuple[Event, ...]:
        """Select the events of a name."""
        selector, divided = self._selectors[name], self._divided
        series = [divided[kind] for kind in dict.fromkeys(selector.kinds) if kind in divided]
        found = series[0] if len(series) == 1 else sorted(chain.from_iterable(series), key=event_order)
        is_all = not found or not (selector.where or selector.any_of)
        selected = self[name] = (*found,) if is_all else (*filter(_tests(selector).fits, found),)
        return selected

    def of_names(self, names: Iterable[str]) -> list[Event]:
        """Return the events of any of these names, each once, in order."""
        found = {id(event): event for name in names for event in self[name]}
        return sorted(found.values(), key=event_order)

    def positions(self, name: str) -> Sequence[EventPosition]:
        """Return the positions (time and origin) of these events."""
        positions = self._positions.get(name)
        if positions is None:
            positions = self._positions[name] = [event_order(event) for event in self[name]]
        return positions

    def ends(self, name: str) -> Sequence[int]:
        """Return for each event the latest end of it and all events before it."""
        ends = self._ends.get(name)
        if ends is None:
            ends = self._ends[name] = list(accumulate((event.ends for event in self[name]), max))
        return ends

    def soonest(self, name: str, since: int) -> int | None:
        """Return the first time from `since` on at which one of these events was going on; None if there is none."""
        return soonest(self[name], since)

    def with_events(self, others: Mapping[str, tuple[Event, ...]]) -> Selected:
        """Return a copy with other events for some names."""
        copied = Selected(self._selectors, self._divided)
        copied.update(others)
        return copied


class Part(NamedTuple):
    """The events of a rule that are judged together, in order of time, and those of each of its names."""

    events: Sequence[Event]
    selected: Selected


def part_of(rule: Rule, events: Sequence[Event]) -> Part:
    """Return events in order of time as a part."""
    return Part(events, Selected(rule.events, by_kind(events)))


def selects(selector: Selector, event: Event) -> bool:
    """Return whether the selector matches the event."""
    return event.kind in selector.kinds and _tests(selector).fits(event)


def may_select(selector: Selector) -> Callable[[LineValues], bool]:
    """Return a function that tests whether the selector may match values; component and version are not checked."""
    return _tests(selector).may_fit


def value_tests(selector: Selector) -> list[tuple[str, Callable[[str], bool]]]:
    """Return the selector's conditions that test one value each, by its name: each must hold on some line."""
    others = {TEXT, CODE, *MAYBE_MISSING, *ANATOMY}
    return [(name, _compile_globs(globs)) for name, globs in selector.where.items() if name not in others]


def value_of(line: LineValues, name: str) -> str:
    """Return the value that a condition with this name tests."""
    return (line.attrs.get(name) or line.value(name))[:LONGEST_VALUE]


def missing_value_doubts(selector: Selector, events: Iterable[Event]) -> Iterator[Doubt]:
    """Yield a doubt for each event without the component or version that the selector requires."""
    names = [name for name in MAYBE_MISSING if name in selector.where]
    for event in events if names else ():
        for name in [one for one in names if not event.value(one)][:1]:
            yield Doubt(DoubtReason.NOT_SHOWN, text=str(event.origin), needed=name)


def may_lack_values(selector: Selector) -> bool:
    """Return whether the selector asks for a component or version, which a line may not contain."""
    return not _SKIPPED_NAMES.isdisjoint(selector.where)


@cached_by_identity
def asks_for_text(selector: Selector) -> bool:
    """Return whether the selector has a condition on the error text."""
    return any(name in {TEXT, CODE, *TEXTS, *ANATOMY} for where in selector.conditions for name in where)


class _Tests(NamedTuple):
    """The conditions of a selector as functions: all of them, and without those on component and version."""

    fits: Callable[[LineValues], bool]
    may_fit: Callable[[LineValues], bool]


@cached_by_identity
def _tests(selector: Selector) -> _Tests:
    """Return the tests of a selector: a compiled test takes 0.3 µs, reading the conditions again takes 1.5 µs."""
    return _Tests(_all_of(selector, frozenset()), _all_of(selector, _SKIPPED_NAMES))


def _all_of(selector: Selector, skipped: AbstractSet[str]) -> Callable[[LineValues], bool]:
    """Return a test for all conditions, except those on `skipped` names."""
    tests = _tests_of(selector.where, skipped)
    if selector.any_of:
        alternatives = [_joined(_tests_of(where, skipped)) for where in selector.any_of]
        tests.append(_any_of(alternatives))
    return _joined(tests)


def _joined(tests: Sequence[Callable[[LineValues], bool]]) -> Callable[[LineValues], bool]:
    """Return a test that holds if all of these hold."""
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests  # half of the time of a generator, as below
        return lambda line: first(line) and second(line)
    return lambda line: all(test(line) for test in tests)


def _any_of(tests: Sequence[Callable[[LineValues], bool]]) -> Callable[[LineValues], bool]:
    """Return a test that holds if one of these holds."""
    if len(tests) == 2:
        first, second = tests
        return lambda line: first(line) or second(line)
    return lambda line: any(test(line) for test in tests)


def _tests_of(where: Where, skipped: AbstractSet[str]) -> list[Callable[[LineValues], bool]]:
    tests = [_test(name, globs) for name, globs in where.items() if name not in skipped and name not in ANATOMY]
    asked = {name: where[name] for name in ANATOMY if name in where}
    return [*tests, _anatomy_test(asked)] if asked else tests  # the anatomy last, as it takes the longest to read


def _anatomy_test(asked: Where) -> Callable[[LineValues], bool]:
    """Return the test of the conditions on the anatomy of a line's error. Its tables are loaded for the first line."""
    loaded: list[Callable[[str, str], bool]] = []
    is_object = _compile_globs(asked.get("object", ()))

    def fits(line: LineValues) -> bool:
        if not loaded:
            from kvdiag.anatomy.conditions import condition_of  # slow: not for every log

            loaded.append(condition_of(asked, is_object))
        attrs = line.attrs
        for text in _SORTED_TEXTS:  # noqa: SIM110 (a generator takes as long as the test)
            if text in attrs and loaded[0](attrs[text], line.kind):
                return True
        return False

    return fits


def _test(name: str, globs: tuple[str, ...]) -> Callable[[LineValues], bool]:
    """Return the test of one condition; a missing component or version is only refused."""
    fits = _compile_globs(globs)
    refusing = _compile_globs(tuple(glob for glob in globs if glob.startswith("!")))
    if name == TEXT:
        return lambda line: _fits_text(line.attrs, fits, refusing)
    if name == CODE:
        return lambda line: fits(code_of(line.attrs))
    if name in MAYBE_MISSING:
        return lambda line: (fits if (value := line.value(name)) else refusing)(value)
    return lambda line: fits(value_of(line, name))


def _fits_text(attrs: Mapping[str, str], fits: Callable[[str], bool], refusing: Callable[[str], bool]) -> bool:
    """Return whether one of the texts matches and none is refused."""
    values = [attrs[text][:LONGEST_VALUE] for text in _SORTED_TEXTS if text in attrs]
    return any(map(fits, values)) and all(map(refusing, values))


def code_of(attrs: Mapping[str, str]) -> str:
    """Return the first gRPC code that a line's texts name, as `DeadlineExceeded`; empty where they name none."""
    for text in _SORTED_TEXTS:
        at = attrs[text].find(_CODE_BEGINS, 0, LONGEST_VALUE) if text in attrs else -1
        found = _CODE.search(attrs[text], max(0, at - 1), LONGEST_VALUE) if at >= 0 else None  # 10 µs a line
        if found:
            return code_name(found[1])
    return ""


@lru_cache(maxsize=MOST_GLOBS)
def _compile_globs(globs: tuple[str, ...]) -> Callable[[str], bool]:
    """Return a function that tests whether a value matches one of the globs and none that begins with `!`."""
    included = _compile_any([glob for glob in globs if not glob.startswith("!")])
    excluded = _compile_any([glob[1:] for glob in globs if glob.startswith("!")])
    if excluded is None:
        return included or (lambda _value: True)
    if included is None:
        return lambda value: not excluded(value)
    return lambda value: included(value) and not excluded(value)


def _compile_any(globs: Sequence[str]) -> Callable[[str], bool] | None:
    """Return a function that tests whether a value matches one of the globs. Most need only a substring search."""
    if not globs:
        return None
    globs = [spelled for glob in globs for spelled in _spelled_out(glob)]
    exact = frozenset(glob for glob in globs if not _WILD & set(glob))
    substrings = tuple(glob[1:-1] for glob in globs if _is_substring_glob(glob))
    rest = [glob for glob in globs if glob not in exact and not _is_substring_glob(glob)]
    chains = tuple(_chain(glob) for glob in rest if not _CHOICE & set(glob))
    choices = tuple((_sure_words(glob), lazy_regex(translate(glob))) for glob in rest if _CHOICE & set(glob))

    if len(substrings) == 1 and not (exact or chains or choices):
        (only,) = substrings
        return lambda value: only in value
    return _fits_any(exact, substrings, chains, choices)


def _fits_any(
    exact: AbstractSet[str],
    substrings: Sequence[str],
    chains: Sequence[tuple[str, str, tuple[str, ...], str]],
    choices: Sequence[tuple[str, re.Pattern[str]]],
) -> Callable[[str], bool]:
    """Return a function that tests whether a value is or contains one of these, the cheapest test first."""

    def fits(value: str) -> bool:
        if value in exact:
            return True
        for words in substrings:
            if words in value:
                return True
        for longest, start, middle, end in chains:
            if longest in value and _in_order(start, middle, end, value):
                return True
        for words, regex in choices:  # noqa: SIM110 (a generator takes as long as the test)
            if words in value and regex.match(value):
                return True
        return False

    return fits


def _spelled_out(glob: str) -> list[str]:
    """Return a glob with `[Dd]` as one glob for each letter: two searches for words take a tenth of a regex."""
    found = _LETTERS.search(glob)
    if found is None or not len(_LETTERS.findall(glob)) == glob.count("[") <= MOST_SPELLED:
        return [glob]
    rests = _spelled_out(glob[found.end() :])
    return [f"{glob[: found.start()]}{letter}{rest}" for letter in found[1] for rest in rests]


def _sure_words(glob: str) -> str:
    """Return the longest literal outside of `*`, `?` and `[…]`: a regex takes ten times as long as a search for it."""
    return max(_WILDCARD.split(glob), key=len)


def _chain(glob: str) -> tuple[str, str, tuple[str, ...], str]:
    """Return the longest literal of a glob, and its literals: before the first star, between stars, after the last."""
    start, *middle, end = glob.split("*")
    return max((start, *middle, end), key=len), start, tuple(words for words in middle if words), end


def _in_order(start: str, middle: Sequence[str], end: str, value: str) -> bool:
    """Return whether the literals occur in the value in this order without overlap."""
    if not value.startswith(start):
        return False
    at = len(start)
    for words in middle:
        at = value.find(words, at) + len(words)
        if at < len(words):
            return False
    return len(value) - len(end) >= at and value.endswith(end)


def _is_substring_glob(glob: str) -> bool:
    """Return whether the glob is `*literal*`."""
    words = glob[1:-1]
    return glob == f"*{words}*" and words != "" and not _WILD & set(words)
