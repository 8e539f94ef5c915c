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

from kvdiag.analysis.finding_filters import is_sure_and_grave, requested_findings
from kvdiag.analysis.retention.budget import Clocks, EventBudget, RetentionPolicy
from kvdiag.analysis.time_window import window_problems
from kvdiag.base.clock import is_unanchored
from kvdiag.base.errors import InputError, UsageError, WindowError, skip_faults
from kvdiag.events.pattern_folder import builtin_patterns
from kvdiag.events.raw_events import EventMatch
from kvdiag.events.snapshots.fact import Snapshot
from kvdiag.events.vocabulary import EVENTS, Vocabulary, load_vocabulary
from kvdiag.history.correlate.clocks import SourceClock, set_clocks
from kvdiag.history.correlate.event_filter import Scope
from kvdiag.history.correlate.history import build_history
from kvdiag.history.correlate.incidents import incident_of_input, incidents
from kvdiag.history.ingest.blocks import Input
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.history.ingest.log_reader import Hooks, ListenerFactory, LogRead, Progress, read_source
from kvdiag.history.ingest.time_limit import TimeIsUpError, limited, unread_errors
from kvdiag.inputs.paths import sources
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.inputs.source import Source
from kvdiag.model.options import Options
from kvdiag.model.report import Finding, Reading
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import Gap, History, SeenVersion
from kvdiag.model.values import EMPTY
from kvdiag.rules.findings import find
from kvdiag.rules.library import load_rule_store
from kvdiag.rules.rank import rank
from kvdiag.rules.required_kinds import required_kinds
from kvdiag.rules.rule_store import RuleStore

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
    folders = options.patterns
    rules, vocabulary, current = (
        _read_patterns(builtin_patterns(), *folders) if folders else _built_in_patterns(builtin_patterns())
    )
    if options.rules:
        known = {name for head in rules.summaries for name in (head.id, head.name)}
        unknown = [name for name in options.rules if name not in known]
        if unknown:
            raise UsageError(f"unknown rule {unknown[0]!r}; see `kvdiag rules list`")
        current = current.filter(lambda head: not {head.id, head.name}.isdisjoint(options.rules))
    return Patterns(vocabulary, current)


def _read_patterns(first: Path, *folders: Path) -> tuple[RuleStore, Vocabulary, RuleStore]:
    """All rules, the vocabulary with their lines, and the rules that are not retired."""
    rules = load_rule_store([first, *folders])
    vocabulary = load_vocabulary(first / EVENTS, [entry for head in rules.summaries for entry in head.lines], folders)
    return rules, vocabulary, rules.filter(lambda head: head.status != "retired")


