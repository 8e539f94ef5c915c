"""Bound the memory: if the budget is exceeded, evict events that are no longer needed.

The budget is `MAX_EVENTS` events or `MAX_BYTES` (`kvdiag.history.ingest.memory_estimate`), whichever is reached first.

Events outside the requested time are evicted first, which loses nothing. If the rest still exceeds half the budget, it
is correlated; then the newest eighth of the events (up to a quarter if there are few) and the older events selected by
the command's `RetentionPolicy` are kept. From then on, absences in the evicted time are not proven, so findings that
need them are only possible.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from kvdiag.analysis.retention.landmarks import clock_and_coverage_lines
from kvdiag.base.clock import DAY, HOUR, to_datetime
from kvdiag.events.raw_events import RawEvent, RpcLine
from kvdiag.history.correlate.clocks import SourceClock
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.history.ingest.log_reader import LogRead, LogReader
from kvdiag.history.ingest.memory_estimate import EVENT, Load, MemoryEstimate, load_of, newest
from kvdiag.model.event import Event
from kvdiag.model.timeline import Gap, History, Timeline
from kvdiag.model.values import EMPTY, SubjectKind

MAX_EVENTS = 64_000
MAX_BYTES = 256 << 20  # bytes of events, including their history
_TOO_MUCH = f"events that take more than {MAX_BYTES >> 20} MiB"
FEW = 5_000  # the newest events are kept up to this number, if they are at most a quarter of all
HEAD_EVENTS = 100  # first events of a subject, which identify it and show how it began
NEXT = "narrow the time with --since and --until"
WHY = "older events were dropped to limit memory"
ASSUMED = "events outside the requested time were dropped by a zone that was only assumed; give it with --tz"
# Around the time that was asked for, as far as there is room: a clock may turn out to be of another zone, and a call
# may begin before that time and end in it.
MARGINS = (DAY, HOUR, 0)
ALWAYS = (-(1 << 62), 1 << 62)  # microseconds, beyond every event

TimeSpan = tuple[int | None, int | None]
Clocks = Mapping[str, SourceClock]
LineNumbers = Mapping[str, set[int]]


class RetentionPolicy(Protocol):
    """What a command needs of the older events. The newest events are always kept."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user after an eviction; `{until}` is replaced by the time of the cut."""

    @property
    def is_whole(self) -> bool:
        """Whether the result is as certain as with all events, so that the eviction leaves no gap in coverage."""

    def retain(self, history: History, cut: int) -> Iterable[Event]:
        """Return the events to keep of those that ended before `cut` (microseconds UTC); the others are evicted."""

    def on_evicted(self, history: RemainingHistory) -> None:
        """Handle an eviction; calling `history` correlates the remaining events, which takes time."""


class RemainingHistory(Protocol):
    """Returns the history of the events that remain after an eviction."""

    def __call__(self, kinds: frozenset[str] | None = None) -> History:
        """Return the history; with `kinds` only events of these kinds and events that link identities."""


class Correlator(Protocol):
    """Sets clocks and builds a history from what was read so far; `known` clocks stay unchanged."""

    def clocks(self, reads: Sequence[LogRead], known: Clocks) -> Clocks:
        """Return the clocks of the logs."""

    def correlate(
        self, reads: Sequence[LogRead], clocks: Clocks, gap: Gap | None, *, kinds: frozenset[str] | None = None
    ) -> History:
        """Return the history with these clocks, of these `kinds` or of all; `gap` is part of its coverage."""


