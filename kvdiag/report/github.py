"""Print annotations for GitHub Actions, at most ten per level, and append the whole report to the job summary.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from kvdiag.model.report import Finding, Report
from kvdiag.model.values import Severity, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.addresses import in_checkout
from kvdiag.report.incidents import Incident, incidents, merged_finding, others_sentence
from kvdiag.report.markdown import verdict, write_within
from kvdiag.safe.clean import clean, shortened

MOST = 10  # annotations of one level: GitHub shows no more per step
LARGEST = 1_000_000  # bytes of a step summary; GitHub accepts 1 MiB
LONGEST_TITLE = 200  # characters
SUMMARY = "GITHUB_STEP_SUMMARY"


def write(report: Report, stream: TextIO, options: RenderOptions) -> None:
    """Print one annotation for each incident, and append the report to the file in $GITHUB_STEP_SUMMARY."""
    causes = [finding for finding in report.findings if finding.explained_by is None]
    counts: Counter[str] = Counter()
    for level, annotation in _annotations(report, causes, options):
        counts[level] += 1
        if counts[level] <= MOST:
            stream.write(annotation)
    stream.write(f"kvdiag: {verdict(report)}\n")
    left = sum(max(0, count - MOST) for count in counts.values())
    if left:
        stream.write(f"kvdiag: {left} more without an annotation; the summary of the job lists all\n")
    _summarize(report, options)


def _annotations(report: Report, causes: Sequence[Finding], options: RenderOptions) -> Iterator[tuple[str, str]]:
    """Yield level and annotation of each incident, then one of each input that could not be read."""
    for incident in incidents(causes):
        level = _level(incident[0])
        yield level, _annotation(level, incident, options)
    yield from (("warning", f"::warning title=kvdiag::{_data(problem, options)}\n") for problem in report.problems)


def _level(finding: Finding) -> str:
    if finding.verdict is Verdict.POSSIBLE or finding.severity is Severity.MEDIUM:
        return "warning" if finding.severity >= Severity.MEDIUM else "notice"
    return "error" if finding.severity >= Severity.HIGH else "notice"


def _annotation(level: str, incident: Incident, options: RenderOptions) -> str:
    finding = incident[0]
    first = finding.evidence[0].event.origin if finding.evidence else None
    place = f"file={_property(in_checkout(first.source), options)},line={first.line}," if first else ""
    title = shortened(
        clean(f"{merged_finding(incident).title} ({finding.rule.name})", redact=options.redact), LONGEST_TITLE
    )
    text = _data(finding.says + others_sentence(incident), options)
    return f"::{level} {place}title={_property(title, options)}::{text}\n"


def _data(text: str, options: RenderOptions) -> str:
    """Escape the text after `::`, so that it cannot begin another workflow command."""
    return clean(text, redact=options.redact).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str, options: RenderOptions) -> str:
    return _data(text, options).replace(":", "%3A").replace(",", "%2C")


def _summarize(report: Report, options: RenderOptions) -> None:
    path = os.environ.get(SUMMARY, "")
    if not path:
        return
    from io import StringIO

    text = StringIO()
    write_within(report, text, options, LARGEST)
    with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as summary:
        summary.write(text.getvalue() + "\n")
