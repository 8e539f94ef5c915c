"""Which events a name in a rule stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import translate
from functools import lru_cache
from itertools import accumulate
from typing import Protocol

from kvdiag.base.regex import lazy_regex
from kvdiag.model.doubt import Doubt, Reason
from kvdiag.model.event import Event, place_of
from kvdiag.model.record import Origin
from kvdiag.model.rule import Selector, Where
from kvdiag.rules.order import soonest

LONGEST_VALUE = 4096  # characters of an attribute that a glob is matched against
TEXTS = frozenset({"error", "reason", "message"})
TEXT = "text"  # any of these, whatever the kind of event calls it
CODE = "code"  # the gRPC code of these: that of the call itself, where its description quotes another
UNSAID = ("component", "version")  # what a line does not say of these may be what is asked for
_OF_WHOM = frozenset(UNSAID)
SPECIAL = frozenset({TEXT, CODE, *UNSAID})
MOST_GLOBS = 4096  # lists of globs that are kept compiled
_WILD = frozenset("*?[")
_CHOICE = frozenset("?[")
_CODE = lazy_regex(r"\bcode = ([A-Za-z]{2,18}) desc\b")


class Told(Protocol):
    """What a line told: an event, or its words before there is one."""

    @property
    def attrs(self) -> Mapping[str, str]:
        """What it said beside names."""

    def value(self, name: str) -> str:
        """The attribute of that name, else the name of that kind, else empty."""


ByKind = Mapping[str, Sequence[Event]]
Place = tuple[int, Origin]


def by_kind(events: Iterable[Event]) -> dict[str, list[Event]]:
    """Events divided by kind, each in the order that they came in."""
    divided: dict[str, list[Event]] = {}
    for event in events:
        kind = event.kind
        if kind in divided:
            divided[kind].append(event)
        else:
            divided[kind] = [event]
    return divided


class Selected(dict[str, tuple[Event, ...]]):
    """The events that each name in a rule stands for, in order; selected when they are asked for."""

    def __init__(self, selectors: Mapping[str, Selector], divided: ByKind) -> None:
        """`divided` are the events by kind."""
        super().__init__()
        self._selectors, self._divided = selectors, divided
        self._places: dict[str, list[Place]] = {}
        self._ends: dict[str, list[int]] = {}

    def __missing__(self, name: str) -> tuple[Event, ...]:
        """Select them."""
        selector, divided = self._selectors[name], self._divided
        series = [divided[kind] for kind in dict.fromkeys(selector.kinds) if kind in divided]
        found = series[0] if len(series) == 1 else sorted((e for events in series for e in events), key=place_of)
        said = self[name] = (
            tuple(event for event in found if _fits_all(selector, event))
            if selector.where or selector.any_of
            else (*found,)
        )
        return said

    def places(self, name: str) -> Sequence[Place]:
        """Where these events stand."""
        places = self._places.get(name)
        if places is None:
            places = self._places[name] = [place_of(event) for event in self[name]]
        return places

    def ends(self, name: str) -> Sequence[int]:
        """When the last of these events ended, up to each of them."""
        ends = self._ends.get(name)
        if ends is None:
            ends = self._ends[name] = list(accumulate((event.ends for event in self[name]), max))
        return ends

    def soonest(self, name: str, since: int) -> int | None:
        """The first moment from `since` on at which one of these events was going on; None if there is none."""
        return soonest(self[name], since)

    def but(self, others: Mapping[str, tuple[Event, ...]]) -> Selected:
        """The same but for some names."""
        made = Selected(self._selectors, self._divided)
        made.update(others)
        return made


def selects(selector: Selector, event: Event) -> bool:
    """Whether an event is one of those a name in a rule stands for."""
    return event.kind in selector.kinds and _fits_all(selector, event)


def may_stand_for(selector: Selector, told: Told) -> bool:
    """Whether a name may stand for what was told, of one of its kinds; of whom and which version is not looked at."""
    return _fits_all(selector, told, _OF_WHOM)


def unsaid(selector: Selector, events: Iterable[Event]) -> Iterator[Doubt]:
    """A doubt for each event that does not say whose it is, or of which version, where the name asks for one."""
    asked = [name for name in UNSAID if name in selector.where]
    for event in events if asked else ():
        for name in [one for one in asked if not event.value(one)][:1]:
            yield Doubt(Reason.UNSAID, text=str(event.origin), needed=name)


def asks_for_text(selector: Selector) -> bool:
    """Whether a name stands only for events that say something in particular."""
    return any(name in {TEXT, CODE, *TEXTS} for where in selector.conditions for name in where)


def _fits_all(selector: Selector, told: Told, passed: AbstractSet[str] = frozenset()) -> bool:
    """Whether all conditions hold but those on names that are `passed` over."""
    return _fits_where(selector.where, told, passed) and (
        not selector.any_of or any(_fits_where(where, told, passed) for where in selector.any_of)
    )


def _fits_where(where: Where, told: Told, passed: AbstractSet[str]) -> bool:
    for name, globs in where.items():  # a generator would take as long as what it asks
        if name in SPECIAL:
            if name not in passed and not _fits_special(name, told, globs):
                return False
        elif not _reader(globs)(told.value(name)[:LONGEST_VALUE]):
            return False
    return True


def _fits_special(name: str, told: Told, globs: tuple[str, ...]) -> bool:
    """Whether one of an event's texts matches and none is refused, or what it may well be of is not refused."""
    refusing = tuple(glob for glob in globs if glob.startswith("!"))
    if name in UNSAID:
        value = told.value(name)
        return _reader(globs if value else refusing)(value)
    if name == CODE:
        return _reader(globs)(code_of(told.attrs))
    values = [told.attrs[text][:LONGEST_VALUE] for text in sorted(TEXTS) if text in told.attrs]
    return any(map(_reader(globs), values)) and all(map(_reader(refusing), values))


