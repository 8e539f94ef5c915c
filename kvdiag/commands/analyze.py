"""The main job: logs in, findings out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from kvdiag import __version__
from kvdiag.commands.case import Patterns, budget_for, inputs, load_patterns, read_history
from kvdiag.errors import InputError, WindowError
from kvdiag.ingest.read import Progress, TextInput
from kvdiag.model.options import Options
from kvdiag.model.report import Finding, Report
from kvdiag.model.timeline import History
from kvdiag.model.values import SubjectKind, Verdict
from kvdiag.retention.findings import FindingRetention
from kvdiag.rules.findings import find
from kvdiag.rules.missing_logs import needs
from kvdiag.rules.rank import ordered, rank


def literals() -> list[bytes]:
    """Every literal an analysis scans for; what a benchmark gives to grep."""
    return list(load_patterns(Options()).vocabulary.literals)


def analyze(
    options: Options, progress: Progress = lambda _source, _bytes: None, texts: Sequence[TextInput] = ()
) -> Report:
    """Read all inputs, build their history, ask every rule. Problems with single inputs stand in the report.

    `texts` are logs in memory; with them and without paths nothing else is read.
    """
    patterns = load_patterns(options)
    problems: list[InputError] = []
    judged = FindingRetention(lambda history: evaluate(history, patterns, options))
    budget = budget_for(patterns, options, judged)
    given = inputs(options, problems) if options.paths or not texts else ()
    analysis = read_history(chain(texts, given), patterns, options, problems, progress, budget)
    wanted = judged.all(evaluate(analysis.history, patterns, options))
    return Report(
        version=__version__,
        inputs=analysis.readings,
        versions=analysis.history.versions,
        findings=tuple(ordered(wanted)),
        needs=needs(wanted, analysis.history, patterns.vocabulary.kinds),
        problems=tuple(str(problem) for problem in analysis.problems if problem.exit_code),
        notes=(*(str(problem) for problem in analysis.problems if not problem.exit_code), *budget.notes),
        is_empty=any(isinstance(problem, WindowError) for problem in analysis.problems),
    )


def evaluate(history: History, patterns: Patterns, options: Options) -> list[Finding]:
    """What the rules find and the user wants, ranked."""
    findings = find(patterns.rules, history, patterns.vocabulary.kinds)
    return rank([finding for finding in findings if _wanted(finding, options, history)], history)


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
