"""Write one JSON object per line: each finding as in the JSON report, for tools that read a stream."""

from __future__ import annotations

from typing import Any

from kvdiag.model.report import Report
from kvdiag.report.json_report import finding as plain
from kvdiag.report.jsontext import Lines


def value(report: Report, *, redact: bool) -> Lines[dict[str, Any]]:
    """A line a finding, causes first."""
    return Lines(plain(finding, redact=redact) for finding in report.findings)
