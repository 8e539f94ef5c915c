"""`kvdiag check`: analysis for CI: compact, exit 1 from severity high, annotations inside GitHub Actions."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from kvdiag.cli.analysis import FAIL_ON, run_analysis
from kvdiag.cli.analyze import Quiet, output_options
from kvdiag.cli.arguments import (
    Also,
    FindingOptions,
    LogOptions,
    OutputFile,
    Paths,
    PrintOptions,
    choices,
    grouped,
    parse_also,
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


@grouped("pod", "volume", "verbose", "no_pager")
def command(
    *,
    paths: Paths = None,
    output: Output = AUTOMATIC,
    output_file: OutputFile = None,
    also: Also = None,
    fail_on: FailOn = Severity.HIGH.label,
    logs: LogOptions,
    findings: FindingOptions,
    quiet: Quiet = False,
    printing: PrintOptions,
) -> None:
    """Check logs in CI: one line per finding, exit 1 from high on."""
    chosen = _automatic() if output == AUTOMATIC else output
    printing = printing._replace(no_pager=True)
    files = {"output_file": output_file, "also": parse_also(also)}
    options = output_options(findings, printing, output=chosen, fail_on=fail_on, quiet=quiet, **files)
    raise typer.Exit(run_analysis(findings.added(logs.of(paths)), options))


def _automatic() -> str:
    return "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "compact"
