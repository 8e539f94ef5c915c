"""One step of a chain: how many events of its name there must be, how long they must last, in what they must differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter

from kvdiag.base.clock import SECOND, parse_duration
from kvdiag.model.event import Event
from kvdiag.model.rule import Chain, ChainStep, Rule
from kvdiag.rules.selection import TEXTS

FIRST_WAIT = SECOND // 2  # kubelet's after an operation failed once; doubled each time
LONGEST_WAIT = 122 * SECOND
WAITS, UNTIL = "backoff", "retry_at"  # what kubelet says of a volume operation that failed

# Which line an event is of. JSON in one line has all its entries in one place, so the place alone does not tell.
_line = itemgetter(*map(Event._fields.index, ("time", "origin", "logged")))


def match_step(
    step: ChainStep, series: tuple[Event, ...], begin: int, *, by_backoff: bool = False
) -> tuple[Event, ...]:
    """The fewest events from `begin` that satisfy the step, or none.

    How long kubelet waits after a failure proves that it failed before; `by_wait`, that counts as well.
    """
    if step.different:
        return _differing(step, series, begin)
    count, lines = 0, set()
    for end in range(begin, len(series)):
        event = series[end]
        line = _line(event)
        if line not in lines:
            lines.add(line)
            count += event.count
        tries, lasted = failures_before(event) if by_backoff else (0, 0)
        if max(count, tries) >= step.at_least and max(event.ends - series[begin].time, lasted) >= step.lasting:
            return series[begin : end + 1]
    return ()


def count_occurrences(events: Iterable[Event]) -> int:
    """How often lines tell what these events say; a line that says it in two ways says it once."""
    return sum({_line(event): event.count for event in events}.values())


def _differing(step: ChainStep, series: tuple[Event, ...], begin: int) -> tuple[Event, ...]:
    seen: set[str] = set()
    for end in range(begin, len(series)):
        seen.add(series[end].value(step.different))
        if len(seen - {""}) >= step.at_least and series[end].ends - series[begin].time >= step.lasting:
            return series[begin : end + 1]
    return ()


def failures_before(failure: Event) -> tuple[int, int]:
    """How often an operation has failed at least, and for how long, as kubelet's wait after this failure shows.

    It waits 500ms, 1s, 2s … 1m4s, 2m2s: after the ninth failure 2m2s, 127.5 s after the first at the soonest.
    """
    waits = parse_duration(failure.attrs[WAITS]) if UNTIL in failure.attrs and WAITS in failure.attrs else None
    if not waits or waits % FIRST_WAIT or waits > LONGEST_WAIT:
        return 0, 0
    tries, lasted, wait = 1, 0, FIRST_WAIT
    while wait < waits:
        tries, lasted, wait = tries + 1, lasted + wait, min(2 * wait, LONGEST_WAIT)
    return (tries, lasted) if wait == waits else (0, 0)


def needs_backoff(step: ChainStep, events: tuple[Event, ...]) -> bool:
    """Whether the events satisfy a step only because of failures that kubelet's wait proves and no line tells of."""
    return bool(not match_step(step, events, 0) and match_step(step, events, 0, by_backoff=True))


def can_use_backoff(chain: Chain, seen: Mapping[str, tuple[Event, ...]], rule: Rule) -> bool:
    """Whether failures before the first line may count: not where a time or a text is asked for that nobody knows."""
    if chain.within or not TEXTS.isdisjoint(rule.same):
        return False
    steps = (step for step in chain.steps if step.at_least > 1 or step.lasting)
    return any(WAITS in event.attrs for step in steps for event in seen[step.name])
