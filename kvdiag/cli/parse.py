"""`kvdiag parse`: one JSON object per log record."""

from __future__ import annotations

import typer

from kvdiag.analysis.parse import records
from kvdiag.analysis.redact import redacted_records
from kvdiag.base.errors import InputError
from kvdiag.cli.arguments import LogOptions, NoRedact, Paths, grouped
from kvdiag.cli.outlet import outlet, print_note, reading_code
from kvdiag.report.jsontext import json_text, record_line


@grouped("since", "until", "patterns", "jobs")
def command(*, paths: Paths = None, logs: LogOptions, no_redact: NoRedact = False) -> None:
    """Print every log record as JSON lines."""
    problems: list[InputError] = []
    understood = False
    with outlet(None) as stream:
        found = records(logs.of(paths), problems.append)
        for record in found if no_redact else redacted_records(found):
            understood = understood or record.time is not None
            stream.write(json_text(record_line(record), redact=not no_redact))
    for problem in problems:
        print_note(str(problem))
    raise typer.Exit(reading_code(problems, understood=understood))