def code_of(attrs: Mapping[str, str]) -> str:
    """Return the first gRPC code that a line's texts name, as `DeadlineExceeded`; empty where they name none."""
    found = (_CODE.search(attrs[text], 0, LONGEST_VALUE) for text in sorted(TEXTS) if text in attrs)
    return next((one.group(1) for one in found if one), "")


@lru_cache(maxsize=MOST_GLOBS)
def _reader(globs: tuple[str, ...]) -> Callable[[str], bool]:
    """Tell whether a value matches one of the globs and none of those that begin with `!`."""
    wanted = _any_of([glob for glob in globs if not glob.startswith("!")])
    refused = _any_of([glob[1:] for glob in globs if glob.startswith("!")])
    if refused is None:
        return wanted or (lambda _value: True)
    if wanted is None:
        return lambda value: not refused(value)
    return lambda value: wanted(value) and not refused(value)


def _any_of(globs: Sequence[str]) -> Callable[[str], bool] | None:
    """Tell whether a value matches one of the globs. Nearly all are words between stars: no regex looks for these."""
    if not globs:
        return None
    whole = frozenset(glob for glob in globs if not _WILD & set(glob))
    within = tuple(glob[1:-1] for glob in globs if _is_within(glob))
    rest = [glob for glob in globs if glob not in whole and not _is_within(glob)]
    chains = tuple(_chain(glob) for glob in rest if not _CHOICE & set(glob))
    choices = [translate(glob) for glob in rest if _CHOICE & set(glob)]
    regex = re.compile("|".join(choices)) if choices else None

    def fits(value: str) -> bool:
        if value in whole:
            return True
        for words in within:
            if words in value:
                return True
        for longest, start, middle, end in chains:
            if longest in value and _stands(start, middle, end, value):
                return True
        return regex is not None and regex.match(value) is not None

    return fits


def _chain(glob: str) -> tuple[str, str, tuple[str, ...], str]:
    """The longest words of a glob, and its words: before the first star, between stars, after the last."""
    start, *middle, end = glob.split("*")
    return max((start, *middle, end), key=len), start, tuple(words for words in middle if words), end


def _stands(start: str, middle: Sequence[str], end: str, value: str) -> bool:
    """Whether the words stand in a value in their order, none within another."""
    if not value.startswith(start):
        return False
    at = len(start)
    for words in middle:
        at = value.find(words, at) + len(words)
        if at < len(words):
            return False
    return len(value) - len(end) >= at and value.endswith(end)


def _is_within(glob: str) -> bool:
    """Whether it is `*words*`."""
    words = glob[1:-1]
    return glob == f"*{words}*" and words != "" and not _WILD & set(words)
