"""Read logs for a command: load the patterns and build one history from all inputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import cache, partial
from itertools import chain
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from kvdiag.analysis.finding_filters import at_last_day, is_sure_and_grave, requested_findings, window_problems
from kvdiag.base.clock import is_age, is_unanchored
from kvdiag.base.errors import InputError, InputNote, UsageError, WindowError, skip_faults
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.base.processes import cores
from kvdiag.events.raw_events import EventMatch
from kvdiag.events.snapshots.fact import Snapshot
from kvdiag.events.vocabulary import EVENTS, Vocabulary, load_vocabulary
from kvdiag.history.correlate.clocks import SourceClock, set_clocks
from kvdiag.history.correlate.event_filter import Scope
from kvdiag.history.correlate.history import build_history
from kvdiag.history.correlate.incidents import incident_of_input, incidents
from kvdiag.history.ingest.blocks import Input
from kvdiag.history.ingest.input_reader import SIZE, SMALL, InputReader
from kvdiag.history.ingest.limits import LimitReachedError, TimeIsUpError, limited, unread_errors
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.history.ingest.log_reader import MAX_EVENTS, LineReaders, Listeners, LogRead, Progress
from kvdiag.inputs.paths import sources
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.inputs.source import Source
from kvdiag.model.options import Options
from kvdiag.model.report import Finding, Reading
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import History, SeenVersion
from kvdiag.model.values import EMPTY
from kvdiag.rules.findings import find
from kvdiag.rules.library import load_rule_store
from kvdiag.rules.rank import rank
from kvdiag.rules.required_kinds import kinds_of, rules_of_lines
from kvdiag.rules.rule_store import RuleStore

if TYPE_CHECKING:
    from kvdiag.history.ingest.snapshots import SnapshotRead

Note = Callable[[InputError], None]  # called with problems of inputs
Clocks = Mapping[str, SourceClock]
MOST_JOBS = 8  # processes by default: joining what they read takes one core as long as reading it takes eight
TOO_MANY = f"limit of {MAX_EVENTS:,} events reached"


class Patterns(NamedTuple):
    """The vocabulary, which includes the raw lines of the rules, and the rules."""

    vocabulary: Vocabulary
    rules: Sequence[Rule]


class Analysis(NamedTuple):
    """A history and how it was read, before rules are evaluated.

    `logs` and `clocks` are what the history was built from.
    """

    history: History
    readings: tuple[Reading, ...]
    logs: tuple[LogEvents, ...] = ()
    clocks: Clocks = EMPTY


def load_patterns(options: Options) -> Patterns:
    """Load the built-in patterns and `--patterns`. Raise PatternError, or UsageError for an unknown `--rule`."""
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
    """Return all rules, the vocabulary with their raw lines, and the rules that are not retired."""
    rules = load_rule_store([first, *folders])
    vocabulary = load_vocabulary(first / EVENTS, [entry for head in rules.summaries for entry in head.lines], folders)
    return rules, vocabulary, rules.filter(lambda head: head.status != "retired")


@cache
def _built_in_patterns(folder: Path) -> tuple[RuleStore, Vocabulary, RuleStore]:
    """Return the built-in patterns, loaded once per process."""
    return _read_patterns(folder)


class Case:
    """The options and patterns of a command, and the problems with its inputs."""

    def __init__(self, options: Options, patterns: Patterns | None = None, *, judges_only: bool = False) -> None:
        """Load the patterns unless they are given. Raise PatternError, or UsageError for an unknown `--rule`.

        With `judges_only`, events that no rule needs are left out.
        """
        self.options, self._judges_only = options, judges_only
        self.patterns = patterns or load_patterns(options)
        self.problems: list[InputError] = []
        self._possible_rules: list[Rule] | None = None  # if known
        self._reads: tuple[Sequence[LogRead], Sequence[SnapshotRead]] = ((), ())

    def inputs(self) -> Iterator[Source]:
        """Yield the user's inputs, and the snapshot files beside the logs."""
        return sources(self.options.paths, self.problems.append, _evidence)

    def read(
        self,
        given: Iterable[Input] | None = None,
        progress: Progress = lambda _source, _bytes: None,
        listeners: Listeners | None = None,
    ) -> Analysis:
        """Read all inputs, or those `given`, into one history; `listeners` get the blocks of each log besides."""
        reads: list[LogRead] = []
        snapshot_reads: list[SnapshotRead] = []
        self._read_each(self.inputs() if given is None else given, reads, snapshot_reads, progress, listeners)
        clocks = self.clocks(reads)
        rules = self._rules_of_lines(reads) if self._judges_only else None
        kinds = None if rules is None else kinds_of(rules)
        if not (snapshot_reads or any(read.facts for read in reads)):
            self._possible_rules = rules
        self._reads = reads, snapshot_reads
        history = self.correlate(reads, clocks, snapshot_reads, kinds=kinds)
        readings = tuple(_readings(reads, clocks))
        self.problems.extend(window_problems(readings, history, self.options))
        readings = (*readings, *(file.reading for file in snapshot_reads))
        logs = tuple(read.log for read in reads)
        return Analysis(history, readings, logs, clocks)

    def whole_history(self, analysis: Analysis) -> History:
        """Return the history of what was read with all its events, also those that no rule needs."""
        if not self._judges_only:
            return analysis.history
        reads, snapshot_reads = self._reads
        return self.correlate(reads, analysis.clocks, snapshot_reads)

    def clocks(self, reads: Sequence[LogRead]) -> Clocks:
        """Return the clocks of the logs."""
        logs = [read.log for read in reads]
        clocks: dict[str, SourceClock] = {}
        incident_of = incidents(logs)
        for incident in dict.fromkeys(incident_of.values()) or ("",):
            incident_logs = [log for log in logs if incident_of.get(log.source, "") == incident]
            clocks.update(set_clocks(incident_logs, year=self.options.year, zone=self.options.zone))
        return clocks

    def correlate(
        self,
        reads: Sequence[LogRead],
        clocks: Clocks,
        snapshot_reads: Sequence[SnapshotRead] = (),
        kinds: frozenset[str] | None = None,
    ) -> History:
        """Correlate everything that was read into one history.

        With `kinds`, keep only events of these kinds and events that link identities.
        """
        spans = [clocks[read.log.source].span(read.log.raw_events) for read in reads if read.log.raw_events]
        if spans:
            self.options = at_last_day(self.options, max(ends for _, ends in spans))
        history = self._correlate(reads, clocks, snapshot_reads, kinds)
        incident_of = incidents([read.log for read in reads])
        by_incident = {}
        for incident in dict.fromkeys(incident_of.values()):
            incident_reads = [read for read in reads if incident_of[read.log.source] == incident]
            incident_files = [
                file for file in snapshot_reads if incident_of_input(file.snapshot.source, incident_of) == incident
            ]
            by_incident[incident] = self._correlate(incident_reads, clocks, incident_files, kinds)
        return history._replace(incidents=by_incident) if by_incident else history

    def _correlate(
        self,
        reads: Sequence[LogRead],
        clocks: Clocks,
        snapshot_reads: Sequence[SnapshotRead],
        kinds: frozenset[str] | None,
    ) -> History:
        """Correlate the logs of one incident."""
        options = self.options
        given_versions = [
            SeenVersion(name, version.removeprefix("v"), "option") for name, version in options.components.items()
        ]
        scope = Scope(options.since, options.until, kinds)
        snapshots = [file.snapshot for file in snapshot_reads]
        snapshots += [Snapshot(read.log.source, read.facts, read.log.place) for read in reads if read.facts]
        spans = _spans(reads, self.patterns.vocabulary)
        return build_history([read.log for read in reads], clocks, spans, given_versions, scope, snapshots)

    def _rules_of_lines(self, reads: Sequence[LogRead]) -> list[Rule]:
        """Return the rules that can hold on these logs: no other events are needed."""
        values_by_kind: dict[str, set[EventMatch]] = defaultdict(set)
        for raw_event in chain.from_iterable(read.log.raw_events for read in reads):
            match = raw_event[1]
            values_by_kind[match.entry.kind].add(match)
        return rules_of_lines(self.patterns.rules, values_by_kind)

    def ranked(self, history: History) -> list[Finding]:
        """Return the findings on all subjects that have the requested verdict and severity, ranked."""
        if history.incidents:
            return [
                _with_folder(folder, one)
                for folder, incident_history in history.incidents.items()
                for one in self.ranked(incident_history)
            ]
        is_filtered = self._possible_rules is not None
        rules = self.patterns.rules if self._possible_rules is None else self._possible_rules
        is_requested = partial(is_sure_and_grave, options=self.options)
        kinds = self.patterns.vocabulary.kinds
        found = find(rules, history, kinds, is_filtered=is_filtered, is_requested=is_requested)
        return rank(list(found), history)

    def findings(self, history: History) -> list[Finding]:
        """Return the requested findings, ranked."""
        return requested_findings(self.ranked(history), self.options, history)

    def _read_each(
        self,
        given: Iterable[Input],
        reads: list[LogRead],
        snapshot_reads: list[SnapshotRead],
        progress: Progress,
        listeners: Listeners | None,
    ) -> None:
        """Add to `reads` and `snapshot_reads` one by one: at a limit, what was read so far is kept."""
        vocabulary, limit = self.patterns.vocabulary, self.options.limit
        readers = LineReaders(vocabulary, make_scanner(vocabulary.literals), listeners)
        reader = InputReader(
            self._logs_of(given, snapshot_reads), readers, self.problems.append, _Deadline(progress, limit).count
        )
        try:
            with limited(limit), closing(reader.reads(self._jobs, SIZE if limit is None else SMALL)) as logs:
                reads.extend(logs)
        except LimitReachedError as reached:
            with suppress(LimitReachedError):  # the log that was being read may have too many events
                reads.extend(reader.joined_log())
            what = f"time limit reached ({limit or 0:g} s)" if isinstance(reached, TimeIsUpError) else TOO_MANY
            self.problems.extend(unread_errors(reader.reading, reader.size, reader.rest, self.options.paths, what))

    @property
    def _jobs(self) -> int:
        """Return how many processes read; one if an input may make them wait: what is before it is read first."""
        paths = self.options.paths or ("-",)
        return (
            1
            if any(path == "-" or Path(path).is_fifo() for path in paths)
            else self.options.jobs or min(cores(), MOST_JOBS)
        )

    def _logs_of(self, given: Iterable[Input], snapshot_reads: list[SnapshotRead]) -> Iterator[Input]:
        """Yield the log in each input that has one; snapshots are added to `snapshot_reads`."""
        for source in given:
            with skip_faults(source.name, self.problems.append):
                log = _log_of(source, snapshot_reads)
                if log is not None:
                    yield log


