"""What every command that reads logs works on: the patterns, and the logs as one history, in bounded memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from kvdiag.analysis.retention.budget import Clocks, EventBudget, RetentionPolicy
from kvdiag.analysis.wanted import is_sure_and_grave, wanted_findings
from kvdiag.analysis.window import outside
from kvdiag.base.clock import is_unanchored
from kvdiag.base.errors import InputError, UsageError, WindowError, skip_faults
from kvdiag.events.folder import built_in
from kvdiag.events.raw import EventMatch
from kvdiag.events.snapshots.fact import Snapshot
from kvdiag.events.vocabulary import EVENTS, Vocabulary, load_vocabulary
from kvdiag.history.correlate.clocks import SourceClock, set_clocks
from kvdiag.history.correlate.history import build_history
from kvdiag.history.correlate.incidents import incidents, of_input
from kvdiag.history.correlate.needed import Scope
from kvdiag.history.ingest.blocks import Input
from kvdiag.history.ingest.limit import TimeIsUpError, limited, unread
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.history.ingest.read import Hooks, Listen, LogRead, Progress, read_source
from kvdiag.inputs.paths import sources
from kvdiag.inputs.scan.choose import scanner
from kvdiag.inputs.source import Source
from kvdiag.model.options import Options
from kvdiag.model.report import Finding, Reading
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import Gap, History, SeenVersion
from kvdiag.model.values import EMPTY
from kvdiag.rules.demand import asked
from kvdiag.rules.findings import find
from kvdiag.rules.library import shelf
from kvdiag.rules.rank import rank
from kvdiag.rules.shelf import Shelf

if TYPE_CHECKING:
    from kvdiag.history.ingest.snapshots import SnapshotRead

Note = Callable[[InputError | str], None]  # takes what could not be read, and what else a person should know


class Patterns(NamedTuple):
    """The vocabulary with the raw lines of the rules, and the rules."""

    vocabulary: Vocabulary
    rules: Sequence[Rule]


class Analysis(NamedTuple):
    """A history with how it was read, before any rule was asked.

    `notes` tell the user what was evicted, `left_out` is when that was. `logs` is what it
    was made of, by their `clocks`.
    """

    history: History
    readings: tuple[Reading, ...]
    notes: tuple[str, ...] = ()
    left_out: Gap | None = None
    logs: tuple[LogEvents, ...] = ()
    clocks: Clocks = EMPTY


def load_patterns(options: Options) -> Patterns:
    """Load what comes with kvdiag and `--patterns`. Raises PatternError or, for an unknown `--rule`, UsageError."""
    own = options.patterns
    rules, vocabulary, current = _read_patterns(built_in(), *own) if own else _built_in_patterns(built_in())
    if options.rules:
        known = {name for head in rules.heads for name in (head.id, head.name)}
        unknown = [name for name in options.rules if name not in known]
        if unknown:
            raise UsageError(f"unknown rule {unknown[0]!r}; see `kvdiag rules list`")
        current = current.those(lambda head: not {head.id, head.name}.isdisjoint(options.rules))
    return Patterns(vocabulary, current)


def _read_patterns(first: Path, *folders: Path) -> tuple[Shelf, Vocabulary, Shelf]:
    """All rules, the vocabulary with their lines, and the rules that are not retired."""
    rules = shelf([first, *folders])
    vocabulary = load_vocabulary(first / EVENTS, [entry for head in rules.heads for entry in head.lines], folders)
    return rules, vocabulary, rules.those(lambda head: head.status != "retired")


@cache
def _built_in_patterns(folder: Path) -> tuple[Shelf, Vocabulary, Shelf]:
    """What comes with kvdiag stays as it is while a process lives: it is loaded once."""
    return _read_patterns(folder)


class Case:
    """What a command works on: what the user asked for, the patterns for it, and what could not be read."""

    def __init__(self, options: Options, patterns: Patterns | None = None, *, judges_only: bool = False) -> None:
        """Load the patterns unless they are given. Raises PatternError or, for an unknown `--rule`, UsageError.

        A command that `judges_only` looks at no events but those that its rules ask for.
        """
        self.options, self._judges_only = options, judges_only
        self.patterns = patterns or load_patterns(options)
        self.problems: list[InputError] = []

    def inputs(self) -> Iterator[Source]:
        """What the user named, and the files beside the logs that tell something."""
        return sources(self.options.paths, self.problems.append, _evidence)

    def budget(self, policy: RetentionPolicy) -> EventBudget:
        """The memory budget of a command that needs what `policy` retains."""
        return EventBudget(self, policy, (self.options.since, self.options.until))

    def read(
        self,
        policy: RetentionPolicy | None = None,
        given: Iterable[Input] | None = None,
        progress: Progress = lambda _source, _bytes: None,
        listen: Listen | None = None,
    ) -> Analysis:
        """Read all inputs, or those `given`, as one history; with a policy in bounded memory.

        What `listen` gives for a log hears its blocks.
        """
        budget = self.budget(policy) if policy else None
        reads: list[LogRead] = []
        filed: list[SnapshotRead] = []
        hooks = Hooks(partial(budget.check, reads) if budget else None, listen)
        self._read_each(self.inputs() if given is None else given, reads, filed, progress, hooks)
        known, gap = (budget.clocks, budget.gap) if budget else (EMPTY, None)
        clocks = self.clocks(reads, known)
        history = self.correlate(reads, clocks, gap, filed, kinds=self._kinds(reads))
        readings = tuple(_readings(reads, clocks))
        self.problems.extend(outside(readings, history, self.options))
        readings = (*readings, *(file.reading for file in filed))
        logs = tuple(read.log for read in reads)
        notes, left_out = (budget.notes, budget.left_out) if budget else ((), None)
        return Analysis(history, readings, notes, left_out, logs, clocks)

    def clocks(self, reads: Sequence[LogRead], known: Clocks) -> Clocks:
        """The clocks of what was read so far; the `known` ones, which evictions relied on, stay as they are."""
        logs = [read.log for read in reads]
        clocks: dict[str, SourceClock] = {}
        of = incidents(logs)
        for incident in dict.fromkeys(of.values()) or ("",):
            own = [log for log in logs if of.get(log.source, "") == incident]
            clocks.update(set_clocks(own, year=self.options.year, zone=self.options.zone, known=known))
        return clocks

    def correlate(
        self,
        reads: Sequence[LogRead],
        clocks: Clocks,
        gap: Gap | None = None,
        filed: Sequence[SnapshotRead] = (),
        kinds: frozenset[str] | None = None,
    ) -> History:
        """Correlate all that was read into one history; `gap`, the evicted stretch, is one in its coverage.

        With `kinds` only what tells of these, or who is who.
        """
        whole = self._correlate(reads, clocks, gap, filed, kinds)
        of = incidents([read.log for read in reads])
        apart = {}
        for incident in dict.fromkeys(of.values()):
            own = [read for read in reads if of[read.log.source] == incident]
            beside = [file for file in filed if of_input(file.standing.source, of) == incident]
            apart[incident] = self._correlate(own, clocks, gap, beside, kinds)
        return whole._replace(incidents=apart) if apart else whole

    def _correlate(
        self,
        reads: Sequence[LogRead],
        clocks: Clocks,
        gap: Gap | None,
        filed: Sequence[SnapshotRead],
        kinds: frozenset[str] | None,
    ) -> History:
        """Correlate logs of one incident."""
        options = self.options
        given = [SeenVersion(name, version.removeprefix("v"), "option") for name, version in options.components.items()]
        scope = Scope(options.since, options.until, kinds)
        standing = [file.standing for file in filed]
        standing += [Snapshot(read.log.source, read.facts, read.log.place) for read in reads if read.facts]
        spans = _spans(reads, self.patterns.vocabulary)
        history = build_history([read.log for read in reads], clocks, spans, given, scope, standing)
        if gap:
            history = history._replace(coverage=tuple(c._replace(gaps=(gap, *c.gaps)) for c in history.coverage))
        return history

    def _kinds(self, reads: Sequence[LogRead]) -> frozenset[str] | None:
        """The kinds that a rule asks for which can hold in these logs; None where the command looks at all."""
        if not self._judges_only:
            return None
        told: dict[str, set[EventMatch]] = defaultdict(set)
        for raw_event in chain.from_iterable(read.log.raw_events for read in reads):
            match = raw_event[1]
            told[match.entry.kind].add(match)
        return asked(self.patterns.rules, told)

    def ranked(self, history: History) -> list[Finding]:
        """What the rules find of the verdict and severity that the user wants, ranked, about whatever subject."""
        if history.incidents:
            return [_of(folder, one) for folder, own in history.incidents.items() for one in self.ranked(own)]
        findings = find(self.patterns.rules, history, self.patterns.vocabulary.kinds)
        return rank([one for one in findings if is_sure_and_grave(one, self.options)], history)

    def findings(self, history: History) -> list[Finding]:
        """What the rules find and the user wants, ranked."""
        return wanted_findings(self.ranked(history), self.options, history)

    def again(self, history: History, rules: Sequence[Rule]) -> list[Finding]:
        """What these rules find, in no order and whatever explains it."""
        if history.incidents:
            return [_of(folder, one) for folder, own in history.incidents.items() for one in self.again(own, rules)]
        findings = find(rules, history, self.patterns.vocabulary.kinds)
        return [one for one in findings if is_sure_and_grave(one, self.options)]

    def _read_each(
        self,
        given: Iterable[Input],
        reads: list[LogRead],
        filed: list[SnapshotRead],
        progress: Progress,
        hooks: Hooks,
    ) -> None:
        """Fill `reads` and `filed`, one by one: what was read stays when the time is up."""
        vocabulary, scan = self.patterns.vocabulary, scanner(self.patterns.vocabulary.literals)
        sought, taken = iter(given), _Taken(progress, self.options.limit)
        try:
            with limited(self.options.limit):
                for source in sought:
                    taken.begin(source)
                    with skip_faults(source.name, self.problems.append):
                        log = _log_of(source, filed)
                        if log is not None:
                            for read in read_source(log, vocabulary, scan, self.problems.append, taken.add, hooks):
                                reads.append(read)  # noqa: PERF402 (one by one: evictions change what stands in it)
                    taken.end()
        except TimeIsUpError:
            options = self.options
            self.problems.extend(unread(taken.source, taken.size, sought, options.paths, options.limit or 0))


def _of(folder: str, finding: Finding) -> Finding:
    """A finding of one of several incidents: its key is none of another's."""
    above = finding.explained_by
    return finding._replace(folder=folder, explained_by=f"{above}#{folder}" if above else None)


