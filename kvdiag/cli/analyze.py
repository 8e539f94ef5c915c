"""`kvdiag analyze`: its options, as typer wants them; the work is in `kvdiag.cli.analysis`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kvdiag.cli.analysis import FAIL_ON, NEVER, OutputOptions, run_analysis, run_following
from kvdiag.cli.arguments import (
    Follow,
    Limit,
    NoRedact,
    Paths,
    PatternFolders,
    Since,
    Until,
    YearOption,
    ZoneOption,
    components,
    options_of,
    severity_of,
)
from kvdiag.cli.fast import FAIL_ON as EXIT_AT
from kvdiag.cli.fast import OUTPUT, QUIET
from kvdiag.model.values import Severity
from kvdiag.report import REPORTS

ComponentOption = Annotated[
    list[str] | None, typer.Option(help="Component version not found in the logs: kubelet=1.29.3.")
]
ShowPossible = Annotated[
    bool, typer.Option("--show-possible/--hide-possible", help="Show or hide findings the logs cannot confirm.")
]
VerboseOption = Annotated[
    int, typer.Option("-v", "--verbose", count=True, help="Print whole evidence lines, look-alikes and references.")
]


def command(
    paths: Paths = None,
    output: Annotated[str, typer.Option(*OUTPUT, help=f"{', '.join(REPORTS)}.")] = "text",
    output_file: Annotated[Path | None, typer.Option(help="Write the report here.")] = None,
    fail_on: Annotated[str, typer.Option(*EXIT_AT, help=f"Exit 1 at this severity: {', '.join(FAIL_ON)}.")] = NEVER,
    since: Since = "",
    until: Until = "",
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="Only findings of this namespace.")] = "",
    pod: Annotated[str, typer.Option(help="Only findings of this pod: name, ns/name or UID.")] = "",
    volume: Annotated[str, typer.Option(help="Only findings of this volume: PV name or handle.")] = "",
    node: Annotated[str, typer.Option(help="Only findings of this node.")] = "",
    severity: Annotated[str, typer.Option(help="Only findings of this severity or above.")] = Severity.INFO.label,
    rule: Annotated[list[str] | None, typer.Option(help="Only this rule, by id or name. Repeatable.")] = None,
    patterns: PatternFolders = None,
    year: YearOption = None,
    tz: ZoneOption = "",
    component: ComponentOption = None,
    show_possible: ShowPossible = True,
    limit_seconds: Limit = None,
    follow: Follow = False,
    quiet: Annotated[bool, typer.Option(*QUIET, help="Print findings only.")] = False,
    verbose: VerboseOption = 0,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colour (also NO_COLOR).")] = False,
    no_redact: NoRedact = False,
) -> None:
    """Find the root cause in node logs."""
    options = options_of(paths, patterns, year, tz, since, until)._replace(
        namespace=namespace,
        pod=pod,
        volume=volume,
        node=node,
        rules=tuple(rule or ()),
        components=components(component),
        show_possible=show_possible,
        limit=limit_seconds,
        severity=severity_of(severity),
    )
    output_options = OutputOptions(output, output_file, fail_on, quiet, verbose, no_color, no_redact)
    raise typer.Exit((run_following if follow else run_analysis)(options, output_options))