def _with_folder(folder: str, finding: Finding) -> Finding:
    """Return the finding with its incident's folder, which makes its key unique."""
    above = finding.explained_by
    return finding._replace(folder=folder, explained_by=f"{above}#{folder}" if above else None)


class _Deadline:
    """Passes progress on, and ends reading when the time is up."""

    def __init__(self, progress: Progress, seconds: float | None) -> None:
        self._progress = progress
        self._ends = monotonic() + seconds if seconds else inf  # checked here, as no signal interrupts a thread

    def count(self, name: str, size: int) -> None:
        """Pass on the number of bytes read. Raise TimeIsUpError after the time limit."""
        if monotonic() > self._ends:
            raise TimeIsUpError
        self._progress(name, size)


def read_history(given: Iterable[Input], patterns: Patterns, options: Options) -> Analysis:
    """Return the history of these inputs; problems with inputs are ignored."""
    return Case(options, patterns).read(given=given)


def _log_of(source: Input, snapshot_reads: list[SnapshotRead]) -> Input | None:
    """Return the log in an input; None if it is a snapshot without a log. Snapshots are added to `snapshot_reads`."""
    if not (isinstance(source, Source) and source.evidence):
        return source
    from kvdiag.history.ingest.snapshots import read_file

    snapshot_reads.append(file := read_file(source))
    return file.log


