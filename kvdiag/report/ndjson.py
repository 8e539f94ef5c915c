"""Write one JSON object per line: each finding as in the JSON report, for tools that read a stream."""

from __future__ import annotations

from typing import TextIO

from kvdiag.model.report import Report
from kvdiag.report import RenderOptions
from kvdiag.report.json_report import finding as plain
from kvdiag.report.jsontext import json_text


def write(report: Report, stream: TextIO, options: RenderOptions) -> None:
    """Write one line for each finding, causes first."""
    rows = (plain(finding, redact=options.redact) for finding in report.findings)
    stream.writelines(json_text(row, redact=options.redact) for row in rows)
