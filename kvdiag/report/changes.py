"""Print findings one by one with --follow: as text, in one line, or as a JSON object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TextIO

from kvdiag import __version__
from kvdiag.base.clock import rfc3339, to_datetime
from kvdiag.model.report import Finding, Report
from kvdiag.report import RenderOptions
from kvdiag.report.compact import line
from kvdiag.report.jsontext import json_text
from kvdiag.report.outputs import write_report
from kvdiag.report.report_text import ReportText
from kvdiag.safe.clean import clean


def write(finding: Finding, at: int, stream: TextIO, options: RenderOptions, *, is_over: bool) -> None:
    """Print a confirmed finding in full; print one line when it is over."""
    if is_over:
        when = to_datetime(at).strftime("%H:%M:%S")
        text = f"OVER  {finding.rule.name}: {finding.subject.kind} {finding.subject.name}, at {when} UTC"
        stream.write(f"{clean(text, redact=options.redact)}\n\n")
    else:
        write_report("text", _report(finding), stream, options)
    stream.flush()


def write_compact(finding: Finding, at: int, stream: TextIO, options: RenderOptions, *, is_over: bool) -> None:
    """Print the time, FOUND or OVER, and the finding in one line."""
    when = rfc3339(at, "seconds")
    (cause,) = ReportText(_report(finding), redact=options.redact).causes
    stream.write(f"{when}  {'OVER ' if is_over else 'FOUND'}  {line(cause)}\n")
    stream.flush()


def write_json(finding: Finding, at: int, stream: TextIO, options: RenderOptions, *, is_over: bool) -> None:
    """Print `{"change": "found"|"over", "time": …, "finding": {…}}`; the finding has the format of the JSON report."""
    from kvdiag.report.json_report import finding as plain

    when = rfc3339(at)
    document = {
        "change": "over" if is_over else "found",
        "time": when,
        "finding": plain(finding, redact=options.redact),
    }
    stream.write(json_text(document, redact=options.redact))
    stream.flush()


def _report(finding: Finding) -> Report:
    """A report of the finding alone: what explains it may have been reported before."""
    return Report(version=__version__, inputs=(), versions=(), findings=(finding._replace(explained_by=None),))


CHANGES: Mapping[str, Callable[..., None]] = {
    "text": write,
    "json": write_json,
    "ndjson": write_json,
    "compact": write_compact,
}
"""The formats that --follow can write, finding by finding."""
