"""`kvdiag check`: analysis for CI: compact, exit 1 from severity high, annotations inside GitHub Actions."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from kvdiag.cli.analysis import FAIL_ON, OutputOptions, run_analysis
from kvdiag.cli.analyze import Quiet
from kvdiag.cli.arguments import (
    BaselineOption,
    ComponentOption,
    Limit,
    NamespaceOption,
    NoColor,
    NodeOption,
    NoRedact,
    OutputFile,
    Paths,
    PatternFolders,
    RuleOption,
    SeverityOption,
    ShowPossible,
    Since,
    SuppressionsOption,
    Until,
    WriteBaseline,
    YearOption,
    ZoneOption,
    choices,
    options_of,
    with_filters,
)
from kvdiag.cli.fast import OUTPUT
from kvdiag.model.values import Severity
from kvdiag.report import REPORTS

AUTOMATIC = "auto"
Output = Annotated[
    str,
    typer.Option(
        *OUTPUT,
        metavar="FORMAT",
        help=f"{', '.join(REPORTS)}; auto is github inside GitHub Actions, else compact.",
    ),
]
FailOn = Annotated[str, typer.Option("--fail-on", metavar=choices(FAIL_ON), help="Exit 1 from this severity on.")]


def command(
    paths: Paths = None,
    output: Output = AUTOMATIC,
    output_file: OutputFile = None,
    fail_on: FailOn = Severity.HIGH.label,
    since: Since = "",
    until: Until = "",
    namespace: NamespaceOption = "",
    node: NodeOption = "",
    severity: SeverityOption = Severity.INFO.label,
    rule: RuleOption = None,
    patterns: PatternFolders = None,
    year: YearOption = None,
    tz: ZoneOption = "",
    component: ComponentOption = None,
    show_possible: ShowPossible = True,
    baseline: BaselineOption = None,
    write_baseline: WriteBaseline = None,
    suppressions: SuppressionsOption = None,
    limit_seconds: Limit = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
    no_redact: NoRedact = False,
) -> None:
    """Check logs in CI: one line per finding, exit 1 from high on."""
    options = options_of(paths, patterns, year, tz, since, until)
    options = with_filters(options, (namespace, "", "", node), severity, rule, component)
    options = options._replace(show_possible=show_possible, limit=limit_seconds)
    chosen = _automatic() if output == AUTOMATIC else output
    known = (baseline, write_baseline, suppressions)
    output_options = OutputOptions(chosen, output_file, fail_on, quiet, 0, no_color, no_redact, *known, no_pager=True)
    raise typer.Exit(run_analysis(options, output_options))


def _automatic() -> str:
    return "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "compact"
