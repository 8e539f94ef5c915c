"""Follow growing logs: report each finding when it is confirmed, and when it is over.

Each input is read by its own thread. When something was read, all events are evaluated again, at most once per second
and for at most a sixth of the time, since this takes longer the more events there are. A followed log has no end: if
there are more than `MOST_HELD` events, the threads wait until the older half was evaluated and dropped. The number of
reported findings that are remembered is limited.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kvdiag.analysis.case import Case, Clocks, Patterns
from kvdiag.base.errors import InputError, UnexpectedError, skip_faults
from kvdiag.history.ingest.blocks import read_blocks
from kvdiag.history.ingest.log_reader import LineReaders, LogRead, LogReader
from kvdiag.history.lifecycles.build import LifecycleBuilder
from kvdiag.inputs.folded import HEAD
from kvdiag.inputs.lines import LineMap
from kvdiag.inputs.live import Live
from kvdiag.inputs.scan.blocks import Block
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.model.options import Options
from kvdiag.model.report import Finding
from kvdiag.model.timeline import Gap, History
from kvdiag.model.values import Verdict

MOST_HELD = 64_000  # events; of these an evaluation takes a few seconds
WHY = "older events were dropped"
PAUSE = 1.0  # seconds between two evaluations
MAX_REPORTED = 10_000  # reported findings that are remembered after they are no longer found
SHARE = 5  # the pause after an evaluation is this many times its duration, so it uses a sixth of the time


class Change(NamedTuple):
    """A finding that is confirmed now, or one that is over.

    A possible finding too, once all inputs have ended or its events are dropped: nothing more will be known about it.
    """

    finding: Finding
    is_over: bool
    at: int


class Follower:
    """Reads all inputs at once. Raises PatternError, or UsageError for an unknown rule."""

    def __init__(self, options: Options, problem: Callable[[InputError], None]) -> None:
        """Open the inputs; pass those that cannot be opened to `problem`."""
        self._problem, self._case = problem, Case(options)
        self._state = FollowState()
        opened = [self._thread(name) for name in options.paths or ("-",)]
        self._threads = [thread for thread in opened if thread is not None]
        self._reported: dict[str, Change] = {}
        self._clocks: Clocks = {}  # of the logs of which events were dropped
        self._dropped: Gap | None = None  # the time of the dropped events

    def changes(self) -> Iterator[Change]:
        """Yield changes as soon as they are known, until all inputs have ended; a file never ends."""
        gc.enable()  # the process may run for weeks
        for thread in self._threads:
            thread.start()
        while self._state.wait_for_news():
            begun = time.monotonic()
            yield from self._changed(is_end=False)
            self._state.rest(max(PAUSE, SHARE * (time.monotonic() - begun)))
        yield from self._changed(is_end=True)

    @property
    def understood(self) -> bool:
        """Whether any line of any input was recognized."""
        return any(thread.log.result().survey.records for thread in self._threads)

    def _thread(self, name: str) -> InputThread | None:
        try:
            return InputThread(Live(name), self._case.patterns, self._problem, self._state)
        except InputError as error:
            self._problem(error)
            return None

    def _changed(self, *, is_end: bool) -> Iterator[Change]:
        state, logs = self._state, [thread.log for thread in self._threads]
        with state.changed:
            state.has_news = False
            reads = [log.result() for log in logs]
        if not reads:
            return
        clocks = dict(self._case.clocks(reads))
        for source, clock in self._clocks.items():  # what showed year and zone may be dropped
            clocks[source] = clock._replace(turns=clocks[source].turns)
        history = self._case.correlate(reads, clocks)
        findings = self._case.findings(_with_gap(history, self._dropped))
        cut = _median(reads, clocks) if sum(log.size for log in logs) > MOST_HELD else None
        yield from self._started(findings, history, cut, is_end=is_end)
        yield from self._ended(findings, history)
        self._remember({finding.key for finding in findings})
        if cut is not None:
            self._drop(logs, clocks, Gap(self._dropped.begins if self._dropped else history.begins, cut, WHY))

    def _drop(self, logs: Sequence[LogReader], clocks: Clocks, gap: Gap) -> None:
        """Drop the events that ended before the end of the gap, and let the threads continue."""
        self._clocks, self._dropped = clocks, gap
        with self._state.changed:
            for log in logs:
                log.drop_before(gap.ends, clocks[log.name])
            self._state.is_full = False
            self._state.changed.notify_all()

    def _remember(self, found: AbstractSet[str]) -> None:
        """Forget the oldest reported findings that are no longer found, beyond `MAX_REPORTED`."""
        past = [key for key in self._reported if key not in found]
        for key in past[: max(0, len(past) - MAX_REPORTED)]:
            del self._reported[key]

    def _started(
        self, findings: Sequence[Finding], history: History, cut: int | None, *, is_end: bool
    ) -> Iterator[Change]:
        """Yield new findings; also possible ones if all their events ended before `cut`, since those are dropped."""
        for finding in findings:
            before = self._reported.get(finding.key)
            is_new = before is None or (before.is_over and finding.ends > before.at)
            is_settled = (is_end or (cut is not None and finding.ends < cut)) and before is None
            if is_new and (finding.verdict is Verdict.CONFIRMED or is_settled):
                yield self._report(Change(finding, is_over=False, at=history.ends))

    def _ended(self, findings: Sequence[Finding], history: History) -> Iterator[Change]:
        """Yield the end of findings that are no longer found, or whose subject waits for nothing any more."""
        lives, now = LifecycleBuilder(history), {finding.key: finding for finding in findings}
        for key, before in list(self._reported.items()):
            finding = now.get(key)
            is_dropped = self._dropped is not None and before.finding.ends < self._dropped.ends
            if before.is_over or (finding is None and is_dropped):
                continue
            if finding is None or _is_at_rest(finding, history, lives):
                yield self._report(Change(finding or before.finding, is_over=True, at=history.ends))

    def _report(self, change: Change) -> Change:
        self._reported.pop(change.finding.key, None)  # keep the order of reporting
        self._reported[change.finding.key] = change._replace(finding=change.finding._replace(evidence=()))
        return change


class FollowState:
    """The state that the threads share. Hold `changed` to read or change it or a log, and notify it of changes."""

    def __init__(self) -> None:
        """Start with no thread running."""
        self.changed = threading.Condition()
        self.running = 0  # number of running threads
        self.has_news = False  # something was read since the last evaluation
        self.is_full = False  # a log is full: events must be dropped before reading continues

    def wait_for_news(self) -> bool:
        """Wait until something was read; return False if all inputs have ended."""
        with self.changed:
            while self.running and not self.has_news:
                self.changed.wait(PAUSE)  # a timeout, so that Ctrl-C works on any system
            return bool(self.running)

    def rest(self, seconds: float) -> None:
        """Let the logs grow for some seconds, until one is full, or until all inputs have ended."""
        with self.changed:
            self.changed.wait_for(lambda: self.is_full or not self.running, seconds)


class InputThread(threading.Thread):
    """Reads one input into a log, block by block."""

    def __init__(
        self, live: Live, patterns: Patterns, problem: Callable[[InputError], None], state: FollowState
    ) -> None:
        """Open the input; unreadable parts are passed to `problem`."""
        super().__init__(daemon=True)  # the thread may wait for ever
        self._live, self._problem, self._state = live, problem, state
        self._line_map = LineMap()
        self._reported_faults: set[str] = set()  # faults of kvdiag
        vocabulary = patterns.vocabulary
        readers = LineReaders(vocabulary, make_scanner(vocabulary.literals))
        self.log = LogReader(live.name, live, readers, self._line_map)

    def start(self) -> None:
        """Count the thread as running before it runs."""
        with self._state.changed:
            self._state.running += 1
        super().start()

    def run(self) -> None:
        """Read to the end of the input, if there is one."""
        try:
            head = self._live.head(HEAD)
            with skip_faults(self._live.name, self._problem):
                for block in read_blocks(self._live.at(head), self._problem, self._line_map, most=len(head)):
                    self._add(block)
        finally:
            with self._state.changed:
                self.log.end()
                self._state.running -= 1
                self._state.changed.notify_all()

    def _add(self, block: Block) -> None:
        """Add a block, and wait while a log is full."""
        state = self._state
        with state.changed:
            self.log.add(block)
            state.has_news = True
            state.is_full = state.is_full or self.log.size > MOST_HELD
            state.changed.notify_all()
            while state.is_full:
                state.changed.wait()
        for fault in self.log.faults.keys() - self._reported_faults:
            self._reported_faults.add(fault)
            self._problem(UnexpectedError(self._live.name, fault, self.log.faults[fault]))


def _is_at_rest(finding: Finding, history: History, lives: LifecycleBuilder) -> bool:
    timeline = history.timelines.get((finding.subject.kind, finding.subject.key))
    if timeline is None:
        return False
    life = lives.build(timeline)
    return not life.waits_for and life.since > finding.ends


def _median(reads: Sequence[LogRead], clocks: Clocks) -> int:
    """Return the time (microseconds UTC) before which half of the events ended, or a little more."""
    ends = sorted(clocks[read.log.source].utc(one.ends, one.line) for read in reads for one in read.log.raw_events)
    return max(ends[len(ends) // 2], ends[0] + 1)


def _with_gap(history: History, gap: Gap | None) -> History:
    """Return the history with a gap in each coverage: what is missing there may have been dropped."""
    if gap is None:
        return history
    incidents = {folder: _with_gap(incident, gap) for folder, incident in history.incidents.items()}
    return history._replace(
        coverage=tuple(c._replace(gaps=(gap, *c.gaps)) for c in history.coverage), incidents=incidents
    )