class _Taken:
    """Which input is being read, and how many bytes of it were."""

    def __init__(self, progress: Progress, seconds: float | None) -> None:
        self._progress = progress
        self._ends = monotonic() + seconds if seconds else inf  # for a thread, which no signal interrupts
        self.source: Input | None = None
        self.size = 0

    def begin(self, source: Input) -> None:
        """Another input is read."""
        self.source, self.size = source, 0

    def add(self, name: str, size: int) -> None:
        """So many bytes more of a log in it were read. Raises TimeIsUpError when the time is up."""
        if monotonic() > self._ends:
            raise TimeIsUpError
        self.size += size
        self._progress(name, size)

    def end(self) -> None:
        """It was read to its end."""
        self.source = None


def read_history(given: Iterable[Input], patterns: Patterns, options: Options) -> Analysis:
    """The history of these inputs, whatever memory it takes; what could not be read is not told."""
    return Case(options, patterns).read(given=given)


def _log_of(source: Input, filed: list[SnapshotRead]) -> Input | None:
    """The log in an input; a file beside the logs, which may have one below its table, is added to `filed`."""
    if not (isinstance(source, Source) and source.evidence):
        return source
    from kvdiag.history.ingest.snapshots import read_file

    filed.append(file := read_file(source))
    return file.log


