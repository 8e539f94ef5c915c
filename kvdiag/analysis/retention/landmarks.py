"""What must be kept of a log whose other events are evicted, so that its clock and what it covers stay as they are.

The first and last words of each kind say how closely was listened, those of each process when and to whom; the events
on both sides of a New Year, and one every two months, which year it is; and the first of each id that another log may
name too how far the clocks are apart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from heapq import nlargest
from itertools import islice, pairwise

from kvdiag.base.clock import DAY, is_unanchored
from kvdiag.events.raw_events import RawEvent
from kvdiag.history.ingest.log_events import SHARED, LogEvents
from kvdiag.model.event import Ref

NAMING = SHARED | {"staging_path"}  # a volume whose staging path is not the one that follows from its handle
APART = 60 * DAY  # far less than the half year by which a New Year is told
MOST_SHARED = 1_000  # ids of one log; that most of them agree is enough
MOST_GROUPS = 2_000  # kinds of events, and processes, of one log: those that spoke last; more are no node's
MOST_TURNS = 100


def clock_and_coverage_lines(log: LogEvents) -> frozenset[int]:
    """The lines of these events."""
    raw_events = log.raw_events
    kinds = _edges(raw_events, lambda raw_event: (id(raw_event.match.entry), raw_event.process.node))
    processes = _edges(raw_events, lambda raw_event: (raw_event.match.entry.component, raw_event.process))
    return frozenset(
        one.line
        for part in (kinds, processes, islice(_turning(raw_events), MOST_TURNS), _shared(raw_events))
        for one in part
    )


def _edges(raw_events: Iterable[RawEvent], group: Callable[[RawEvent], Hashable]) -> Iterator[RawEvent]:
    """The first and the last of each group, of those that spoke last."""
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
    """Neighbours of which the second is far from the one that was given last."""
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
