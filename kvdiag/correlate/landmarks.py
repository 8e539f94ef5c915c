"""What must be kept of a log whose other events are let go, so that its clock and what it covers stay as they are.

The first and last words of each kind say how closely was listened, those of each process when and to whom; the events
on both sides of a New Year, and one every two months, which year it is; and the first of each id that another log may
name too how far the clocks are apart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from heapq import nlargest
from itertools import islice, pairwise

from kvdiag.clock import DAY, is_adrift
from kvdiag.correlate.testimony import SHARED, Testimony
from kvdiag.events.recognise import Sighting
from kvdiag.model.event import Ref

NAMING = SHARED | {"staging_path"}  # a volume whose staging path is not the one that follows from its handle
APART = 60 * DAY  # far less than the half year by which a New Year is told
MOST_SHARED = 1_000  # ids of one log; that most of them agree is enough
MOST_GROUPS = 2_000  # kinds of events, and processes, of one log: those that spoke last; more are no node's
MOST_TURNS = 100


def landmarks(testimony: Testimony) -> frozenset[int]:
    """The lines of these events."""
    said = testimony.sightings
    kinds = _edges(said, lambda sighting: (id(sighting.meaning.entry), sighting.speaker.node))
    processes = _edges(said, lambda sighting: (sighting.meaning.entry.component, sighting.speaker))
    return frozenset(
        one.line for part in (kinds, processes, islice(_turning(said), MOST_TURNS), _shared(said)) for one in part
    )


def _edges(sightings: Iterable[Sighting], group: Callable[[Sighting], Hashable]) -> Iterator[Sighting]:
    """The first and the last of each group, of those that spoke last."""
    first: dict[Hashable, Sighting] = {}
    last: dict[Hashable, Sighting] = {}
    for sighting in sightings:
        key = group(sighting)
        first.setdefault(key, sighting)
        last[key] = sighting
    groups = last if len(last) <= MOST_GROUPS else nlargest(MOST_GROUPS, last, key=lambda key: last[key].line)
    for key in groups:
        yield first[key]
        yield last[key]


def _turning(sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    """Neighbours of which the second is far from the one that was given last."""
    reached: int | None = None
    for before, after in pairwise(one for one in sightings if not is_adrift(one.stamp)):
        reached = before.stamp if reached is None else reached
        if abs(after.stamp - reached) > APART:
            yield before
            yield after
            reached = after.stamp


def _shared(sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    seen: set[Ref] = set()
    for sighting in sightings:
        new = [ref for ref in sighting.meaning.refs if ref.kind in NAMING and ref not in seen]
        if new:
            seen.update(new)
            yield sighting
        if len(seen) >= MOST_SHARED:
            return
