"""GitHub Actions: annotations on the log, at most ten a level as GitHub shows, and the whole as the job's summary.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TextIO

from kvdiag.model.report import Finding, Report
from kvdiag.model.values import Severity, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.clean import clean
from kvdiag.report.markdown import verdict
from kvdiag.report.markdown import write as write_markdown

MOST = 10  # annotations of a level that GitHub shows of a step
LARGEST = 1_000_000  # bytes of a step's summary; GitHub takes 1 MiB
SUMMARY = "GITHUB_STEP_SUMMARY"


def write(report: Report, stream: TextIO, options: RenderOptions) -> None:
    """Annotations to the stream, causes first; the summary to the file that GitHub names, if it names one."""
    causes = [finding for finding in report.findings if finding.explained_by is None]
    told: Counter[str] = Counter()
    for finding in causes:
        level = _level(finding)
        told[level] += 1
        if told[level] <= MOST:
            stream.write(_annotation(level, finding, options))
    stream.writelines(f"::warning title=kvdiag::{_data(problem, options)}\n" for problem in report.problems[:MOST])
    stream.write(f"kvdiag: {verdict(report, causes)}\n")
    left = sum(max(0, count - MOST) for count in told.values())
    if left:
        stream.write(f"kvdiag: {left} more without an annotation; the summary of the job lists all\n")
    _summarize(report, options)


def _level(finding: Finding) -> str:
    if finding.verdict is Verdict.POSSIBLE or finding.severity is Severity.MEDIUM:
        return "warning" if finding.severity >= Severity.MEDIUM else "notice"
    return "error" if finding.severity >= Severity.HIGH else "notice"


def _annotation(level: str, finding: Finding, options: RenderOptions) -> str:
    first = finding.evidence[0].event.origin if finding.evidence else None
    place = f"file={_property(first.source, options)},line={first.line}," if first else ""
    title = _property(f"{finding.rule.name}: {finding.subject.kind} {finding.subject.name}", options)
    return f"::{level} {place}title={title}::{_data(finding.says, options)}\n"


def _data(text: str, options: RenderOptions) -> str:
    """Text behind `::`; clean text has no line ends that could begin another command."""
    return clean(text, redact=options.redact).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str, options: RenderOptions) -> str:
    return _data(text, options).replace(":", "%3A").replace(",", "%2C")


def _summarize(report: Report, options: RenderOptions) -> None:
    path = os.environ.get(SUMMARY, "")
    if not path:
        return
    from io import StringIO

    text = StringIO()
    write_markdown(report, text, options)
    kept = text.getvalue().encode("utf-8", "backslashreplace")[:LARGEST].decode("utf-8", "ignore")
    with Path(path).open("a", encoding="utf-8") as summary:
        summary.write(kept + "\n")
