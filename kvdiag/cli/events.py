"""`kvdiag events`: recognized events, one JSON object per line."""

from __future__ import annotations

from typing import Annotated

import typer

from kvdiag.analysis.case import Case
from kvdiag.base.errors import check_choice
from kvdiag.cli.arguments import LogOptions, NoRedact, Paths, grouped
from kvdiag.cli.outlet import outlet, print_note, reading_code
from kvdiag.cli.progress import progress
from kvdiag.report.jsontext import event_line, json_text

OUTPUTS = ("json", "ndjson")


@grouped()
def command(
    *,
    paths: Paths = None,
    logs: LogOptions,
    output: Annotated[str, typer.Option("-o", "--output", help=f"{', '.join(OUTPUTS)}: an object a line.")] = "json",
    no_redact: NoRedact = False,
) -> None:
    """Print recognized events as JSON lines."""
    check_choice("-o", output, OUTPUTS)
    case = Case(logs.of(paths))
    with outlet(None) as stream, progress(quiet=stream.isatty()) as on_read:
        analysis = case.read(progress=on_read)
        for event in analysis.history.events:
            stream.write(json_text(event_line(event), redact=not no_redact))
    for problem in case.problems:
        print_note(str(problem))
    understood = any(reading.records for reading in analysis.readings)
    raise typer.Exit(reading_code(case.problems, understood=understood))
