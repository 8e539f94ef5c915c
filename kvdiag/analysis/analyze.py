"""Analyze logs: read the inputs, evaluate the rules, build the report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from kvdiag import __version__
from kvdiag.analysis.case import Analysis, Case, load_patterns
from kvdiag.analysis.error_lines.error_index import ErrorIndex
from kvdiag.analysis.error_lines.retries import names_of, retried_pods
from kvdiag.analysis.finding_filters import check_pod, requested_findings, requested_subjects
from kvdiag.analysis.retention.findings import FindingRetention
from kvdiag.base.clock import is_unanchored
from kvdiag.base.errors import WindowError
from kvdiag.explain.benign import known_benign
from kvdiag.history.correlate.event_filter import Scope
from kvdiag.history.ingest.log_reader import Progress, TextInput
from kvdiag.model.error_groups import Errors
from kvdiag.model.lanes import Lanes
from kvdiag.model.options import Options
from kvdiag.model.report import Finding, Reading, Report
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import History
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
    the lanes of every subject, which needs events that no rule uses.
    """
    report, history = analyze_case(Case(options, judges_only=not lanes), progress, texts)
    return report._replace(lanes=_lanes(history, report.findings, options)) if lanes else report


def analyze_case(
    case: Case, progress: Progress = lambda _source, _bytes: None, texts: Sequence[TextInput] = ()
) -> tuple[Report, History]:
    """Return the report on all inputs of a case, and the history that it is based on."""
    judge = ExplainingJudge(case, ErrorIndex(known_benign()))
    retained = FindingRetention(judge)
    inputs = case.inputs() if case.options.paths or not texts else ()
    analysis = case.read(retained, chain(texts, inputs), progress, judge.ledger.begin)
    analysis = analysis._replace(readings=tuple(judge.ledger.widened(analysis.readings, analysis.clocks)))
    findings = retained.all(judge.findings(analysis.history))
    if case.options.pod:
        check_pod(case.options.pod, analysis.logs, analysis.history)
    report = Report(
        version=__version__,
        inputs=analysis.readings,
        versions=analysis.history.versions,
        findings=tuple(with_incidents(findings)),
        needs=needs(findings, analysis.history, case.patterns.vocabulary.kinds),
        problems=tuple(str(problem) for problem in case.problems if problem.exit_code),
        notes=(*(str(problem) for problem in case.problems if not problem.exit_code), *analysis.notes),
        is_empty=any(isinstance(problem, WindowError) for problem in case.problems),
        errors=judge.errors(analysis, findings),
        span=_span(analysis.readings, case.options),
    )
    return report, analysis.history


def _span(readings: Sequence[Reading], options: Options) -> tuple[int, int] | None:
    """Return the first and last time of the logs within the requested time."""
    begins = [one.begins for one in readings if one.begins is not None and not is_unanchored(one.begins)]
    ends = [one.ends for one in readings if one.ends is not None and not is_unanchored(one.ends)]
    if not begins or not ends:
        return None
    first = min(begins) if options.since is None else max(options.since, min(begins))
    last = max(ends) if options.until is None else min(options.until, max(ends))
    return (first, last) if first < last else None


def _lanes(history: History, findings: Sequence[Finding], options: Options) -> Lanes:
    """Return the lanes of a history; subjects with findings are always included."""
    from kvdiag.history.views.lanes import build_lanes  # imported here: only this output needs all states

    found = {(one.subject.kind, one.subject.key) for one in findings}
    requested = requested_subjects(options, history)
    return build_lanes(history, found, node=options.node, only=None if requested is None else requested | found)


class ExplainingJudge:
    """Finds findings like the case, and marks the error lines that they explain before their events are evicted."""

    def __init__(self, case: Case, ledger: ErrorIndex) -> None:
        """Take the case and the index of its error lines."""
        self._case, self.ledger = case, ledger
        self._names: set[str] = set()

    def errors(self, analysis: Analysis, findings: Sequence[Finding]) -> Errors:
        """Return the error lines of the requested time; call it after all findings were made."""
        options, components = self._case.options, {one.source: one.component for one in analysis.readings}
        scope = Scope(options.since, options.until)
        counted = self.ledger.errors(analysis.logs, analysis.clocks, components, scope)
        known = self._names | {name for finding in findings for name in names_of(finding)}
        return counted._replace(retried=retried_pods(analysis.logs, analysis.clocks, known, scope))

    def findings(self, history: History) -> list[Finding]:
        """Return the requested findings, ranked."""
        ranked = self._case.ranked(history)
        self.ledger.explain(ranked, history)
        self._names.update(name for finding in ranked for name in names_of(finding))
        return requested_findings(ranked, self._case.options, history)

    def find_with(self, history: History, rules: Sequence[Rule]) -> list[Finding]:
        """Return all findings of these rules, not ranked."""
        return self._case.find_with(history, rules)
