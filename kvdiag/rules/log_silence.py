"""Detect a repeating line that stops without a success or another failure.

kubelet retries a failed operation after the backoff in the line; a poll repeats while nothing changes. If the log
continues well beyond the next expected line, either lines are missing or the fault is over. Such a log cannot prove
that the fault lasts until its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kvdiag.base.clock import MINUTE, SECOND, parse_duration
from kvdiag.model.doubt import Doubt, DoubtReason
from kvdiag.model.event import Event
from kvdiag.model.timeline import Coverage
from kvdiag.rules.chain_steps import count_occurrences

SLACK = 30 * SECOND  # a busy node may log this much later
MIN_REPEATS = 2  # occurrences that show that a line repeats
POLLED = MINUTE  # longest interval of polls; real ones are shorter
WAITS = "backoff"  # attribute with kubelet's wait before the next try


def silence_doubts(events: Sequence[Event], *, is_poll: bool, coverages: Sequence[Coverage]) -> Iterator[Doubt]:
    """Yield a doubt if the next line after these (in order of time) was due and is not in the log."""
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
    """Return how long a failed try took, estimated from the times of the lines."""
    took = [
        then.time - event.ends - (parse_duration(event.attrs.get(WAITS, "")) or 0) for event, then in pairwise(failures)
    ]
    return max((0, *took))


def _longest_gap(polls: Sequence[Event]) -> int:
    return max((then.time - event.ends for event, then in pairwise(polls)), default=0)


def _is_of(coverage: Coverage, event: Event) -> bool:
    return coverage.component == event.component and (not coverage.node or coverage.node == event.node)
