"""Write a report: one module for each output format, each with `write(report, stream, options)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:  # for annotations only: the help of a command needs no report
    from kvdiag.model.report import Report

REPORTS: Mapping[str, str] = {
    "text": "kvdiag.report.terminal",
    "json": "kvdiag.report.json_report",
    "ndjson": "kvdiag.report.ndjson",
    "compact": "kvdiag.report.compact",
    "markdown": "kvdiag.report.markdown",
    "github": "kvdiag.report.github",
    "gitlab": "kvdiag.report.gitlab",
    "sarif": "kvdiag.report.sarif",
    "junit": "kvdiag.report.junit",
    "prometheus": "kvdiag.report.prometheus",
    "html": "kvdiag.report.page.analysis",
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


def writer(name: str) -> Callable[[Report, TextIO, RenderOptions], None]:
    """Return the function that writes this format. Its module is imported here and not at start-up."""
    write: Callable[[Report, TextIO, RenderOptions], None] = import_module(REPORTS[name]).write
    return write
