"""Report → something to read: one module per output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

PUBLIC = (
    "ansi",
    "changes",
    "comparison",
    "errors",
    "errors_json",
    "fingerprint",
    "inventory_tables",
    "json_report",
    "jsontext",
    "outputs",
    "overview",
    "page.render",
    "plain_text",
    "report_text",
    "timeline",
    "yamltext",
)
"""The modules that other packages may import."""
TEXT, VALUES, PAGE = "text", "values", "page"
"""An output has `write(report_text, stream, options)`, or `value(report, redact=…)`, or `page_of(report, options)`."""
REPORTS: Mapping[str, tuple[str, str]] = {
    "text": (TEXT, "kvdiag.report.terminal"),
    "json": (VALUES, "kvdiag.report.json_report"),
    "ndjson": (VALUES, "kvdiag.report.ndjson"),
    "compact": (TEXT, "kvdiag.report.compact"),
    "markdown": (TEXT, "kvdiag.report.markdown"),
    "github": (TEXT, "kvdiag.report.github"),
    "gitlab": (VALUES, "kvdiag.report.gitlab"),
    "sarif": (VALUES, "kvdiag.report.sarif"),
    "junit": (TEXT, "kvdiag.report.junit"),
    "prometheus": (TEXT, "kvdiag.report.prometheus"),
    "html": (PAGE, "kvdiag.report.page.analysis"),
}
WITH_LANES = frozenset({"html"})
"""The formats that need the lanes of a report."""


class RenderOptions(NamedTuple):
    """Options that every output format takes: colour, links, width in columns, verbosity, redaction of secrets."""

    colour: bool = False
    links: bool = False
    width: int = 80
    verbose: int = 0
    quiet: bool = False
    redact: bool = True