class EventBudget:
    """Evicts events if too many are in memory; checked after each block of a log.

    `correlator` builds the history for an eviction; `requested` is the requested time (since, until) in microseconds
    UTC, None if open.
    """

    def __init__(self, correlator: Correlator, policy: RetentionPolicy, requested: TimeSpan = (None, None)) -> None:
        """Start with nothing evicted."""
        self._correlator, self._policy, self._requested = correlator, policy, requested
        self.left_out: Gap | None = None
        self._too_many = ""
        self._is_assumed = False  # an assumed zone was fixed
        self._by_assumption = False  # events outside the requested time were evicted by an assumed zone
        self.clocks: Clocks = {}
        self._floor = Load()  # load after the last eviction
        self._counted, self._read_load = 0, Load()  # number of finished logs that were measured, and their load

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user: what was evicted and what may be missing; empty without an eviction."""
        assumed = (ASSUMED,) if self._by_assumption else ()
        if self.left_out is None:
            return assumed
        until = to_datetime(self.left_out.ends).strftime("%Y-%m-%d %H:%M:%S UTC")
        return (*assumed, *(f"{self._too_many}: {note.format(until=until)}" for note in self._policy.notes))

    @property
    def gap(self) -> Gap | None:
        """The evicted time as a gap in every coverage; None without one, or if the policy is whole."""
        return None if self._policy.is_whole else self.left_out

    @property
    def most(self) -> Load:
        """The load that causes an eviction: twice the load after the last one, at least `MAX_EVENTS` or `MAX_BYTES`."""
        return Load(max(MAX_EVENTS, 2 * self._floor.events), max(MAX_BYTES, 2 * self._floor.size))

    def check(self, reads: list[LogRead], *logs: LogReader) -> None:
        """Evict events if `reads` and the logs being read exceed the budget; `reads` is changed in place."""
        most = self.most
        if not self._load(reads, logs).exceeds(most):
            return
        half, held = Load(most.events // 2, most.size // 2), _HeldEvents(reads, logs)
        self.clocks = self._correlator.clocks(held.reads, self.clocks)
        for margin in MARGINS if self._requested != (None, None) else ():
            if held.load.exceeds(half):
                self._cut_around(held, margin)
        if held.load.exceeds(half):
            self._settle(0)
            self._cut(held)
        self._floor = held.load
        self._counted, self._read_load = 0, Load()

    def _load(self, reads: Sequence[LogRead], logs: Sequence[LogReader]) -> Load:
        """Return the current load; each finished log is measured once, since a bundle may have 100,000."""
        for read in reads[self._counted :]:
            self._read_load = self._read_load.plus(load_of(read.log.raw_events))
        self._counted = len(reads)
        return _sum(self._read_load, logs)

    def _settle(self, margin: int) -> None:
        """Fix clocks whose zone is only assumed, unless the margin allows for another zone."""
        if margin < DAY:
            self._is_assumed |= any(clock.is_unsure for clock in self.clocks.values())
            self.clocks = {source: clock.settled for source, clock in self.clocks.items()}

    def _cut_around(self, held: _HeldEvents, margin: int) -> None:
        before = held.load
        self._settle(margin)
        held.evict(self.clocks, *_around(self._requested, margin))
        self._by_assumption |= self._is_assumed and margin < DAY and held.load != before

    def _cut(self, held: _HeldEvents) -> None:
        history = self._history(held)
        if not history.events:
            return
        cut = _newest(history.events)
        held.evict(self.clocks, cut, ALWAYS[1], self._retained_lines(history, cut))
        self._too_many = f"more than {MAX_EVENTS:,} events" if len(history.events) > MAX_EVENTS else _TOO_MUCH
        self.left_out = Gap(self.left_out.begins if self.left_out else history.begins, cut, WHY)
        del history  # two histories do not fit into memory
        self._policy.on_evicted(partial(self._history, held))

    def _history(self, held: _HeldEvents, kinds: frozenset[str] | None = None) -> History:
        return self._correlator.correlate(held.reads, self.clocks, self.gap, kinds=kinds)

    def _retained_lines(self, history: History, cut: int) -> LineNumbers:
        """Return the lines that the command needs, at most a quarter of the memory."""
        lines: dict[str, set[int]] = defaultdict(set)
        weight = MemoryEstimate()
        for event in self._policy.retain(history, cut):
            if event.ends < cut and event.origin.line not in lines[event.origin.source]:
                weight.add_event(event)
                if weight.load.size <= MAX_BYTES // 4:
                    lines[event.origin.source].add(event.origin.line)
        return lines


class _HeldEvents:
    """Events of finished logs and of logs being read."""

    def __init__(self, reads: list[LogRead], logs: Sequence[LogReader]) -> None:
        self._reads, self._logs = reads, logs

    @property
    def load(self) -> Load:
        """Number of the events and their size in bytes."""
        total = Load()
        for read in self._reads:
            total = total.plus(load_of(read.log.raw_events))
        return _sum(total, self._logs)

    @property
    def reads(self) -> list[LogRead]:
        """All logs, including those being read."""
        return [*self._reads, *(log.result() for log in self._logs)]

    def evict(self, clocks: Clocks, since: int, until: int, lines: LineNumbers = EMPTY) -> None:
        """Keep the events in the time span, those on the lines, and those that determine clocks and coverage."""

        def filter_of(log: LogEvents) -> _EventFilter:
            numbers = lines.get(log.source, set())
            return _EventFilter(clocks[log.source], since, until, numbers | clock_and_coverage_lines(log))

        for number, read in enumerate(self._reads):
            self._reads[number] = read._replace(log=read.log.filtered(filter_of(read.log).is_kept))
        for reader in self._logs:
            event_filter = filter_of(reader.result().log)
            reader.evict(event_filter.is_kept, event_filter.is_between)


class _EventFilter(NamedTuple):
    """Whether an event of one log is in a time span or on one of the lines."""

    clock: SourceClock
    since: int
    until: int
    lines: set[int]

    def is_kept(self, raw_event: RawEvent) -> bool:
        """Return whether the event is in the time span or on one of the lines."""
        return raw_event.line in self.lines or self.is_between(raw_event)

    def is_between(self, timed: RawEvent | RpcLine) -> bool:
        """Return whether the event, with its repeats, is between `since` and `until`."""
        ends = timed.more[1] if isinstance(timed, RawEvent) and timed.more else timed.stamp
        return self.clock.utc(ends, timed.line) >= self.since and self.clock.utc(timed.stamp, timed.line) <= self.until


def _around(requested: TimeSpan, margin: int) -> tuple[int, int]:
    since, until = requested
    return (
        ALWAYS[0] if since is None else since - margin,
        ALWAYS[1] if until is None else until + margin,
    )


def _sum(total: Load, logs: Iterable[LogReader]) -> Load:
    for log in logs:
        total = total.plus(log.load)
    return total


def _newest(events: Sequence[Event]) -> int:
    """Return the end of the oldest event to keep: an eighth of all events, up to a quarter if they are few or large.

    Events that ended at the same time stay or go together; if they are nearly all events, they go.
    """
    ends = sorted(event.ends for event in events)
    most = max(len(ends) // 8, min(len(ends) // 4, FEW))
    cut = max(ends[-max(most, 1)], newest(events, MAX_BYTES // 4) or ALWAYS[0])
    return cut if bisect_left(ends, cut) >= len(ends) // 4 else cut + 1


def active_subjects(history: History, cut: int) -> list[Timeline]:
    """Return the subjects with events since `cut`."""
    return [t for t in history.timelines.values() if t.events and max(e.ends for e in t.events) >= cut]


def active_events(history: History, cut: int) -> Iterator[Event]:
    """Yield the first events of active subjects, which identify them and show how they began."""
    active = active_subjects(history, cut)
    first = _first(active)
    for timeline in active:
        yield from timeline.events[:first]
    named_first = first_named_events(history)
    for name in {timeline.subject.ids.get("pod", "") for timeline in active} & named_first.keys():
        yield from named_first[name][-HEAD_EVENTS:]


def _first(timelines: Sequence[Timeline]) -> int:
    """Return how many events of each subject are kept: `HEAD_EVENTS`, fewer if there are many subjects."""
    first = HEAD_EVENTS
    while first > 1 and sum(min(first, len(timeline.events)) for timeline in timelines) > MAX_BYTES // 8 // EVENT:
        first //= 2
    return first


def first_named_events(history: History) -> Mapping[str, list[Event]]:
    """Return by pod name the first event of each pod with that name, without which a later pod is mistaken for it."""
    events_by_name: dict[str, list[Event]] = defaultdict(list)
    for (kind, _), timeline in history.timelines.items():
        naming_events = (event for event in timeline.events if event.ref("pod") and event.ref("pod_uid"))
        if kind is SubjectKind.POD and (first := next(naming_events, None)):
            events_by_name[timeline.subject.ids.get("pod", "")].append(first)
    return {name: sorted(events, key=lambda event: event.time) for name, events in events_by_name.items()}
