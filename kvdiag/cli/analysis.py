"""Run one analysis from options to exit code. No typer here, so that the short form of the command starts fast."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TextIO

from kvdiag.analysis.analyze import analyze
from kvdiag.analysis.case import load_patterns
from kvdiag.base.errors import UsageError, check_choice
from kvdiag.cli.outlet import UNREADABLE, Notes, outlet, print_note
from kvdiag.cli.pager import open_output
from kvdiag.cli.progress import progress
from kvdiag.model.options import Options
from kvdiag.model.report import Report
from kvdiag.model.values import Severity
from kvdiag.report import REPORTS, WITH_LANES, RenderOptions
from kvdiag.report.outputs import write_report

NEVER = "never"
FAIL_ON = (NEVER, *(severity.label for severity in Severity))
FOUND = 1


class OutputOptions(NamedTuple):
    """How the report is written, and the severity for exit code 1; `also` are further outputs with their files."""

    output: str = "text"
    output_file: Path | None = None
    also: tuple[tuple[str, Path], ...] = ()
    fail_on: str = NEVER
    quiet: bool = False
    verbose: int = 0
    no_color: bool = False
    no_redact: bool = False
    baseline: Path | None = None
    write_baseline: Path | None = None
    suppressions: Path | None = None
    no_pager: bool = False
    links: bool = True

    def open_output(self) -> AbstractContextManager[tuple[TextIO, RenderOptions]]:
        """Open the output of the report. Raise UsageError if the file cannot be written."""
        return open_output(self.output_file, self.output, no_color=self.no_color, no_pager=self.no_pager)

    def render_options(self, style: RenderOptions) -> RenderOptions:
        """Return the options for rendering in this style."""
        links = style.links and self.links
        return style._replace(links=links, verbose=self.verbose, quiet=self.quiet, redact=not self.no_redact)


def run_analysis(options: Options, output_options: OutputOptions) -> int:
    """Analyze, print the report, return the exit code. Raise UsageError for an unknown output or severity."""
    _check(output_options)
    # Before the logs are read, so that errors in these files are reported at once.
    leave_out_known = _known_filter(options, output_options)
    with progress(quiet=output_options.quiet) as on_read:
        report = analyze(options, on_read, lanes=bool(WITH_LANES & {output_options.output, *dict(output_options.also)}))
    report = leave_out_known(report)
    for note in (*report.problems, *(() if output_options.quiet else report.notes)):
        print_note(note)
    with output_options.open_output() as (stream, style):
        write_report(output_options.output, report, stream, output_options.render_options(style))
    for output, path in output_options.also:
        with outlet(path) as stream:
            write_report(output, report, stream, output_options.render_options(RenderOptions()))
    if output_options.write_baseline is not None:
        return exit_code(report, NEVER)
    return exit_code(report, output_options.fail_on)


def _known_filter(options: Options, output_options: OutputOptions) -> Callable[[Report], Report]:
    """Return a function that removes known findings from a report, and writes the baseline if requested.

    Raise UsageError or PatternError for an invalid file.
    """
    files = (output_options.baseline, output_options.write_baseline, output_options.suppressions)
    if not any(files):
        return lambda report: report
    from kvdiag.analysis.baselines import leave_out, read_baseline, read_suppressions, write_baseline

    known = read_baseline(output_options.baseline) if output_options.baseline else frozenset()
    patterns = load_patterns(Options(patterns=options.patterns))
    rules = {name for rule in patterns.rules for name in (rule.id, rule.name)}
    path, today = output_options.suppressions, datetime.now(UTC).date()
    suppressed = read_suppressions(path, rules) if path else ()

    def filter_report(report: Report) -> Report:
        if output_options.write_baseline:
            write_baseline(output_options.write_baseline, leave_out(report, (), suppressed, today).findings)
        return leave_out(report, known, suppressed, today)

    return filter_report


def _check(output_options: OutputOptions) -> None:
    for option, output in (("-o", output_options.output), *(("--also", output) for output, _ in output_options.also)):
        check_choice(option, output, REPORTS)
    check_choice("--fail-on", output_options.fail_on, FAIL_ON, what="severity")


def _check_following(output_options: OutputOptions, outputs: Collection[str]) -> None:
    """Raise UsageError for options that --follow does not support."""
    if output_options.output not in outputs:
        raise UsageError(
            f"-o {output_options.output} does not go with --follow, as it is written at the end of the logs; "
            f"choose from {', '.join(outputs)}"
        )
    known = (output_options.baseline, output_options.write_baseline, output_options.suppressions)
    if any(known) or output_options.also:
        raise UsageError("--also, --baseline, --write-baseline and --suppressions do not go with --follow")


def run_following(options: Options, output_options: OutputOptions) -> int:
    """Print each finding when it is confirmed and when it is over, until the inputs end; return the exit code."""
    from kvdiag.analysis.follow import Follower
    from kvdiag.report.changes import CHANGES

    _check(output_options)
    _check_following(output_options, CHANGES)
    notes = Notes()
    follower = Follower(options, notes)
    worst, write_change = -1, CHANGES[output_options.output]
    with output_options._replace(no_pager=True).open_output() as (stream, style):
        render_options = output_options.render_options(style)._replace(quiet=True)
        for change in follower.changes():
            write_change(change.finding, change.at, stream, render_options, is_over=change.is_over)
            worst = max(worst, change.finding.severity)
    if output_options.fail_on != NEVER and worst >= Severity.from_label(output_options.fail_on):
        return FOUND
    return 0 if follower.understood and not notes.exit_code else UNREADABLE


def exit_code(report: Report, fail_on: str) -> int:
    """Return 1 for findings at or above the threshold, 3 if something was unreadable or nothing recognized, else 0."""
    if fail_on != NEVER and any(finding.severity >= Severity.from_label(fail_on) for finding in report.findings):
        return FOUND
    understood = any(reading.records for reading in report.inputs)
    return 0 if understood and not report.problems else UNREADABLE
