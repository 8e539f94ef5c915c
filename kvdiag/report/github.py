"""Print annotations for GitHub Actions, at most ten per level, and append the whole report to the job summary.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from kvdiag.model.values import Severity
from kvdiag.report import RenderOptions
from kvdiag.report.markdown import write_bounded
from kvdiag.report.phrases import in_checkout
from kvdiag.report.report_text import FindingText, ReportText

MOST = 10  # annotations of one level: GitHub shows no more per step
LARGEST = 1_000_000  # bytes of a step summary; GitHub accepts 1 MiB
LONGEST_TITLE = 200  # characters
SUMMARY = "GITHUB_STEP_SUMMARY"


def write(report: ReportText, stream: TextIO, options: RenderOptions) -> None:  # noqa: ARG001 (as every output)
    """Annotations to the stream, one a finding; the summary to the file that GitHub names, if it names one."""
    counts: Counter[str] = Counter()
    for level, annotation in _annotations(report):
        counts[level] += 1
        if counts[level] <= MOST:
            stream.write(annotation)
    stream.write(f"kvdiag: {report.verdict}\n")
    left = sum(max(0, count - MOST) for count in counts.values())
    if left:
        stream.write(f"kvdiag: {left} more without an annotation; the summary of the job lists all\n")
    _summarize(report)


def _annotations(report: ReportText) -> Iterator[tuple[str, str]]:
    """Level and annotation of each finding, then of what could not be read."""
    for found in (report.failures, report.notes):
        for finding in found:
            level = _level(finding)
            yield level, _annotation(level, finding)
    yield from (("warning", f"::warning title=kvdiag::{_data(problem)}\n") for problem in report.problems)


def _level(finding: FindingText) -> str:
    if finding.is_possible or finding.severity is Severity.MEDIUM:
        return "warning" if finding.severity >= Severity.MEDIUM else "notice"
    return "error" if finding.severity >= Severity.HIGH else "notice"


def _annotation(level: str, finding: FindingText) -> str:
    first = finding.lines[0] if finding.lines else None
    place = f"file={_property(in_checkout(first.source))},line={first.number}," if first else ""
    title = f"{finding.title} ({finding.rule})"
    title = title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"
    return f"::{level} {place}title={_property(title)}::{_data(finding.says + finding.others)}\n"


def _data(text: str) -> str:
    """Text behind `::`; text that may be shown has no line ends that could begin another command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _summarize(report: ReportText) -> None:
    path = os.environ.get(SUMMARY, "")
    if not path:
        return
    from io import StringIO

    text = StringIO()
    write_bounded(report, text, LARGEST)
    with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as summary:
        summary.write(text.getvalue() + "\n")