@cache
def _built_in_patterns(folder: Path) -> tuple[RuleStore, Vocabulary, RuleStore]:
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
        make_listener: ListenerFactory | None = None,
    ) -> Analysis:
        """Read all inputs, or those `given`, as one history; with a policy in bounded memory.

        What `listen` gives for a log hears its blocks.
        """
        budget = self.budget(policy) if policy else None
        reads: list[LogRead] = []
        snapshot_reads: list[SnapshotRead] = []
        hooks = Hooks(partial(budget.check, reads) if budget else None, make_listener)
        self._read_each(self.inputs() if given is None else given, reads, snapshot_reads, progress, hooks)
        known, gap = (budget.clocks, budget.gap) if budget else (EMPTY, None)
        clocks = self.clocks(reads, known)
        history = self.correlate(reads, clocks, gap, snapshot_reads, kinds=self._required_kinds(reads))
        readings = tuple(_readings(reads, clocks))
        self.problems.extend(window_problems(readings, history, self.options))
        readings = (*readings, *(file.reading for file in snapshot_reads))
        logs = tuple(read.log for read in reads)
        notes, left_out = (budget.notes, budget.left_out) if budget else ((), None)
        return Analysis(history, readings, notes, left_out, logs, clocks)

    def clocks(self, reads: Sequence[LogRead], known: Clocks) -> Clocks:
        """The clocks of what was read so far; the `known` ones, which evictions relied on, stay as they are."""
        logs = [read.log for read in reads]
        clocks: dict[str, SourceClock] = {}
        incident_of = incidents(logs)
        for incident in dict.fromkeys(incident_of.values()) or ("",):
            incident_logs = [log for log in logs if incident_of.get(log.source, "") == incident]
            clocks.update(set_clocks(incident_logs, year=self.options.year, zone=self.options.zone, known=known))
        return clocks

    def correlate(
        self,
        reads: Sequence[LogRead],
        clocks: Clocks,
        gap: Gap | None = None,
        snapshot_reads: Sequence[SnapshotRead] = (),
        kinds: frozenset[str] | None = None,
    ) -> History:
        """Correlate all that was read into one history; `gap`, the evicted stretch, is one in its coverage.

        With `kinds` only what tells of these, or who is who.
        """
        history = self._correlate(reads, clocks, gap, snapshot_reads, kinds)
        incident_of = incidents([read.log for read in reads])
        by_incident = {}
        for incident in dict.fromkeys(incident_of.values()):
            incident_reads = [read for read in reads if incident_of[read.log.source] == incident]
            incident_files = [
                file for file in snapshot_reads if incident_of_input(file.snapshot.source, incident_of) == incident
            ]
            by_incident[incident] = self._correlate(incident_reads, clocks, gap, incident_files, kinds)
        return history._replace(incidents=by_incident) if by_incident else history

    def _correlate(
        self,
        reads: Sequence[LogRead],
        clocks: Clocks,
        gap: Gap | None,
        snapshot_reads: Sequence[SnapshotRead],
        kinds: frozenset[str] | None,
    ) -> History:
        """Correlate logs of one incident."""
        options = self.options
        given_versions = [
            SeenVersion(name, version.removeprefix("v"), "option") for name, version in options.components.items()
        ]
        scope = Scope(options.since, options.until, kinds)
        snapshots = [file.snapshot for file in snapshot_reads]
        snapshots += [Snapshot(read.log.source, read.facts, read.log.place) for read in reads if read.facts]
        spans = _spans(reads, self.patterns.vocabulary)
        history = build_history([read.log for read in reads], clocks, spans, given_versions, scope, snapshots)
        if gap:
            history = history._replace(coverage=tuple(c._replace(gaps=(gap, *c.gaps)) for c in history.coverage))
        return history

    def _required_kinds(self, reads: Sequence[LogRead]) -> frozenset[str] | None:
        """The kinds that a rule asks for which can hold in these logs; None where the command looks at all."""
        if not self._judges_only:
            return None
        values_by_kind: dict[str, set[EventMatch]] = defaultdict(set)
        for raw_event in chain.from_iterable(read.log.raw_events for read in reads):
            match = raw_event[1]
            values_by_kind[match.entry.kind].add(match)
        return required_kinds(self.patterns.rules, values_by_kind)

    def ranked(self, history: History) -> list[Finding]:
        """What the rules find of the verdict and severity that the user wants, ranked, about whatever subject."""
        if history.incidents:
            return [
                _with_folder(folder, one)
                for folder, incident_history in history.incidents.items()
                for one in self.ranked(incident_history)
            ]
        findings = find(self.patterns.rules, history, self.patterns.vocabulary.kinds)
        return rank([one for one in findings if is_sure_and_grave(one, self.options)], history)

    def findings(self, history: History) -> list[Finding]:
        """What the rules find and the user wants, ranked."""
        return requested_findings(self.ranked(history), self.options, history)

    def find_with(self, history: History, rules: Sequence[Rule]) -> list[Finding]:
        """What these rules find, in no order and whatever explains it."""
        if history.incidents:
            return [
                _with_folder(folder, one)
                for folder, incident_history in history.incidents.items()
                for one in self.find_with(incident_history, rules)
            ]
        findings = find(rules, history, self.patterns.vocabulary.kinds)
        return [one for one in findings if is_sure_and_grave(one, self.options)]

    def _read_each(
        self,
        given: Iterable[Input],
        reads: list[LogRead],
        snapshot_reads: list[SnapshotRead],
        progress: Progress,
        hooks: Hooks,
    ) -> None:
        """Fill `reads` and `filed`, one by one: what was read stays when the time is up."""
        vocabulary, scan = self.patterns.vocabulary, make_scanner(self.patterns.vocabulary.literals)
        remaining, counter = iter(given), _ReadCounter(progress, self.options.limit)
        try:
            with limited(self.options.limit):
                for source in remaining:
                    counter.begin(source)
                    with skip_faults(source.name, self.problems.append):
                        log = _log_of(source, snapshot_reads)
                        if log is not None:
                            for read in read_source(log, vocabulary, scan, self.problems.append, counter.add, hooks):
                                reads.append(read)  # noqa: PERF402 (one by one: evictions change what stands in it)
                    counter.end()
        except TimeIsUpError:
            options = self.options
            self.problems.extend(
                unread_errors(counter.source, counter.size, remaining, options.paths, options.limit or 0)
            )


def _with_folder(folder: str, finding: Finding) -> Finding:
    """A finding of one of several incidents: its key is none of another's."""
    above = finding.explained_by
    return finding._replace(folder=folder, explained_by=f"{above}#{folder}" if above else None)


class _ReadCounter:
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


def _log_of(source: Input, snapshot_reads: list[SnapshotRead]) -> Input | None:
    """The log in an input; a file beside the logs, which may have one below its table, is added to `filed`."""
    if not (isinstance(source, Source) and source.evidence):
        return source
    from kvdiag.history.ingest.snapshots import read_file

    snapshot_reads.append(file := read_file(source))
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
            clock=clock.description,
            node=survey.node or log.place.node,
            sampled=survey.sampled,
        )


def read_with_notes(case: Case, policy: RetentionPolicy, note: Note) -> History:
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
