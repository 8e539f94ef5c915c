"""Logs in, their events out, in order of time; in batches when there are more than are held at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kvdiag.analysis.case import Case
from kvdiag.analysis.retention.budget import RemainingHistory
from kvdiag.base.errors import InputError
from kvdiag.history.ingest.log_reader import Progress
from kvdiag.model.event import Event
from kvdiag.model.options import Options
from kvdiag.model.record import Origin
from kvdiag.model.timeline import History

EventCallback = Callable[[Event], None]


class EventListing(NamedTuple):
    """Whether anything was understood, what could not be read, and what else a person should know."""

    understood: bool
    problems: tuple[InputError, ...]
    notes: tuple[str, ...]


def list_events(options: Options, on_event: EventCallback, progress: Progress) -> EventListing:
    """Give each event to `tell`."""
    case, retention = Case(options), EventRetention(on_event)
    analysis = case.read(retention, progress=progress)
    retention.tell(analysis.history)
    understood = any(reading.records for reading in analysis.readings)
    return EventListing(understood, tuple(case.problems), analysis.notes)


class EventRetention:
    """Prints events before they are evicted."""

    notes: tuple[str, ...] = ("they are printed in batches, each sorted by time; sort the output by .time with jq",)
    is_whole = True

    def __init__(self, on_event: EventCallback) -> None:
        """Start with nothing printed; `tell` prints one event."""
        self._on_event = on_event
        self._printed: set[tuple[Origin, str]] = set()  # printed and still held
        self._cut = 0

    def retain(self, history: History, cut: int) -> tuple[()]:
        """Print what ended before `cut`; none of it is needed any more."""
        self.tell(history, cut)
        self._cut = cut
        return ()

    def on_evicted(self, history: RemainingHistory) -> None:
        """Remember what was printed and is held nevertheless."""
        self._printed = {(event.origin, event.kind) for event in history().events if event.ends < self._cut}

    def tell(self, history: History, until: int | None = None) -> None:
        """Print the events that ended before `until` (None: all) and were not printed yet."""
        for event in history.events:
            if (until is None or event.ends < until) and (event.origin, event.kind) not in self._printed:
                self._on_event(event)
