"""`kvdiag events`: recognized events, one JSON object per line."""

from __future__ import annotations

from typing import Annotated

import typer

from kvdiag.analysis.events import list_events
from kvdiag.base.errors import UsageError
from kvdiag.cli.arguments import NoRedact, Paths, PatternFolders, Since, Until, YearOption, ZoneOption, options_of
from kvdiag.cli.outlet import outlet, print_note, reading_code
from kvdiag.cli.progress import progress
from kvdiag.model.event import Event
from kvdiag.report.json_lines import event_line
from kvdiag.report.jsontext import json_text

OUTPUTS = ("json", "ndjson")


def command(
    paths: Paths = None,
    since: Since = "",
    until: Until = "",
    patterns: PatternFolders = None,
    year: YearOption = None,
    tz: ZoneOption = "",
    output: Annotated[str, typer.Option("-o", "--output", help=f"{', '.join(OUTPUTS)}: an object a line.")] = "json",
    no_redact: NoRedact = False,
) -> None:
    """Print recognized events as JSON lines."""
    if output not in OUTPUTS:
        raise UsageError(f"-o {output}: unknown output; choose from {', '.join(OUTPUTS)}")
    options = options_of(paths, patterns, year, tz, since, until)
    with outlet(None) as stream, progress(quiet=stream.isatty()) as on_read:

        def print_event(event: Event) -> None:
            stream.write(json_text(event_line(event), redact=not no_redact))

        listed = list_events(options, print_event, on_read)
    for note in (*map(str, listed.problems), *listed.notes):
        print_note(note)
    raise typer.Exit(reading_code(listed.problems, understood=listed.understood))
