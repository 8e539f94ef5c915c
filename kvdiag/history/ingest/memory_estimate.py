"""Estimate the memory of events with their history, from measurements: a constant each, and more for each new name.

A log with another pod in each line takes four times as much as one with always the same pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvdiag.events.raw_events import RawEvent, RpcLine
from kvdiag.model.event import Event

EVENT = 1_000  # bytes of the raw event, the event, its entries in timelines
NAME = 1_000  # bytes of a name: the subject, its identities, its share of a timeline
LONG = 1_000  # bytes of a text whose values are worth counting: an error, a list of pods


class Load(NamedTuple):
    """The number of events, and their size in bytes."""

    events: int = 0
    size: int = 0

    def plus(self, other: Load) -> Load:
        """Return the sum of both."""
        return Load(self.events + other.events, self.size + other.size)

    def exceeds(self, most: Load) -> bool:
        """Return whether events or size exceed the limit."""
        return self.events > most.events or self.size > most.size


class MemoryEstimate:
    """Estimates the memory of added events; a repeated name counts once."""

    def __init__(self) -> None:
        """Begin with zero."""
        self._events, self._bytes = 0, 0
        self._names: set[object] = set()

    @property
    def load(self) -> Load:
        """Return the load of all added events."""
        return Load(self._events, self._bytes + NAME * len(self._names))

    def add(self, raw_events: Sequence[RawEvent]) -> None:
        """Add events of a log: 0.4 µs each."""
        self._events += len(raw_events)
        self._bytes += sum(event_size(raw_event[3]) for raw_event in raw_events)
        for raw_event in raw_events:
            self._names.update(raw_event.match.naming)

    def add_rpc_lines(self, rpc_lines: Sequence[RpcLine]) -> None:
        """Add lines of calls: each is in memory, and may become an event."""
        self._events += len(rpc_lines)
        self._bytes += sum(2 * event_size(line.text) for line in rpc_lines)

    def add_event(self, event: Event) -> None:
        """Add one event of a history."""
        self._events += 1
        self._bytes += event_size(event.logged)
        self._names.update(event.refs)


def event_size(text: bytes | str) -> int:
    """Return the bytes of an event with this text; a long one has also long values."""
    size = len(text)
    return EVENT + (1 if size < LONG else 4) * size


def load_of(raw_events: Sequence[RawEvent]) -> Load:
    """Return the load of these events."""
    weight = MemoryEstimate()
    weight.add(raw_events)
    return weight.load


def newest(events: Iterable[Event], size: int) -> int | None:
    """Return the end of the oldest event such that the later ones take `size` bytes; None if all events fit."""
    weight = MemoryEstimate()
    for event in sorted(events, key=lambda event: event.ends, reverse=True):
        weight.add_event(event)
        if weight.load.size > size:
            return event.ends
    return None
