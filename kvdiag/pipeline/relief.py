"""Analysis in bounded memory: when more events are held than fit, what is over is judged and let go.

Everything read so far is joined and judged. Then only what goes on is kept: the newest quarter of the events, and of
each subject that has some of them the first events too, which say who it is and how it began. What is found no more
without the rest stays as it was found. An absence that lies in the part that was let go is a doubt from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kvdiag.clock import to_datetime
from kvdiag.correlate.clocks import SourceClock
from kvdiag.events.recognise import Heard, Sighting
from kvdiag.model.report import Finding
from kvdiag.model.timeline import Gap, History
from kvdiag.model.values import SubjectKind, Verdict
from kvdiag.pipeline.read import Log, Read

MOST = 200_000  # events: some 300 MB with their history
FIRST = 100  # events of a subject that say who it is and how it began
WHY = "older events were left out to spare memory"

NEVER = 1 << 62  # microseconds: no event is so late

Judge = Callable[[Sequence[Read]], tuple[History, Mapping[str, SourceClock], list[Finding]]]
Origins = frozenset[tuple[str, int]]


class Relief:
    """Asked after each block of a log; `judge` joins and judges what was read so far."""

    def __init__(self, judge: Judge) -> None:
        """Nothing was let go yet."""
        self._judge = judge
        self.left_out: Gap | None = None
        self.clocks: dict[str, SourceClock] = {}
        self._over = _Findings()  # of which nothing is left
        self._gone = _Findings()  # of which some is left: the part that is not
        self._floor = 0  # what stayed when events were let go last
        self._counted, self._held = 0, 0  # logs that were read to their end, and the events kept of them

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of it."""
        if self.left_out is None:
            return ()
        until = to_datetime(self.left_out.ends).strftime("%Y-%m-%d %H:%M:%S UTC")
        return (f"more than {MOST:,} events: what ended before {until} was judged as it was read; counts may be low",)

    def check(self, done: list[Read], *logs: Log) -> None:
        """Let events go, if `done` and the logs that are being read hold too many of them."""
        if self._size(done, logs) > max(MOST, 2 * self._floor):  # else all of it goes on
            self._relieve(done, logs)
            self._counted, self._held = 0, 0
            self._floor = self._size(done, logs)

    def _size(self, done: Sequence[Read], logs: Sequence[Log]) -> int:
        """How many events are held; each log that was read is counted once, since a bundle may have 100,000."""
        self._held += sum(len(read.testimony.sightings) for read in done[self._counted :])
        self._counted = len(done)
        return self._held + sum(log.size for log in logs)

    def _relieve(self, done: list[Read], logs: Sequence[Log]) -> None:
        history, clocks, findings = self._judge([*done, *(log.made() for log in logs)])
        self.clocks |= {source: clock for source, clock in clocks.items() if source not in self.clocks}
        times = sorted(event.ends for event in history.events)
        cut = times[len(times) * 3 // 4] if times else NEVER  # none of them is of the time that was asked for
        begins = self.left_out.begins if self.left_out else history.begins
        kept = _kept(history, findings, cut)
        for number, read in enumerate(done):
            done[number] = _lightened(read, clocks, cut, kept)
        for log in logs:
            clock = clocks[log.name]
            log.let_go(_Keeps(log.name, clock, cut, kept), _Keeps(log.name, clock, cut, frozenset()))
        if times:
            self.left_out = Gap(begins, cut, WHY)
        _, _, again = self._judge([*done, *(log.made() for log in logs)])
        self._note(findings, again)

    def _note(self, findings: Sequence[Finding], left: Sequence[Finding]) -> None:
        """Keep what is found no more, and of what still is how often it was in the part that is gone."""
        gone, self._gone, still = self._gone, _Findings(), _Findings(left)
        for finding in findings:
            whole = joined(gone.take(finding), finding)
            again = still.find(finding)
            if again is not None:
                self._gone.put(whole._replace(count=max(0, whole.count - again.count)), again.key)
            else:
                self._over.put(joined(self._over.take(whole), whole), whole.key)

    def all(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings of what was let go and those of what was left, each subject's of one rule as one."""
        over, gone = self._over.copy(), self._gone.copy()
        told = [joined(over.take(finding), joined(gone.take(finding), finding)) for finding in findings]
        return [*over, *told]


class _Keeps:
    """Whether an event of one log is new, or one of the first of a subject that goes on."""

    def __init__(self, source: str, clock: SourceClock, cut: int, kept: Origins) -> None:
        self._source, self._clock, self._cut, self._kept = source, clock, cut, kept

    def __call__(self, said: Sighting | Heard) -> bool:
        ends = said.more[1] if isinstance(said, Sighting) and said.more else said.stamp
        return self._clock.utc(ends, said.line) >= self._cut or (self._source, said.line) in self._kept


def _kept(history: History, findings: Sequence[Finding], cut: int) -> Origins:
    """Where that stands which is kept: the first events of subjects that go on, what proves a finding, a log's head."""
    going_on = [t for t in history.timelines.values() if t.events and max(e.ends for e in t.events) >= cut]
    first = {event.origin.source: event for event in reversed(history.events)}
    begun = [event for timeline in going_on for event in timeline.events[:FIRST]]
    events = [*first.values(), *begun, *(one.event for finding in findings for one in finding.evidence)]
    return frozenset((event.origin.source, event.origin.line) for event in events)


def _lightened(read: Read, clocks: Mapping[str, SourceClock], cut: int, kept: Origins) -> Read:
    testimony = read.testimony
    keeps = _Keeps(testimony.source, clocks[testimony.source], cut, kept)
    return read._replace(testimony=testimony._replace(sightings=[s for s in testimony.sightings if keeps(s)]))


def _is_same(one: Finding, other: Finding) -> bool:
    """Whether both are about the same; what node it is on may be learnt late."""
    nodes = one.subject.ids.get("node", ""), other.subject.ids.get("node", "")
    same = (one.rule.name, one.subject.kind) == (other.rule.name, other.subject.kind)
    if SubjectKind.NODE is one.subject.kind is other.subject.kind:
        return same and (one.subject.key == other.subject.key or not (one.subject.key and other.subject.key))
    return same and one.subject.key == other.subject.key and (nodes[0] == nodes[1] or not all(nodes))


class _Findings:
    """Findings to be found again by what they are about: there may be thousands."""

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._about: dict[tuple[object, ...], dict[str, Finding]] = {}
        for finding in findings:
            self.put(finding, finding.key)

    def __iter__(self) -> Iterator[Finding]:
        return (finding for group in self._about.values() for finding in group.values())

    def copy(self) -> _Findings:
        """Give the same, to be taken from."""
        made = _Findings()
        made._about = {about: dict(group) for about, group in self._about.items()}
        return made

    def put(self, finding: Finding, key: str) -> None:
        """Keep one by the key it is called by."""
        self._about.setdefault(_group(finding), {})[key] = finding

    def find(self, finding: Finding) -> Finding | None:
        """Give the first about the same."""
        return next((f for f in self._about.get(_group(finding), {}).values() if _is_same(f, finding)), None)

    def take(self, finding: Finding) -> Finding | None:
        """Give the one of that key, else the first about the same, and keep it no more."""
        group = self._about.get(_group(finding), {})
        same = finding.key if finding.key in group else next((k for k, f in group.items() if _is_same(f, finding)), "")
        return group.pop(same, None)


def _group(finding: Finding) -> tuple[object, ...]:
    """Give what two findings about the same have in common in any case; a node's name may be learnt late."""
    is_of_node = finding.subject.kind is SubjectKind.NODE
    return finding.rule.name, finding.subject.kind, "" if is_of_node else finding.subject.key


def joined(before: Finding | None, after: Finding) -> Finding:
    """One finding of two about the same subject: the words and proof of the one that began first, and both counts."""
    if before is None:
        return after
    first, second = (before, after) if before.begins <= after.begins else (after, before)
    return first._replace(
        subject=after.subject if len(after.subject.ids) >= len(before.subject.ids) else before.subject,
        ends=max(before.ends, after.ends),
        count=before.count + after.count,
        verdict=first.verdict if first.verdict is Verdict.CONFIRMED else second.verdict,
        evidence=(*first.evidence, *(e for e in second.evidence if e.event.time > first.ends)),
    )
