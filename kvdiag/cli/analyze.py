"""`kvdiag analyze`: its options for typer. The work is done in `kvdiag.cli.analysis`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kvdiag.cli.analysis import FAIL_ON, NEVER, OutputOptions, run_analysis, run_following
from kvdiag.cli.arguments import (
    Also,
    FindingOptions,
    Follow,
    LogOptions,
    OutputFile,
    Paths,
    PrintOptions,
    choices,
    grouped,
    parse_also,
)
from kvdiag.cli.fast import FAIL_ON as EXIT_AT
from kvdiag.cli.fast import OUTPUT, QUIET
from kvdiag.report import REPORTS

Output = Annotated[str, typer.Option(*OUTPUT, metavar="FORMAT", help=f"{', '.join(REPORTS)}.")]
FailOn = Annotated[str, typer.Option(*EXIT_AT, metavar=choices(FAIL_ON), help="Exit 1 from this severity on.")]
Quiet = Annotated[bool, typer.Option(*QUIET, help="Print findings only.")]


@grouped()
def command(
    *,
    paths: Paths = None,
    output: Output = "text",
    output_file: OutputFile = None,
    also: Also = None,
    fail_on: FailOn = NEVER,
    logs: LogOptions,
    findings: FindingOptions,
    follow: Follow = False,
    quiet: Quiet = False,
    printing: PrintOptions,
) -> None:
    """Find the root cause in node logs."""
    files = {"output_file": output_file, "also": parse_also(also)}
    options = output_options(findings, printing, output=output, fail_on=fail_on, quiet=quiet, **files)
    raise typer.Exit((run_following if follow else run_analysis)(findings.added(logs.of(paths)), options))


def output_options(findings: FindingOptions, printing: PrintOptions, **values: Any) -> OutputOptions:  # noqa: ANN401
    """Return how the report is written; `values` are the fields of `OutputOptions` that no group has."""
    known = {name: getattr(findings, name) for name in ("baseline", "write_baseline", "suppressions")}
    return OutputOptions(**values, **known, **printing._asdict())
