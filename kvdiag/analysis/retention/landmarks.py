"""Which events of a log must be kept to leave its clock and its coverage unchanged after an eviction.

The first and last events of each kind show the verbosity, those of each process when it logged. The events around a New
Year, and one every two months, determine the year. The first event with each id that other logs may contain shows how
far clocks differ.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from heapq import nlargest
from itertools import islice, pairwise

from kvdiag.base.clock import DAY, is_unanchored
from kvdiag.events.raw_events import RawEvent
from kvdiag.history.ingest.log_events import SHARED, LogEvents
from kvdiag.model.event import Ref

NAMING = SHARED | {"staging_path"}  # a staging path may differ from the one derived from the handle
APART = 60 * DAY  # far less than the half year by which a New Year is recognized
MOST_SHARED = 1_000  # ids of one log, enough for a majority
MOST_GROUPS = 2_000  # kinds and processes of one log; a node's log has fewer
MOST_TURNS = 100


def clock_and_coverage_lines(log: LogEvents) -> frozenset[int]:
    """Return the lines of these events."""
    raw_events = log.raw_events
    kinds = _edges(raw_events, lambda raw_event: (id(raw_event.match.entry), raw_event.process.node))
    processes = _edges(raw_events, lambda raw_event: (raw_event.match.entry.component, raw_event.process))
    return frozenset(
        one.line
        for part in (kinds, processes, islice(_turning(raw_events), MOST_TURNS), _shared(raw_events))
        for one in part
    )


def _edges(raw_events: Iterable[RawEvent], group: Callable[[RawEvent], Hashable]) -> Iterator[RawEvent]:
    """Yield the first and the last event of each group, for the groups with the latest events."""
    first: dict[Hashable, RawEvent] = {}
    last: dict[Hashable, RawEvent] = {}
    for raw_event in raw_events:
        key = group(raw_event)
        first.setdefault(key, raw_event)
        last[key] = raw_event
    groups = last if len(last) <= MOST_GROUPS else nlargest(MOST_GROUPS, last, key=lambda key: last[key].line)
    for key in groups:
        yield first[key]
        yield last[key]


def _turning(raw_events: Iterable[RawEvent]) -> Iterator[RawEvent]:
    """Yield pairs of neighbouring events, the second of which is far from the last one yielded."""
    reached: int | None = None
    for before, after in pairwise(one for one in raw_events if not is_unanchored(one.stamp)):
        reached = before.stamp if reached is None else reached
        if abs(after.stamp - reached) > APART:
            yield before
            yield after
            reached = after.stamp


def _shared(raw_events: Iterable[RawEvent]) -> Iterator[RawEvent]:
    seen: set[Ref] = set()
    for raw_event in raw_events:
        new = [ref for ref in raw_event.match.refs if ref.kind in NAMING and ref not in seen]
        if new:
            seen.update(new)
            yield raw_event
        if len(seen) >= MOST_SHARED:
            return
