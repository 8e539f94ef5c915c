"""The one way from a report to a stream: which module writes each output, and what it is given.

An output for a person gets text that may be shown; one for a program returns values, which are redacted and escaped as
they are written. None gets both the words of a log as they are and a stream.
"""

from __future__ import annotations

from importlib import import_module
from typing import TextIO

from kvdiag.model.report import Report
from kvdiag.report import REPORTS, TEXT, VALUES, RenderOptions
from kvdiag.report.jsontext import write_document, write_json


def write_report(name: str, report: Report, stream: TextIO, options: RenderOptions) -> None:
    """Write a report as one of `kvdiag.report.REPORTS`; the modules of an output are loaded now, not at start-up."""
    kind, module = REPORTS[name]
    output = import_module(module)
    if kind == TEXT:
        from kvdiag.report.report_text import ReportText

        output.write(ReportText(report, redact=options.redact), stream, options)
    elif kind == VALUES:
        write_document(output.value(report, redact=options.redact), stream, redact=options.redact)
    else:
        from kvdiag.report.page.render import write_page

        write_page(output.page_of(report, options), stream, options)


def write_value(value: object, output: str, stream: TextIO, *, redact: bool) -> None:
    """Write a value as one document, as `output`: json or yaml."""
    if output == "yaml":
        from kvdiag.report.yamltext import write_yaml  # 10 ms that the other outputs need not wait for

        write_yaml(value, stream, redact=redact)
    else:
        write_json(value, stream, redact=redact)
