"""What every command that reads logs works on: the patterns, and the logs as one history, in bounded memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kvdiag.commands.window import outside
from kvdiag.correlate.clocks import SourceClock, set_clocks
from kvdiag.correlate.history import build_history
from kvdiag.errors import InputError, UsageError, WindowError
from kvdiag.events.folder import built_in
from kvdiag.events.vocabulary import Vocabulary, load_vocabulary
from kvdiag.ingest.blocks import Input
from kvdiag.ingest.limit import TimeIsUpError, limited, unread
from kvdiag.ingest.read import LogRead, Progress, read_source
from kvdiag.inputs.paths import sources
from kvdiag.inputs.source import Source
from kvdiag.model.options import Options
from kvdiag.model.report import Reading
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import History, SeenVersion
from kvdiag.model.values import EMPTY
from kvdiag.retention.budget import EventBudget, RetentionPolicy
from kvdiag.rules.library import load
from kvdiag.scan.choose import scanner

if TYPE_CHECKING:
    from kvdiag.ingest.snapshots import SnapshotRead


class Patterns(NamedTuple):
    """The vocabulary with the raw lines of the rules, and the rules."""

    vocabulary: Vocabulary
    rules: tuple[Rule, ...]


class Analysis(NamedTuple):
    """A history with how it was read, before any rule was asked."""

    history: History
    readings: tuple[Reading, ...]
    problems: tuple[InputError, ...]


def load_patterns(options: Options) -> Patterns:
    """Load what comes with kvdiag and `--patterns`. Raises PatternError or, for an unknown `--rule`, UsageError."""
    rules = load([built_in(), *options.patterns]).rules
    extra = [entry for rule in rules for entry in rule.lines]
    wanted = [rule for rule in rules if rule.status != "retired"]
    if options.rules:
        known = {name for rule in rules for name in (rule.id, rule.name)}
        unknown = [name for name in options.rules if name not in known]
        if unknown:
            raise UsageError(f"unknown rule {unknown[0]!r}; see `kvdiag rules list`")
        wanted = [rule for rule in wanted if {rule.id, rule.name} & set(options.rules)]
    return Patterns(load_vocabulary(built_in() / "events", extra), tuple(wanted))


def budget_for(patterns: Patterns, options: Options, policy: RetentionPolicy) -> EventBudget:
    """The memory budget of a command that needs what `policy` retains; for `read_history`."""
    budget = EventBudget(
        lambda reads: clocks_of(reads, options, budget),
        lambda reads: correlate(reads, patterns, options, budget),
        policy,
        (options.since, options.until),
    )
    return budget


def read_history(
    given_inputs: Iterable[Input],
    patterns: Patterns,
    options: Options,
    problems: list[InputError],
    progress: Progress = lambda _source, _bytes: None,
    budget: EventBudget | None = None,
) -> Analysis:
    """Read all inputs as one history, within `budget`; what could not be read is added to `problems`."""
    vocabulary = patterns.vocabulary
    scan = scanner(vocabulary.literals)
    reads: list[LogRead] = []
    filed: list[SnapshotRead] = []
    sought, reading, took = iter(given_inputs), None, 0

    def tell(name: str, size: int) -> None:
        nonlocal took
        took += size
        progress(name, size)

    try:
        with limited(options.limit):
            for source in sought:
                reading, took, log = source, 0, _log_of(source, filed)
                if log is not None:
                    relieve = partial(budget.check, reads) if budget else None
                    for read in read_source(log, vocabulary, scan, problems.append, tell, relieve):
                        reads.append(read)  # noqa: PERF402 (one by one: what was read stays when the time is up)
                reading = None
    except TimeIsUpError:
        problems.extend(unread(reading, took, sought, options.paths, options.limit or 0))
    history = correlate(reads, patterns, options, budget, filed)
    readings = tuple(_readings(reads, clocks_of(reads, options, budget)))
    problems.extend(outside(readings, history, options))
    return Analysis(history, (*readings, *(file.reading for file in filed)), tuple(problems))


def _log_of(source: Input, filed: list[SnapshotRead]) -> Input | None:
    """The log in an input; a file beside the logs, which may have one below its table, is added to `filed`."""
    if not (isinstance(source, Source) and source.evidence):
        return source
    from kvdiag.ingest.snapshots import read_file

    filed.append(file := read_file(source))
    return file.log


def clocks_of(reads: Sequence[LogRead], options: Options, budget: EventBudget | None) -> Mapping[str, SourceClock]:
    """The clocks of what was read so far; clocks that evictions relied on stay as they are."""
    known = budget.clocks if budget else EMPTY
    return set_clocks([read.log for read in reads], year=options.year, zone=options.zone, known=known)


def correlate(
    reads: Sequence[LogRead],
    patterns: Patterns,
    options: Options,
    budget: EventBudget | None,
    filed: Sequence[SnapshotRead] = (),
) -> History:
    """Correlate all that was read into one history; evictions become gaps in its coverage."""
    logs, clocks = [read.log for read in reads], clocks_of(reads, options, budget)
    given = [
        SeenVersion(component, version.removeprefix("v"), "option") for component, version in options.components.items()
    ]
    between, standing = (options.since, options.until), [file.standing for file in filed]
    history = build_history(logs, clocks, _spans(reads, patterns.vocabulary), given, between, standing)
    if budget and (gap := budget.gap):
        history = history._replace(coverage=tuple(c._replace(gaps=(gap, *c.gaps)) for c in history.coverage))
    return history


def inputs(options: Options, problems: list[InputError]) -> Iterator[Source]:
    """What the user named, and the files beside the logs that tell something."""
    return sources(options.paths, problems.append, _evidence)


def _evidence(name: str, head: bytes) -> str:
    from kvdiag.snapshots.readers import evidence_in

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
        clock = clocks[log.source]
        edges = ((log.first, 0), (log.last, log.lines))  # the last line is the oldest in some logs
        span = [clock.utc(stamp, line) for stamp, line in edges if stamp is not None]
        yield Reading(
            source=log.source,
            format=survey.format,
            component=log.component,
            lines=survey.lines,
            records=survey.records,
            recognised=read.recognised,
            unread=survey.unread,
            truncated=survey.truncated,
            begins=min(span, default=None),
            ends=max(span, default=None),
            clock=clock.says,
            node=survey.node or log.place.node,
            sampled=survey.sampled,
        )


def read_noted(patterns: Patterns, options: Options, policy: RetentionPolicy, note: Callable[[str], None]) -> History:
    """The history of these inputs; notes for the user go to `note`.

    Raises WindowError when nothing was logged in the time that was asked for.
    """
    problems: list[InputError] = []
    kept = budget_for(patterns, options, policy)
    history = read_history(inputs(options, problems), patterns, options, problems, budget=kept).history
    empty = [problem for problem in problems if isinstance(problem, WindowError)]
    for words in (*(str(problem) for problem in problems if problem not in empty), *kept.notes):
        note(words)
    if empty:
        raise empty[0]
    return history
