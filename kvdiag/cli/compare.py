"""`kvdiag compare`: where two pods, volumes or logs diverge."""

from __future__ import annotations

from typing import Annotated

import typer

from kvdiag.analysis.compare import compare
from kvdiag.base.errors import check_choice
from kvdiag.cli.arguments import LogOptions, PrintOptions, grouped
from kvdiag.cli.outlet import Notes
from kvdiag.cli.pager import open_output
from kvdiag.report.comparison import OUTPUTS, write_comparison


@grouped("patterns", "verbose", "no_color")
def command(
    *,
    left: Annotated[str, typer.Argument(metavar="A", help="A pod, a volume or a log.")],
    right: Annotated[str, typer.Argument(metavar="B", help="Another of the same kind.")],
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Logs to search for A and B; omit when A and B are logs.")
    ] = None,
    output: Annotated[str, typer.Option("-o", "--output", help=f"{', '.join(OUTPUTS)}.")] = "text",
    logs: LogOptions,
    printing: PrintOptions,
) -> None:
    """Show where two pods, volumes or logs diverge."""
    check_choice("-o", output, OUTPUTS)
    notes = Notes()
    comparison = compare(left, right, logs.of(paths), notes)
    with open_output(None, output, **printing.switches) as (stream, style):
        write_comparison(comparison, output, stream, style)
    raise typer.Exit(notes.exit_code)