def _evidence(name: str, head: bytes) -> str:
    from kvdiag.events.snapshots.readers import evidence_in

    return evidence_in(name, head)


def _spans(reads: Sequence[LogRead], vocabulary: Vocabulary) -> Mapping[str, set[str]]:
    """Return by component the version ranges of every wording that was seen."""
    spans: dict[str, set[str]] = defaultdict(set)
    for number in {number for read in reads for number in read.log.wordings}:
        for component, text in vocabulary.wordings[number].since.items():
            spans[component].add(text)
    return spans


def _readings(reads: Sequence[LogRead], clocks: Mapping[str, SourceClock]) -> Iterator[Reading]:
    for read in reads:
        log, survey = read.log, read.survey
        clock, outputs = clocks[log.source], len({fact.line for fact in read.facts})
        # The first line need not be the oldest, nor the last one the newest.
        edges, undated = ((log.first, 0), (log.last, log.lines)), clock.undated(log.raw_events)
        ages = undated.lines if undated and clock.has_ages_beside_dates else None
        span = [
            clock.utc(stamp, line)
            for stamp, line in edges
            if stamp is not None and not (clock.has_ages_beside_dates and is_age(stamp))
        ]
        dated = [one for one in log.raw_events if one.line not in ages] if ages else log.raw_events
        span += [time for time in (clock.span(dated) if dated else ()) if not is_unanchored(time)]
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
            undated=undated,
        )


def read_with_notes(case: Case, note: Note) -> History:
    """Return the history of a command's inputs; pass problems to `note`.

    Raise WindowError if nothing was logged in the requested time.
    """
    analysis = case.read()
    empty = [problem for problem in case.problems if isinstance(problem, WindowError)]
    for problem in case.problems:
        if problem not in empty:
            note(problem)
    if empty:
        raise empty[0]
    for one in undated_notes(analysis.readings):
        note(one)
    return analysis.history


def undated_notes(readings: Iterable[Reading]) -> Iterator[InputNote]:
    """Yield a note for each log whose lines have no dates: the times that are shown for them are assumed."""
    for reading in readings:
        if not reading.is_dated:
            how = f" ({reading.clock})" if reading.clock else ""
            yield InputNote(reading.source, f"it has no dates; the times shown only put its lines in order{how}")