def _evidence(name: str, head: bytes) -> str:
    from kvdiag.events.snapshots.readers import evidence_in

    return evidence_in(name, head)


def _spans(reads: Sequence[LogRead], vocabulary: Vocabulary) -> Mapping[str, set[str]]:
    """By component the version ranges of every wording that was seen."""
    spans: dict[str, set[str]] = defaultdict(set)
    for number in {number for read in reads for number in read.log.wordings}:
        for component, text in vocabulary.wordings[number].since.items():
            spans[component].add(text)
    return spans


def _readings(reads: Sequence[LogRead], clocks: Mapping[str, SourceClock]) -> Iterator[Reading]:
    for read in reads:
        log, survey = read.log, read.survey
        clock, outputs = clocks[log.source], len({fact.line for fact in read.facts})
        edges = ((log.first, 0), (log.last, log.lines))  # neither need be the oldest or the newest
        span = [clock.utc(stamp, line) for stamp, line in edges if stamp is not None]
        span += [time for time in (clock.span(log.raw_events) if log.raw_events else ()) if not is_unanchored(time)]
        yield Reading(
            source=log.source,
            format=survey.format,
            component=log.component,
            lines=survey.lines,
            records=survey.records,
            recognised=read.recognised + outputs,
            unread=max(0, survey.unread - outputs),
            truncated=survey.truncated,
            begins=min(span, default=None),
            ends=max(span, default=None),
            clock=clock.says,
            node=survey.node or log.place.node,
            sampled=survey.sampled,
        )


def read_noted(case: Case, policy: RetentionPolicy, note: Note) -> History:
    """The history of a command's inputs; what could not be read and notes for the user go to `note`.

    Raises WindowError when nothing was logged in the time that was asked for.
    """
    analysis = case.read(policy)
    empty = [problem for problem in case.problems if isinstance(problem, WindowError)]
    for problem in case.problems:
        if problem not in empty:
            note(problem)
    for words in analysis.notes:
        note(words)
    if empty:
        raise empty[0]
    return analysis.history
