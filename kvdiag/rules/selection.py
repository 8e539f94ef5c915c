"""Which events a name in a rule stands for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.rule import Selector

LONGEST_VALUE = 4096  # characters of an attribute that a glob is matched against

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
            tuple(event for event in found if _fits_all(selector, event)) if selector.where else (*found,)
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


def _fits_all(selector: Selector, event: Event) -> bool:
    return all(_fits(event.value(name), globs) for name, globs in selector.where.items())


def _fits(value: str, globs: tuple[str, ...]) -> bool:
    """Whether a value matches one of the globs and none of those that begin with `!`."""
    value = value[:LONGEST_VALUE]
    wanted = [glob for glob in globs if not glob.startswith("!")]
    refused = any(fnmatchcase(value, glob[1:]) for glob in globs if glob.startswith("!"))
    return not refused and (not wanted or any(fnmatchcase(value, glob) for glob in wanted))
