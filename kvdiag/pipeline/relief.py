"""Bounded memory: when more events are held than fit, those that are not needed any more are let go.

First those that lie outside the time that was asked for; nothing is lost with them. When the rest is still too much,
all of it is joined, and only what goes on is kept: the newest quarter of the events, and of the older ones those that
the command needs, which its `Keeper` names. An absence that lies in the part that was let go is a doubt from then on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from kvdiag.clock import DAY, HOUR, to_datetime
from kvdiag.correlate.clocks import SourceClock
from kvdiag.correlate.landmarks import landmarks
from kvdiag.correlate.testimony import Testimony
from kvdiag.events.recognise import Heard, Sighting
from kvdiag.model.event import Event
from kvdiag.model.timeline import Gap, History, Timeline
from kvdiag.model.values import NOTHING, SubjectKind
from kvdiag.pipeline.read import Log, Read

MOST = 200_000  # events: some 300 MB with their history
FIRST = 100  # events of a subject that say who it is and how it began
NEXT = "--since and --until say which time to look at"
WHY = "older events were left out to spare memory"
# Around the time that was asked for, as far as there is room: a clock may turn out to be of another zone, and a call
# may begin before that time and end in it.
MARGINS = (DAY, HOUR, 0)
ALWAYS = (-(1 << 62), 1 << 62)  # microseconds: no event is so early or so late

Span = tuple[int | None, int | None]
Clocks = Mapping[str, SourceClock]
Lines = Mapping[str, set[int]]


class Keeper(Protocol):
    """What a command needs of the events that are older than the newest quarter."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know once some were let go, with `{until}` for the time before which they lay."""

    @property
    def is_whole(self) -> bool:
        """Whether the answer is nevertheless as sure as it would be with all events."""

    def keep(self, history: History, cut: int) -> Iterable[Event]:
        """The events that must stay of those that ended before `cut`; the others are not seen again."""

    def left(self, history: Callable[[], History]) -> None:
        """Told when the others are gone; `history` joins what is left."""


