"""The main job: logs in, findings out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kvdiag import __version__
from kvdiag.correlate.clocks import SourceClock, set_clocks
from kvdiag.correlate.history import build_history
from kvdiag.errors import InputError, UsageError, WindowError
from kvdiag.events.vocabulary import Vocabulary, load_vocabulary
from kvdiag.inputs.paths import sources
from kvdiag.inputs.source import Source
from kvdiag.model.report import Finding, Reading, Report
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import History, SeenVersion
from kvdiag.model.values import NOTHING, SubjectKind, Verdict
from kvdiag.pipeline.judged import Judged
from kvdiag.pipeline.opened import Readable
from kvdiag.pipeline.options import Options
from kvdiag.pipeline.read import Progress, Read, read_source
from kvdiag.pipeline.relief import Keeper, Relief
from kvdiag.pipeline.window import outside
from kvdiag.rules.certainty import needs
from kvdiag.rules.findings import find
from kvdiag.rules.library import built_in, load
from kvdiag.rules.rank import ordered, rank
from kvdiag.scan.choose import scanner

if TYPE_CHECKING:
    from kvdiag.pipeline.filed import Filed


class Knowledge(NamedTuple):
    """The vocabulary with the raw lines of the rules, and the rules."""

    vocabulary: Vocabulary
    rules: tuple[Rule, ...]


class Analysis(NamedTuple):
    """A history with how it was read, before any rule was asked."""

    history: History
    readings: tuple[Reading, ...]
    problems: tuple[InputError, ...]


def know(options: Options) -> Knowledge:
    """Load what comes with kvdiag and `--patterns`. Raises PatternError or, for an unknown `--rule`, UsageError."""
    rules = load([built_in(), *options.patterns]).rules
    extra = [entry for rule in rules for entry in rule.lines]
    wanted = [rule for rule in rules if rule.status != "retired"]
    if options.rules:
        known = {name for rule in rules for name in (rule.id, rule.name)}
        unknown = [name for name in options.rules if name not in known]
        if unknown:
            raise UsageError(f"there is no rule {unknown[0]!r}; `kvdiag rules list` names them")
        wanted = [rule for rule in wanted if {rule.id, rule.name} & set(options.rules)]
    return Knowledge(load_vocabulary(built_in() / "events", extra), tuple(wanted))


def literals() -> list[bytes]:
    """Every literal an analysis scans for; what a benchmark gives to grep."""
    return list(know(Options()).vocabulary.literals)


def analyze(options: Options, progress: Progress = lambda _source, _bytes: None) -> Report:
    """Read all inputs, build their history, ask every rule. Problems with single inputs stand in the report."""
    knowledge = know(options)
    problems: list[InputError] = []
    judged = Judged(lambda history: found(history, knowledge, options))
    relief = relief_of(knowledge, options, judged)
    analysis = read_history(inputs(options, problems), knowledge, options, problems, progress, relief)
    wanted = judged.all(found(analysis.history, knowledge, options))
    return Report(
        version=__version__,
        inputs=analysis.readings,
        versions=analysis.history.versions,
        findings=tuple(ordered(wanted)),
        needs=needs(wanted, analysis.history, knowledge.vocabulary.kinds),
        problems=tuple(str(problem) for problem in analysis.problems if problem.exit_code),
        notes=(*(str(problem) for problem in analysis.problems if not problem.exit_code), *relief.notes),
        is_empty=any(isinstance(problem, WindowError) for problem in analysis.problems),
    )


def found(history: History, knowledge: Knowledge, options: Options) -> list[Finding]:
    """What the rules find and the user wants, ranked."""
    findings = find(knowledge.rules, history, knowledge.vocabulary.kinds)
    return rank([finding for finding in findings if _wanted(finding, options, history)], history)


def relief_of(knowledge: Knowledge, options: Options, keeper: Keeper) -> Relief:
    """What bounds the memory of a command that needs what `keeper` names; to be given to `read_history`."""
    relief = Relief(
        lambda reads: clocks_of(reads, options, relief),
        lambda reads: joined(reads, knowledge, options, relief),
        keeper,
        (options.since, options.until),
    )
    return relief


def read_history(
    given_inputs: Iterable[Readable],
    knowledge: Knowledge,
    options: Options,
    problems: list[InputError],
    progress: Progress = lambda _source, _bytes: None,
    relief: Relief | None = None,
) -> Analysis:
    """All inputs as one history; what could not be read is added to `problems`. `relief` bounds the memory it takes."""
    vocabulary = knowledge.vocabulary
    scan = scanner(vocabulary.literals)
    reads: list[Read] = []
    filed = []
    for source in given_inputs:
        log: Readable | None = source
        if isinstance(source, Source) and source.evidence:
            from kvdiag.pipeline.filed import read_file

            filed.append(file := read_file(source))
            log = file.log
        if log is not None:
            relieve = partial(relief.check, reads) if relief else None
            reads.extend(read_source(log, vocabulary, scan, problems.append, progress, relieve))
    history = joined(reads, knowledge, options, relief, filed)
    readings = tuple(_readings(reads, clocks_of(reads, options, relief)))
    problems.extend(outside(readings, history, options))
    return Analysis(history, (*readings, *(file.reading for file in filed)), tuple(problems))


def clocks_of(reads: Sequence[Read], options: Options, relief: Relief | None) -> Mapping[str, SourceClock]:
    """The clocks of what was read so far; those stay by which events were let go."""
    known = relief.clocks if relief else NOTHING
    return set_clocks([read.testimony for read in reads], year=options.year, zone=options.zone, known=known)


def joined(
    reads: Sequence[Read], knowledge: Knowledge, options: Options, relief: Relief | None, filed: Sequence[Filed] = ()
) -> History:
    """One history of all that was read."""
    testimonies, clocks = [read.testimony for read in reads], clocks_of(reads, options, relief)
    given = [
        SeenVersion(component, version.removeprefix("v"), "option") for component, version in options.components.items()
    ]
    between, standing = (options.since, options.until), [file.standing for file in filed]
    history = build_history(testimonies, clocks, _spans(reads, knowledge.vocabulary), given, between, standing)
    if relief and (gap := relief.gap):
        history = history._replace(coverage=tuple(c._replace(gaps=(gap, *c.gaps)) for c in history.coverage))
    return history


def inputs(options: Options, problems: list[InputError]) -> Iterator[Source]:
    """What the user named, and the files beside the logs that tell something."""
    return sources(options.paths, problems.append, _evidence)


def _evidence(name: str, head: bytes) -> str:
    from kvdiag.evidence.readers import evidence_in

    return evidence_in(name, head)


def _spans(reads: Sequence[Read], vocabulary: Vocabulary) -> Mapping[str, set[str]]:
    """By component the version ranges of every wording that was seen."""
    spans: dict[str, set[str]] = defaultdict(set)
    for number in {number for read in reads for number in read.testimony.wordings}:
        for component, text in vocabulary.wordings[number].since.items():
            spans[component].add(text)
    return spans


def _readings(reads: Sequence[Read], clocks: Mapping[str, SourceClock]) -> Iterator[Reading]:
    for read in reads:
        testimony, survey = read.testimony, read.survey
        clock = clocks[testimony.source]
        edges = ((testimony.first, 0), (testimony.last, testimony.lines))  # the last line is the oldest in some logs
        span = [clock.utc(stamp, line) for stamp, line in edges if stamp is not None]
        yield Reading(
            source=testimony.source,
            format=survey.format,
            component=testimony.component,
            lines=survey.lines,
            records=survey.records,
            recognised=read.recognised,
            unread=survey.unread,
            truncated=survey.truncated,
            begins=min(span, default=None),
            ends=max(span, default=None),
            clock=clock.says,
            node=survey.node or testimony.place.node,
            sampled=survey.sampled,
        )


def _wanted(finding: Finding, options: Options, history: History) -> bool:
    if finding.verdict is Verdict.POSSIBLE and not options.show_possible:
        return False
    names = set(_names(finding, history))
    checks: list[tuple[str, Callable[[str], bool]]] = [
        (options.namespace, lambda wanted: any(name.startswith(f"{wanted}/") for name in names)),
        (options.pod, lambda wanted: any(_is_pod(name, wanted) for name in names)),
        (options.volume, lambda wanted: wanted in names),
        (options.node, lambda wanted: finding.subject.ids.get("node", "") in {wanted, ""}),
    ]
    return all(check(wanted) for wanted, check in checks if wanted)


def _is_pod(name: str, wanted: str) -> bool:
    return name == wanted or name.endswith(f"/{wanted}")


def _names(finding: Finding, history: History) -> Iterator[str]:
    """Every name of the subject and of the pods and volumes it is linked with; a node's finding concerns all."""
    yield from finding.subject.ids.values()
    yield finding.subject.name
    timeline = history.timelines.get((finding.subject.kind, finding.subject.key))
    for key in timeline.uses if timeline else ():
        if key[0] in {SubjectKind.POD, SubjectKind.VOLUME} and key in history.timelines:
            yield from history.timelines[key].subject.ids.values()
