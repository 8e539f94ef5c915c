"""List the events of logs in order of time; in batches if there are more than fit into memory."""

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
    """Whether any line was recognized, problems with inputs, and notes for the user."""

    understood: bool
    problems: tuple[InputError, ...]
    notes: tuple[str, ...]


def list_events(options: Options, on_event: EventCallback, progress: Progress) -> EventListing:
    """Call `on_event` for each event."""
    case, retention = Case(options), EventRetention(on_event)
    analysis = case.read(retention, progress=progress)
    retention.print_new(analysis.history)
    understood = any(reading.records for reading in analysis.readings)
    return EventListing(understood, tuple(case.problems), analysis.notes)


class EventRetention:
    """Prints events before they are evicted."""

    notes: tuple[str, ...] = ("they are printed in batches, each sorted by time; sort the output by .time with jq",)
    is_whole = True

    def __init__(self, on_event: EventCallback) -> None:
        """Start with nothing printed; `on_event` prints one event."""
        self._on_event = on_event
        self._printed: set[tuple[Origin, str]] = set()  # printed and still in memory
        self._cut = 0

    def retain(self, history: History, cut: int) -> tuple[()]:
        """Print the events that ended before `cut`, and keep none of them."""
        self.print_new(history, cut)
        self._cut = cut
        return ()

    def on_evicted(self, history: RemainingHistory) -> None:
        """Remember which events were printed and are still in memory."""
        self._printed = {(event.origin, event.kind) for event in history().events if event.ends < self._cut}

    def print_new(self, history: History, until: int | None = None) -> None:
        """Print the events that ended before `until` (None: all) and were not printed yet."""
        for event in history.events:
            if (until is None or event.ends < until) and (event.origin, event.kind) not in self._printed:
                self._on_event(event)
