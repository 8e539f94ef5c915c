"""Match one step of a chain: a minimum number of events that last long enough or differ in a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter

from kvdiag.base.clock import SECOND, parse_duration
from kvdiag.model.event import Event
from kvdiag.model.rule import Chain, ChainStep, Rule
from kvdiag.rules.selection import TEXTS

FIRST_WAIT = SECOND // 2  # kubelet's first backoff of a volume operation; it doubles each time
LONGEST_WAIT = 122 * SECOND
WAITS, UNTIL = "backoff", "retry_at"  # attributes of a failed volume operation

# The identity of an event's line. One line of JSON may contain several entries, so its place alone is not enough.
_line = itemgetter(*map(Event._fields.index, ("time", "origin", "text_at")))


def match_step(
    step: ChainStep, series: tuple[Event, ...], begin: int, *, by_backoff: bool = False, until: int | None = None
) -> tuple[Event, ...]:
    """Return the fewest events from `begin` that satisfy the step, or an empty tuple.

    With `by_backoff`, earlier failures that are proven by kubelet's backoff count too. Of a repeated event only its
    share `until` that time counts.
    """
    if step.different:
        return _differing(step, series, begin)
    if step.at_least <= 1 and not step.lasting:
        return series[begin : begin + 1]
    count, lines = 0, set()
    for end in range(begin, len(series)):
        event = series[end]
        line = _line(event)
        if line not in lines:
            lines.add(line)
            count += event.count if until is None else _count_until(event, until)
        tries, lasted = failures_before(event) if by_backoff else (0, 0)
        if max(count, tries) >= step.at_least and max(event.ends - series[begin].time, lasted) >= step.lasting:
            return series[begin : end + 1]
    return ()


def _count_until(event: Event, until: int) -> int:
    """Return how often a repeated event occurred up to a time, as if its repeats had equal distances."""
    if event.count < 2 or event.ends <= until:
        return event.count
    return 1 + (event.count - 1) * max(0, until - event.time) // (event.ends - event.time)


def count_occurrences(events: Iterable[Event]) -> int:
    """Return how many times the events occurred; two events of the same line count once."""
    return sum({_line(event): event.count for event in events}.values())


def _differing(step: ChainStep, series: tuple[Event, ...], begin: int) -> tuple[Event, ...]:
    seen: set[str] = set()
    for end in range(begin, len(series)):
        seen.add(series[end].value(step.different))
        if len(seen - {""}) >= step.at_least and series[end].ends - series[begin].time >= step.lasting:
            return series[begin : end + 1]
    return ()


def failures_before(failure: Event) -> tuple[int, int]:
    """Return how many failures, over which time, the backoff in this line proves.

    kubelet waits 500ms, 1s, 2s … 1m4s, 2m2s: 2m2s means at least nine failures over at least 127.5 s.
    """
    waits = parse_duration(failure.attrs[WAITS]) if UNTIL in failure.attrs and WAITS in failure.attrs else None
    if not waits or waits % FIRST_WAIT or waits > LONGEST_WAIT:
        return 0, 0
    tries, lasted, wait = 1, 0, FIRST_WAIT
    while wait < waits:
        tries, lasted, wait = tries + 1, lasted + wait, min(2 * wait, LONGEST_WAIT)
    return (tries, lasted) if wait == waits else (0, 0)


def needs_backoff(step: ChainStep, events: tuple[Event, ...]) -> bool:
    """Return whether the events satisfy the step only with earlier failures that no line shows."""
    return bool(not match_step(step, events, 0) and match_step(step, events, 0, by_backoff=True))


def can_use_backoff(chain: Chain, seen: Mapping[str, tuple[Event, ...]], rule: Rule) -> bool:
    """Return whether failures before the first line may count: not if the rule needs their time or their error text."""
    if chain.within or not TEXTS.isdisjoint(rule.same):
        return False
    steps = (step for step in chain.steps if step.at_least > 1 or step.lasting)
    return any(WAITS in event.attrs for step in steps for event in seen[step.name])
