"""What must be kept of a log whose other events are let go, so that its clock and what it covers stay as they are.

The first and last words of each kind by each process say who was listened to, when and how closely; the events on both
sides of a New Year, and one every two months, which year it is; and the first of each id that another log may name too
how far the clocks are apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from kvdiag.clock import DAY
from kvdiag.correlate.testimony import SHARED, Testimony
from kvdiag.events.recognise import Sighting
from kvdiag.events.stamper import Speaker
from kvdiag.model.event import Ref

APART = 60 * DAY  # far less than the half year by which a New Year is told
MOST_SHARED = 1_000  # ids of one log; that most of them agree is enough


def landmarks(testimony: Testimony) -> frozenset[int]:
    """The lines of these events."""
    sightings = testimony.sightings
    edges = (sighting for edge in by_speaker(testimony) for sighting in edge)
    return frozenset(sighting.line for part in (edges, _turning(sightings), _shared(sightings)) for sighting in part)


def by_speaker(testimony: Testimony) -> Iterator[list[Sighting]]:
    """The first and last sighting of each kind by each process."""
    groups: dict[tuple[int, Speaker], list[Sighting]] = {}
    for sighting in testimony.sightings:
        key = (id(sighting[1][0]), sighting[4])
        group = groups.get(key)
        if group is None:
            groups[key] = [sighting, sighting]
        else:
            group[1] = sighting
    yield from groups.values()


def _turning(sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    """Neighbours of which the second is far from the one that was given last."""
    reached: int | None = None
    for before, after in pairwise(sightings):
        reached = before.stamp if reached is None else reached
        if abs(after.stamp - reached) > APART:
            yield before
            yield after
            reached = after.stamp


def _shared(sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    seen: set[Ref] = set()
    for sighting in sightings:
        new = [ref for ref in sighting.meaning.refs if ref.kind in SHARED and ref not in seen]
        if new:
            seen.update(new)
            yield sighting
        if len(seen) >= MOST_SHARED:
            return
