"""`kvdiag events`: recognised events, one JSON object a line."""

from __future__ import annotations

import sys

import typer

from kvdiag.cli.arguments import NoRedact, Paths, Patterns, Year, Zone, folders, zone
from kvdiag.cli.outlet import outlet
from kvdiag.cli.progress import progress
from kvdiag.errors import InputError
from kvdiag.pipeline.analyze import inputs, know, read_history
from kvdiag.pipeline.options import Options
from kvdiag.report.clean import clean
from kvdiag.report.jsontext import json_text
from kvdiag.report.lines import event_line

UNREADABLE = 3


def command(
    paths: Paths = None, patterns: Patterns = None, year: Year = None, tz: Zone = "", no_redact: NoRedact = False
) -> None:
    """Print what was recognised as JSON lines."""
    options = Options(paths=tuple(paths or ()), patterns=folders(patterns), year=year, zone=zone(tz))
    problems: list[InputError] = []
    with progress(quiet=False) as tell:
        found = read_history(inputs(options, problems), know(options), options, problems, tell)
    for problem in problems:
        sys.stderr.write(f"kvdiag: {clean(str(problem))}\n")
    with outlet(None) as stream:
        for event in found.history.events:
            stream.write(json_text(event_line(event), redact=not no_redact))
    understood = any(reading.records for reading in found.readings)
    raise typer.Exit(0 if understood and not any(p.exit_code for p in problems) else UNREADABLE)
