"""What is said again and again, and then no more: neither that it failed once more nor that it ended.

Kubelet waits after a failed operation as long as the line says, and tries again until it succeeds; a poll is repeated
while nothing changes. Where a log goes on well beyond the next one, lines are missing or what was said is over. That it
lasts until the end cannot be told from such a log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kvdiag.base.clock import MINUTE, SECOND, parse_duration
from kvdiag.model.doubt import Doubt, DoubtReason
from kvdiag.model.event import Event
from kvdiag.model.timeline import Coverage
from kvdiag.rules.chain_steps import count_occurrences

SLACK = 30 * SECOND  # a busy node is late
MIN_REPEATS = 2  # times that show that it comes again; what is tried but once is a fault of its own
POLLED = MINUTE  # polls come more often
WAITS = "backoff"  # the attribute of a failure that kubelet waits after


def silence_doubts(events: Sequence[Event], *, is_poll: bool, coverages: Sequence[Coverage]) -> Iterator[Doubt]:
    """Why the last of these (in time order) may not go on: the next of its kind was due, and is not there."""
    events = [event for event in events if event.kind == events[-1].kind and event.component == events[-1].component]
    if count_occurrences(events) < MIN_REPEATS:
        return
    last = events[-1]
    waits = POLLED if is_poll else parse_duration(last.attrs.get(WAITS, ""))
    if waits is None:
        return
    due = last.ends + waits + (_longest_gap(events) if is_poll else _longest_call(events)) + SLACK
    if any(coverage.ends > due for coverage in coverages if _is_of(coverage, last)):
        yield Doubt(DoubtReason.SILENCE, at=last.ends, took=waits, text=str(last.origin))


def _longest_call(failures: Sequence[Event]) -> int:
    """How long a try took that failed, as far as the times of the lines tell."""
    took = [
        then.time - event.ends - (parse_duration(event.attrs.get(WAITS, "")) or 0) for event, then in pairwise(failures)
    ]
    return max((0, *took))


def _longest_gap(polls: Sequence[Event]) -> int:
    return max((then.time - event.ends for event, then in pairwise(polls)), default=0)


def _is_of(coverage: Coverage, event: Event) -> bool:
    return coverage.component == event.component and (not coverage.node or coverage.node == event.node)