class Relief:
    """Asked after each block of a log whether some of what was read must be let go.

    `clocks` and `join` make clocks and a history of what was read so far, `asked` is the time that was asked for.
    """

    def __init__(
        self,
        clocks: Callable[[Sequence[Read]], Clocks],
        join: Callable[[Sequence[Read]], History],
        keeper: Keeper,
        asked: Span = (None, None),
    ) -> None:
        """Nothing was let go yet."""
        self._clocks, self._join, self._keeper, self._asked = clocks, join, keeper, asked
        self.left_out: Gap | None = None
        self.clocks: Clocks = {}
        self._floor = 0  # what stayed when events were let go last
        self._counted, self._held = 0, 0  # logs that were read to their end, and the events kept of them

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of it."""
        if self.left_out is None:
            return ()
        until = to_datetime(self.left_out.ends).strftime("%Y-%m-%d %H:%M:%S UTC")
        return tuple(f"more than {MOST:,} events: {note.format(until=until)}" for note in self._keeper.notes)

    @property
    def gap(self) -> Gap | None:
        """When events are missing on which the answer would rest."""
        return None if self._keeper.is_whole else self.left_out

    @property
    def most(self) -> int:
        """How many events are held before some are let go: more than `MOST` where nearly all of them go on."""
        return max(MOST, 2 * self._floor)

    def check(self, done: list[Read], *logs: Log) -> None:
        """Let events go, if `done` and the logs that are being read hold too many of them."""
        most = self.most
        if self._size(done, logs) <= most:
            return
        held = _Held(done, logs)
        self.clocks = self._clocks(held.reads)
        for margin in MARGINS if self._asked != (None, None) else ():
            if held.size > most // 2:
                self._settle(margin)
                held.let_go(self.clocks, *_around(self._asked, margin))
        if held.size > most // 2:
            self._settle(0)
            self._cut(held)
        self._floor = held.size
        self._counted, self._held = 0, 0

    def _size(self, done: Sequence[Read], logs: Sequence[Log]) -> int:
        """How many events are held; each log that was read is counted once, since a bundle may have 100,000."""
        self._held += sum(len(read.testimony.sightings) for read in done[self._counted :])
        self._counted = len(done)
        return self._held + sum(log.size for log in logs)

    def _settle(self, margin: int) -> None:
        """Clocks that may turn out to be of another zone stay as they are, unless there is room to wait for that."""
        if margin < DAY:
            self.clocks = {source: clock.settled for source, clock in self.clocks.items()}

    def _cut(self, held: _Held) -> None:
        history = self._join(held.reads)
        ends = sorted(event.ends for event in history.events)
        if not ends:
            return
        cut = ends[len(ends) * 3 // 4]
        lines: dict[str, set[int]] = defaultdict(set)
        for event in self._keeper.keep(history, cut):
            lines[event.origin.source].add(event.origin.line)
        held.let_go(self.clocks, cut, ALWAYS[1], lines)
        self.left_out = Gap(self.left_out.begins if self.left_out else history.begins, cut, WHY)
        self._keeper.left(lambda: self._join(held.reads))


class _Held:
    """Events of logs that were read and of logs that are being read."""

    def __init__(self, done: list[Read], logs: Sequence[Log]) -> None:
        self._done, self._logs = done, logs

    @property
    def size(self) -> int:
        """How many there are."""
        return sum(log.size for log in self._logs) + sum(len(read.testimony.sightings) for read in self._done)

    @property
    def reads(self) -> list[Read]:
        """All of them."""
        return [*self._done, *(log.made() for log in self._logs)]

    def let_go(self, clocks: Clocks, since: int, until: int, lines: Lines = NOTHING) -> None:
        """Keep what lies in between, what stands on the lines, and what tells the clocks and the coverage."""

        def keeps(testimony: Testimony) -> _Keeps:
            named = lines.get(testimony.source, set())
            return _Keeps(clocks[testimony.source], since, until, named | landmarks(testimony))

        for number, read in enumerate(self._done):
            testimony = read.testimony
            self._done[number] = read._replace(testimony=testimony.keeping(keeps(testimony).is_kept))
        for log in self._logs:
            kept = keeps(log.made().testimony)
            log.let_go(kept.is_kept, kept.is_between)


class _Keeps(NamedTuple):
    """Whether an event of one log lies in a stretch of time, or on one of the lines."""

    clock: SourceClock
    since: int
    until: int
    lines: set[int]

    def is_kept(self, said: Sighting) -> bool:
        """Whether either is so."""
        return said.line in self.lines or self.is_between(said)

    def is_between(self, said: Sighting | Heard) -> bool:
        """Whether it lies in the stretch of time."""
        ends = said.more[1] if isinstance(said, Sighting) and said.more else said.stamp
        return self.clock.utc(ends, said.line) >= self.since and self.clock.utc(said.stamp, said.line) <= self.until


def _around(asked: Span, margin: int) -> tuple[int, int]:
    since, until = asked
    return (
        ALWAYS[0] if since is None else since - margin,
        ALWAYS[1] if until is None else until + margin,
    )


def lasting(history: History, cut: int) -> list[Timeline]:
    """The subjects of which something happened since `cut`."""
    return [t for t in history.timelines.values() if t.events and max(e.ends for e in t.events) >= cut]


def going_on(history: History, cut: int) -> Iterator[Event]:
    """The first events of the subjects that last: who they are and how they began."""
    still = lasting(history, cut)
    for timeline in still:
        yield from timeline.events[:FIRST]
    held = leases(history)
    for name in {timeline.subject.ids.get("pod", "") for timeline in still} & held.keys():
        yield from held[name][-FIRST:]


def leases(history: History) -> Mapping[str, list[Event]]:
    """By name of a pod where each that was called so was named first; without it a later one is taken for it."""
    held: dict[str, list[Event]] = defaultdict(list)
    for (kind, _), timeline in history.timelines.items():
        said = (event for event in timeline.events if event.ref("pod") and event.ref("pod_uid"))
        if kind is SubjectKind.POD and (first := next(said, None)):
            held[timeline.subject.ids.get("pod", "")].append(first)
    return {name: sorted(events, key=lambda event: event.time) for name, events in held.items()}
