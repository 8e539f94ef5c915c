"""`kvdiag analyze`: its options for typer. The work is done in `kvdiag.cli.analysis`."""

from __future__ import annotations

from typing import Annotated

import typer

from kvdiag.cli.analysis import FAIL_ON, NEVER, OutputOptions, run_analysis, run_following
from kvdiag.cli.arguments import (
    BaselineOption,
    ComponentOption,
    Follow,
    Limit,
    NamespaceOption,
    NoColor,
    NodeOption,
    NoPager,
    NoRedact,
    OutputFile,
    Paths,
    PatternFolders,
    PodOption,
    RuleOption,
    SeverityOption,
    ShowPossible,
    Since,
    SuppressionsOption,
    Until,
    VerboseOption,
    VolumeOption,
    WriteBaseline,
    YearOption,
    ZoneOption,
    choices,
    options_of,
    with_filters,
)
from kvdiag.cli.fast import FAIL_ON as EXIT_AT
from kvdiag.cli.fast import OUTPUT, QUIET
from kvdiag.model.values import Severity
from kvdiag.report import REPORTS

Output = Annotated[str, typer.Option(*OUTPUT, metavar="FORMAT", help=f"{', '.join(REPORTS)}.")]
FailOn = Annotated[str, typer.Option(*EXIT_AT, metavar=choices(FAIL_ON), help="Exit 1 from this severity on.")]
Quiet = Annotated[bool, typer.Option(*QUIET, help="Print findings only.")]


def command(
    paths: Paths = None,
    output: Output = "text",
    output_file: OutputFile = None,
    fail_on: FailOn = NEVER,
    since: Since = "",
    until: Until = "",
    namespace: NamespaceOption = "",
    pod: PodOption = "",
    volume: VolumeOption = "",
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
    follow: Follow = False,
    quiet: Quiet = False,
    verbose: VerboseOption = 0,
    no_color: NoColor = False,
    no_pager: NoPager = False,
    no_redact: NoRedact = False,
) -> None:
    """Find the root cause in node logs."""
    options = options_of(paths, patterns, year, tz, since, until)
    options = with_filters(options, (namespace, pod, volume, node), severity, rule, component)
    options = options._replace(show_possible=show_possible, limit=limit_seconds)
    known = (baseline, write_baseline, suppressions)
    output_options = OutputOptions(output, output_file, fail_on, quiet, verbose, no_color, no_redact, *known, no_pager)
    raise typer.Exit((run_following if follow else run_analysis)(options, output_options))
