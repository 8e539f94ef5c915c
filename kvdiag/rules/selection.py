"""Which events a name in a rule stands for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from kvdiag.model.doubt import Doubt, Reason
from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.rule import Selector, Where

LONGEST_VALUE = 4096  # characters of an attribute that a glob is matched against
TEXTS = frozenset({"error", "reason", "message"})
TEXT = "text"  # any of these, whatever the kind of event calls it
UNSAID = ("component", "version")  # what a line does not say of these may be what is asked for
SPECIAL = frozenset({TEXT, *UNSAID})

ByKind = Mapping[str, Sequence[Event]]
Place = tuple[int, Origin]


def place_of(event: Event) -> Place:
    """Where an event stands in a history: ties in time go by the log, then by the line."""
    return (event.time, event.origin)


def by_kind(events: Iterable[Event]) -> dict[str, list[Event]]:
    """Events divided by kind, each in the order that they came in."""
    divided: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        divided[event.kind].append(event)
    return dict(divided)


class Selected(dict[str, tuple[Event, ...]]):
    """The events that each name in a rule stands for, in order; selected when they are asked for."""

    def __init__(self, selectors: Mapping[str, Selector], divided: ByKind) -> None:
        """`divided` are the events by kind."""
        super().__init__()
        self._selectors, self._divided = selectors, divided
        self._places: dict[str, list[Place]] = {}

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

    def but(self, others: Mapping[str, tuple[Event, ...]]) -> Selected:
        """The same but for some names."""
        made = Selected(self._selectors, self._divided)
        made.update(others)
        return made


def selects(selector: Selector, event: Event) -> bool:
    """Whether an event is one of those a name in a rule stands for."""
    return event.kind in selector.kinds and _fits_all(selector, event)


def unsaid(selector: Selector, events: Iterable[Event]) -> Iterator[Doubt]:
    """A doubt for each event that does not say whose it is, or of which version, where the name asks for one."""
    asked = [name for name in UNSAID if name in selector.where]
    for event in events if asked else ():
        for name in [one for one in asked if not event.value(one)][:1]:
            yield Doubt(Reason.UNSAID, text=str(event.origin), needed=name)


def asks_for_text(selector: Selector) -> bool:
    """Whether a name stands only for events that say something in particular."""
    return any(name == TEXT or name in TEXTS for where in selector.conditions for name in where)


def _fits_all(selector: Selector, event: Event) -> bool:
    return _fits_where(selector.where, event) and (
        not selector.any_of or any(_fits_where(where, event) for where in selector.any_of)
    )


def _fits_where(where: Where, event: Event) -> bool:
    return all(
        _fits(event.value(name), globs)
        if name not in SPECIAL
        else _fits_any([event.attrs[text] for text in sorted(TEXTS) if text in event.attrs], globs)
        if name == TEXT
        else _fits(event.value(name), globs if event.value(name) else _refusing(globs))
        for name, globs in where.items()
    )


def _fits_any(values: Sequence[str], globs: tuple[str, ...]) -> bool:
    """Whether one of the values matches, and none is refused."""
    refusing = _refusing(globs)
    return any(_fits(value, globs) for value in values) and all(_fits(value, refusing) for value in values)


def _refusing(globs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(glob for glob in globs if glob.startswith("!"))


def _fits(value: str, globs: tuple[str, ...]) -> bool:
    """Whether a value matches one of the globs and none of those that begin with `!`."""
    value = value[:LONGEST_VALUE]
    wanted = [glob for glob in globs if not glob.startswith("!")]
    refused = any(fnmatchcase(value, glob[1:]) for glob in globs if glob.startswith("!"))
    return not refused and (not wanted or any(fnmatchcase(value, glob) for glob in wanted))
