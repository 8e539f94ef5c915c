"""`kvdiag errors`: lines of level warning or worse in groups, and what explains them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kvdiag.analysis.analyze import analyze
from kvdiag.base.errors import check_choice
from kvdiag.cli.analysis import NEVER, exit_code
from kvdiag.cli.arguments import Limit, LogOptions, Paths, PrintOptions, grouped, parse_components
from kvdiag.cli.outlet import print_note
from kvdiag.cli.pager import open_output
from kvdiag.cli.progress import progress
from kvdiag.report.errors_json import OUTPUTS, write_errors


@grouped("verbose", "no_color")
def command(
    *,
    paths: Paths = None,
    output: Annotated[str, typer.Option("-o", "--output", help=f"{', '.join(OUTPUTS)}.")] = "text",
    output_file: Annotated[Path | None, typer.Option(help="Write the list here.")] = None,
    show_benign: Annotated[bool, typer.Option("--show-benign", help="Also list what is known to be harmless.")] = False,
    logs: LogOptions,
    component: Annotated[
        list[str] | None, typer.Option(help="Component version not found in the logs: kubelet=1.29.3.")
    ] = None,
    limit_seconds: Limit = None,
    printing: PrintOptions,
) -> None:
    """Group warnings and errors; show which are unexplained."""
    check_choice("-o", output, OUTPUTS)
    options = logs.of(paths)._replace(components=parse_components(component), limit=limit_seconds)
    with progress(quiet=False) as on_read:
        report = analyze(options, on_read)
    for note in (*report.problems, *report.notes):
        print_note(note)
    with open_output(output_file, output, **printing.switches) as (stream, style):
        write_errors(report, output, stream, style, show_benign=show_benign)
    raise typer.Exit(exit_code(report, NEVER))
