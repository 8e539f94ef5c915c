"""Whether the absence of an event means anything: logs that fall silent, polls that end, containers that run again."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from signal import Signals
from typing import NamedTuple

from kvdiag.base.clock import MINUTE, SECOND, format_duration, parse_duration
from kvdiag.base.identity_cache import cached_by_identity
from kvdiag.model.event import Event
from kvdiag.model.report import Doubt, DoubtReason
from kvdiag.model.timeline import Coverage, Gap, History
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.chain_steps import count_occurrences

FINISHED = "container.finished"
RELIST = SECOND
"""kubelet polls the runtime once a second, so its lines cannot measure a shorter run."""
FROM_SIGNALS = 128
"""A program that a signal ended has this exit code plus the number of the signal."""


def run_values(events: Iterable[Event]) -> Mapping[str, str]:
    """Return the `signal` and the `duration` of the last container that ended, if these events show them."""
    started: dict[str, int] = {}
    values: dict[str, str] = {}
    for event in events:
        container = event.ref("container_id") or event.attrs.get("data", "")
        if event.kind != FINISHED:
            started[container] = event.time
            continue
        values = {"signal": signal_of(event.attrs.get("exit_code", ""))}
        if container in started:
            ran = event.time - started[container]
            values["duration"] = format_duration(ran) if ran > RELIST else "1s or less"
    return values


def signal_of(exit_code: str) -> str:
    """Return the name of the signal that an exit code means; empty if none."""
    number = int(exit_code) - FROM_SIGNALS if exit_code.isdigit() and len(exit_code) < 4 else 0
    return Signals(number).name if number in set(Signals) else ""


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


SETTLE = 30 * SECOND  # a log that ends sooner after the trigger cannot prove an absence


class Window(NamedTuple):
    """The time window that the logs must cover; `open_ended` if it extends to the end of the log."""

    begins: int
    ends: int
    open_ended: bool = False


def is_inside(event: Event, window: Window, after: Sequence[Event], before: Sequence[Event]) -> bool:
    """Return whether an event lies in a window. At exactly its border, the order of lines in the same log decides."""
    begun = event.ends > window.begins or (event.ends == window.begins and all(_may_follow(event, e) for e in after))
    return begun and (
        event.time < window.ends or (event.time == window.ends and all(_may_follow(e, event) for e in before))
    )


def _may_follow(event: Event, other: Event) -> bool:
    """Return whether an event of the same microsecond may have come after the other."""
    return event.origin.source != other.origin.source or event.origin.line > other.origin.line


def doubts(
    kinds: Iterable[str],
    window: Window,
    node: str,
    history: History,
    entries: Mapping[str, Entry],
) -> tuple[Doubt, ...]:
    """Return the reasons why the absence of the events is not proven; empty if one component's log proves it.

    One complete log is enough: a NodeUnstage that is missing from a complete driver log did not happen,
    whatever kubelet logs. If two programs can print a kind, such as containerd and CRI-O, only those with a log count.
    Of components without a log, the doubt names that of the first kind.
    """
    best: tuple[Doubt, ...] | None = None
    known, asked = _known_witnesses(entries), tuple(kinds)
    if asked not in known:
        known[asked] = list(dict.fromkeys((e.components, e.verbosity) for k in asked if (e := entries.get(k))))
    found: dict[tuple[tuple[str, ...], int], tuple[Doubt, ...]] = {}
    for components, verbosity in sorted(known[asked]):
        reasons = found[components, verbosity] = tuple(_unproven(components, verbosity, window, node, history))
        if not reasons:
            return ()
        if best is None or len(reasons) < len(best) or best[0].reason is DoubtReason.NO_LOG:
            best = reasons
    if best and best[0].reason is DoubtReason.NO_LOG:
        return next(found[one] for one in known[asked] if found[one][0].reason is DoubtReason.NO_LOG)
    return best or ()


@cached_by_identity
def _known_witnesses(_entries: Mapping[str, Entry]) -> dict[tuple[str, ...], list[tuple[tuple[str, ...], int]]]:
    """Return the components and verbosities by kinds of a vocabulary; the rules have some hundred sets of kinds."""
    return {}


def components_present(components: tuple[str, ...], node: str, history: History) -> tuple[str, ...]:
    """Return the components that have a log; the first component if none has."""
    present = tuple(one for one in components if history.coverage_of(one, node))
    return present or components[:1]


def _unproven(
    components: tuple[str, ...], verbosity: int, window: Window, node: str, history: History
) -> Iterator[Doubt]:
    for component in components_present(components, node, history):
        yield from min(
            (tuple(_reasons(coverage, verbosity, window)) for coverage in history.coverage_of(component, node)),
            key=len,
            default=(Doubt(DoubtReason.NO_LOG, component, window.begins),),
        )


def _reasons(coverage: Coverage, verbosity: int, window: Window) -> Iterator[Doubt]:
    name = coverage.component
    if coverage.is_events and (coverage.verbosity < verbosity or coverage.ends - window.begins < SETTLE):
        yield Doubt(DoubtReason.NO_LOG, name, window.begins)
        return
    if coverage.verbosity < verbosity:
        yield Doubt(DoubtReason.VERBOSITY, name, verbosity=verbosity, seen=coverage.verbosity)
    if coverage.begins > window.begins:
        yield Doubt(DoubtReason.BEGINS_LATE, name, coverage.begins, window.begins)
    watched = coverage.ends - window.begins
    if window.open_ended and watched < SETTLE:
        yield Doubt(DoubtReason.ENDS_SOON, name, window.begins, took=max(0, watched))
    elif not window.open_ended and coverage.ends < window.ends:
        yield Doubt(DoubtReason.ENDS_EARLY, name, coverage.ends, window.ends)
    for gap, doubt in _gap_doubts(coverage):
        if gap.begins < window.ends and gap.ends > window.begins:
            yield doubt


@cached_by_identity
def _gap_doubts(coverage: Coverage) -> Sequence[tuple[Gap, Doubt]]:
    """Return the gaps of a log, each with its doubt: a kubelet that restarts every minute has a thousand."""
    return [(gap, Doubt(DoubtReason.GAP, gap.component, gap.begins, text=gap.why)) for gap in coverage.gaps]
