"""What events take in memory with their history, in bytes as measured: each so much, and more for each new name.

A log in which each line tells of another pod takes four times as much as one that tells always of the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvdiag.events.raw_events import RawEvent, RpcLine
from kvdiag.model.event import Event

EVENT = 1_000  # the raw_event, the event, its places in timelines
NAME = 1_000  # what is known of a name: the subject, its identities, its share of a timeline
LONG = 1_000  # bytes of a text whose values are worth counting: an error, a list of pods


class Load(NamedTuple):
    """How many events are held, and what they take in bytes."""

    events: int = 0
    size: int = 0

    def plus(self, other: Load) -> Load:
        """Both together."""
        return Load(self.events + other.events, self.size + other.size)

    def exceeds(self, most: Load) -> bool:
        """Whether there are more events, or they take more."""
        return self.events > most.events or self.size > most.size


class MemoryEstimate:
    """What was added takes; a name that was added before takes nothing more."""

    def __init__(self) -> None:
        """Nothing was added yet."""
        self._events, self._bytes = 0, 0
        self._names: set[object] = set()

    @property
    def load(self) -> Load:
        """All that was added."""
        return Load(self._events, self._bytes + NAME * len(self._names))

    def add(self, raw_events: Sequence[RawEvent]) -> None:
        """Events of a log: 0.4 µs each."""
        self._events += len(raw_events)
        self._bytes += sum(event_size(raw_event[3]) for raw_event in raw_events)
        for raw_event in raw_events:
            self._names.update(raw_event.match.naming)

    def add_rpc_lines(self, rpc_lines: Sequence[RpcLine]) -> None:
        """Lines of calls: each is kept, and may become an event."""
        self._events += len(rpc_lines)
        self._bytes += sum(2 * event_size(line.text) for line in rpc_lines)

    def add_event(self, event: Event) -> None:
        """One event of a history."""
        self._events += 1
        self._bytes += event_size(event.logged)
        self._names.update(event.refs)


def event_size(text: bytes | str) -> int:
    """The bytes that an event of this text takes: the text, and beside a long one its values."""
    size = len(text)
    return EVENT + (1 if size < LONG else 4) * size


def load_of(raw_events: Sequence[RawEvent]) -> Load:
    """What these events take."""
    weight = MemoryEstimate()
    weight.add(raw_events)
    return weight.load


def newest(events: Iterable[Event], size: int) -> int | None:
    """When the oldest of the last events ended that take so many bytes together; None where all of them do."""
    weight = MemoryEstimate()
    for event in sorted(events, key=lambda event: event.ends, reverse=True):
        weight.add_event(event)
        if weight.load.size > size:
            return event.ends
    return None
