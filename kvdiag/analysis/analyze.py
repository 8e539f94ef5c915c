"""Analyze logs: read the inputs, evaluate the rules, build the report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from kvdiag import __version__
from kvdiag.analysis.case import Case, load_patterns
from kvdiag.analysis.error_lines.causes import with_causes
from kvdiag.analysis.error_lines.error_index import ErrorIndex
from kvdiag.analysis.error_lines.retries import names_of, retried_pods
from kvdiag.analysis.finding_filters import check_pod, requested_findings, requested_subjects
from kvdiag.analysis.triage import stuck_subjects
from kvdiag.base.clock import is_unanchored
from kvdiag.base.errors import WindowError
from kvdiag.explain.benign import known_benign
from kvdiag.history.correlate.event_filter import Scope
from kvdiag.history.ingest.log_reader import Progress, TextInput
from kvdiag.model.lanes import Lanes
from kvdiag.model.options import Options
from kvdiag.model.report import Finding, Reading, Report
from kvdiag.model.timeline import History
from kvdiag.rules.distribution import dialect_of
from kvdiag.rules.incidents import with_incidents
from kvdiag.rules.missing_logs import needs


def literals() -> list[bytes]:
    """Return every literal that an analysis scans for, for the benchmark against grep."""
    return list(load_patterns(Options()).vocabulary.literals)


def analyze(
    options: Options,
    progress: Progress = lambda _source, _bytes: None,
    texts: Sequence[TextInput] = (),
    *,
    lanes: bool = False,
) -> Report:
    """Read all inputs, build their history, evaluate every rule. Problems with inputs are part of the report.

    `texts` are logs in memory; if they are given without paths, nothing else is read. With `lanes` the report contains
    the lanes of every subject, which needs events that no rule uses, and the lines around the events of findings.
    """
    case = Case(options, judges_only=not lanes)
    report, history = analyze_case(case, progress, texts)
    return _with_picture(report, history, case) if lanes else report


def analyze_case(
    case: Case, progress: Progress = lambda _source, _bytes: None, texts: Sequence[TextInput] = ()
) -> tuple[Report, History]:
    """Return the report on all inputs of a case, and the history that it is based on."""
    options, error_index = case.options, ErrorIndex(known_benign())
    inputs = case.inputs() if options.paths or not texts else ()
    analysis = case.read(chain(texts, inputs), progress, error_index)
    history, readings, logs, clocks = analysis
    options = case.options  # times of day now have a date
    readings = tuple(error_index.widened(readings, clocks))
    ranked = case.ranked(history)
    error_index.explain(ranked, history)
    findings = requested_findings(ranked, options, history)
    if options.pod:
        check_pod(options.pod, logs, history)
    scope = Scope(options.since, options.until)
    errors = error_index.errors(logs, clocks, {one.source: one.component for one in readings}, scope)
    if errors.groups:
        errors = with_causes(errors, dialect_of(history, ""))
    names = {name for finding in ranked for name in names_of(finding)}
    stuck = stuck_subjects(case, analysis, ranked, errors.groups)
    names |= {one.name for one in stuck}
    retried = retried_pods(logs, clocks, names, scope, error_index) if errors.groups else ()  # else all is explained
    report = Report(
        version=__version__,
        inputs=readings,
        versions=history.versions,
        findings=tuple(with_incidents(findings)),
        needs=needs(findings, history, case.patterns.vocabulary.kinds),
        problems=tuple(str(problem) for problem in case.problems if problem.exit_code),
        notes=tuple(str(problem) for problem in case.problems if not problem.exit_code),
        is_empty=any(isinstance(problem, WindowError) for problem in case.problems),
        errors=errors._replace(stuck=stuck, retried=retried),
        span=_span(readings, options),
    )
    return report, history


def _span(readings: Sequence[Reading], options: Options) -> tuple[int, int] | None:
    """Return the first and last time of the logs within the requested time."""
    begins = [one.begins for one in readings if one.begins is not None and not is_unanchored(one.begins)]
    ends = [one.ends for one in readings if one.ends is not None and not is_unanchored(one.ends)]
    if not begins or not ends:
        return None
    first = min(begins) if options.since is None else max(options.since, min(begins))
    last = max(ends) if options.until is None else min(options.until, max(ends))
    return (first, last) if first < last else None


def _with_picture(report: Report, history: History, case: Case) -> Report:
    """Return the report with the lanes of its subjects and the lines around the events of its findings."""
    from kvdiag.analysis.line_context import excerpts  # imported here: only this output reads inputs again

    drawn = report._replace(lanes=_lanes(history, report.findings, case.options))
    return drawn._replace(excerpts=excerpts(drawn, case.options.paths))


def _lanes(history: History, findings: Sequence[Finding], options: Options) -> Lanes:
    """Return the lanes of a history; subjects with findings are always included."""
    from kvdiag.history.views.lanes import build_lanes  # imported here: only this output needs all states

    found = {(one.subject.kind, one.subject.key) for one in findings}
    requested = requested_subjects(options, history)
    return build_lanes(history, found, node=options.node, only=None if requested is None else requested | found)
