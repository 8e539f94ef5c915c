"""Logs that still grow → findings as soon as they are certain, and their ends.

Each input is read by a thread of its own; whenever something new was said, all of it is judged again. That takes longer
the more is known, so it is done at most every second and for at most a sixth of the time, unless a log has grown too
long: then the threads wait for an eviction. Of findings reported long ago a bounded number is remembered.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kvdiag.analysis.case import Case, Patterns
from kvdiag.analysis.retention.budget import EventBudget
from kvdiag.analysis.retention.findings import FindingRetention
from kvdiag.base.errors import InputError, UnexpectedError, skip_faults
from kvdiag.history.ingest.blocks import read_blocks
from kvdiag.history.ingest.log_reader import LogReader
from kvdiag.history.lifecycles.build import LifecycleBuilder
from kvdiag.inputs.folded import HEAD
from kvdiag.inputs.lines import LineMap
from kvdiag.inputs.live import Live
from kvdiag.inputs.scan.blocks import Block
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.model.options import Options
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History
from kvdiag.model.values import Verdict

PAUSE = 1.0  # seconds between two judgements
MAX_REPORTED = 10_000  # findings that are remembered when they are found no more
SHARE = 5  # how many times longer than it took to judge nothing is judged


class Change(NamedTuple):
    """A finding that has become certain, or one that is over.

    Also one that is only possible, when all inputs have ended or its events were evicted: no more will be known of it.
    """

    finding: Finding
    is_over: bool
    at: int


class Follower:
    """Reads all inputs at once. Raises PatternError, or UsageError for an unknown rule."""

    def __init__(self, options: Options, problem: Callable[[InputError], None]) -> None:
        """What cannot be opened goes to `problem`."""
        self._problem, self._case = problem, Case(options)
        self._judged = FindingRetention(self._case)
        self._budget = self._case.budget(self._judged)
        self._state = FollowState()
        opened = [self._thread(name) for name in options.paths or ("-",)]
        self._threads = [thread for thread in opened if thread is not None]
        self._reported: dict[str, Change] = {}
        self._silent: set[str] = set()  # keys of reported findings whose events were all evicted since

    def changes(self) -> Iterator[Change]:
        """Each change when it is known, until all inputs have ended; a file has no end."""
        gc.enable()  # it may run for weeks
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
            return InputThread(Live(name), self._case.patterns, self._problem, self._state, self._budget)
        except InputError as error:
            self._problem(error)
            return None

    def _changed(self, *, is_end: bool) -> Iterator[Change]:
        state, logs = self._state, [thread.log for thread in self._threads]
        with state.changed:
            self._budget.check([], *logs)
            state.has_news = state.is_full = False
            state.changed.notify_all()
            reads = [log.result() for log in logs]
        if not reads:
            return
        history = self._case.correlate(reads, self._case.clocks(reads, self._budget.clocks), self._budget.gap)
        findings = self._judged.all(self._case.findings(history))
        evicted = self._judged.forget()
        yield from self._started(findings, history, evicted, is_end=is_end)
        yield from self._ended(findings, history)
        self._remember({finding.key for finding in findings}, evicted)

    def _remember(self, found: AbstractSet[str], evicted: AbstractSet[str]) -> None:
        """Forget the oldest reported findings that are no longer found, beyond `MAX_REPORTED`."""
        self._silent = (self._silent - found) | evicted
        past = [key for key in self._reported if key not in found]
        for key in past[: max(0, len(past) - MAX_REPORTED)]:
            del self._reported[key]
            self._silent.discard(key)

    def _started(
        self, findings: Sequence[Finding], history: History, evicted: AbstractSet[str], *, is_end: bool
    ) -> Iterator[Change]:
        for finding in findings:
            before = self._reported.get(finding.key)
            is_new = before is None or (before.is_over and finding.ends > before.at)
            is_settled = (is_end or finding.key in evicted) and before is None
            if is_new and (finding.verdict is Verdict.CONFIRMED or is_settled):
                yield self._report(Change(finding, is_over=False, at=history.ends))

    def _ended(self, findings: Sequence[Finding], history: History) -> Iterator[Change]:
        """What is found no more was a transient; what befell a subject is over when that waits for nothing again."""
        lives, now = LifecycleBuilder(history), {finding.key: finding for finding in findings}
        for key, before in list(self._reported.items()):
            if before.is_over or (key in self._silent and key not in now):
                continue
            finding = now.get(key)
            if finding is None or _is_at_rest(finding, history, lives):
                yield self._report(Change(finding or before.finding, is_over=True, at=history.ends))

    def _report(self, change: Change) -> Change:
        self._reported.pop(change.finding.key, None)  # the last reported stands last
        self._reported[change.finding.key] = change._replace(finding=change.finding._replace(evidence=()))
        return change


class FollowState:
    """What the threads share. Whoever looks at it, or at a log, holds `changed`, and tells by it what is new."""

    def __init__(self) -> None:
        """No thread runs yet."""
        self.changed = threading.Condition()
        self.running = 0  # threads
        self.has_news = False  # something was read since the last judgement
        self.is_full = False  # a log has grown so long that events must be evicted before any goes on

    def wait_for_news(self) -> bool:
        """Wait until something was read; False when all inputs have ended."""
        with self.changed:
            while self.running and not self.has_news:
                self.changed.wait(PAUSE)  # so that Ctrl-C is heard on any system
            return bool(self.running)

    def rest(self, seconds: float) -> None:
        """Let the logs grow for so long, or until they must not, or all inputs have ended."""
        with self.changed:
            self.changed.wait_for(lambda: self.is_full or not self.running, seconds)


class InputThread(threading.Thread):
    """Reads one input into a log, block by block."""

    def __init__(
        self,
        live: Live,
        patterns: Patterns,
        problem: Callable[[InputError], None],
        state: FollowState,
        budget: EventBudget,
    ) -> None:
        """What cannot be read goes to `problem`; `budget` says how long a log may grow."""
        super().__init__(daemon=True)  # it may wait for ever
        self._live, self._problem, self._state, self._budget = live, problem, state, budget
        self._line_map = LineMap()
        self._reported_faults: set[str] = set()  # faults of kvdiag
        self.log = LogReader(
            live.name, live, patterns.vocabulary, make_scanner(patterns.vocabulary.literals), self._line_map
        )

    def start(self) -> None:
        """Count it as running before it runs."""
        with self._state.changed:
            self._state.running += 1
        super().start()

    def run(self) -> None:
        """Read to the end, if there is one."""
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
        """Take a block up, and wait while a log is too long."""
        state = self._state
        with state.changed:
            self.log.add(block)
            state.has_news = True
            state.is_full = state.is_full or self.log.load.exceeds(self._budget.most)
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
