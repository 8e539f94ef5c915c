"""Split folded polls where another event happened between their repeats.

An hour of waiting with one try in it is two waits, and only the second may have lasted to the end. The times of the
repeats are not stored; they are assumed to be evenly spaced.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from kvdiag.model.event import Event


def cut_polls(events: Sequence[Event]) -> list[tuple[Event, Event]]:
    """Return each event or piece of one in order, paired with the original event; empty if there are no polls."""
    for event in events:
        if event.count > 1:
            break
    else:
        return []
    times = [event.time for event in events]
    pairs: list[tuple[Event, Event]] = []
    for event in events:
        if event.count > 1:
            pairs.extend((piece, event) for piece in pieces(event, events, times))
        else:
            pairs.append((event, event))
    return sorted(pairs, key=lambda pair: (pair[0].time, pair[0].origin))


def pieces(poll: Event, events: Sequence[Event], times: Sequence[int]) -> Iterator[Event]:
    """Yield the pieces of one poll between events of other kinds; `times` are the times of `events`."""
    for cut in _moments(poll, events, times):
        lasted, repeats = poll.ends - poll.time, poll.count - 1
        before = 1 + (cut - poll.time) * repeats // lasted if cut > poll.time else 0
        if 0 < before < poll.count:
            until = min(poll.time + (before - 1) * lasted // repeats, cut - 1)
            restart = max(poll.time + before * lasted // repeats, cut + 1)
            yield poll._replace(ends=until, count=before)
            poll = poll._replace(time=restart, count=poll.count - before)
    yield poll


def _moments(poll: Event, events: Sequence[Event], times: Sequence[int]) -> Iterator[int]:
    """Return when other events happened during the poll."""
    first, last = bisect_right(times, poll.time), bisect_left(times, poll.ends)
    return (event.time for event in events[first:last] if event.kind != poll.kind)
