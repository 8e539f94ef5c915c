"""`kvdiag timeline`: all events of one pod, volume, sandbox or node, over all logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kvdiag.analysis.timeline import timelines
from kvdiag.base.errors import UsageError, check_choice
from kvdiag.cli.arguments import LogOptions, Paths, PrintOptions, grouped
from kvdiag.cli.outlet import Notes
from kvdiag.cli.pager import open_output
from kvdiag.model.values import SubjectKind
from kvdiag.report.timeline import TIMELINES, timeline_writer

KINDS = ", ".join(str(kind) for kind in SubjectKind)


@grouped("verbose")
def command(
    *,
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"{KINDS}; may be left out.")] = "",
    ref: Annotated[
        str, typer.Argument(metavar="REF", help="ns/name, UID, PV name, handle, id, or a unique prefix.")
    ] = "",
    paths: Paths = None,
    output: Annotated[str, typer.Option("-o", "--output", help=f"{', '.join(TIMELINES)}.")] = "text",
    output_file: Annotated[Path | None, typer.Option(help="Write the timeline here.")] = None,
    raw: Annotated[bool, typer.Option(help="Show every retry; fold nothing.")] = False,
    logs: LogOptions,
    verbose: Annotated[int, typer.Option("-v", "--verbose", count=True, help="Show each line's message.")] = 0,
    printing: PrintOptions,
) -> None:
    """Show what happened to one pod, volume, sandbox or node."""
    kinds, name, paths = _parse_subject(kind, ref, paths or [])
    check_choice("-o", output, TIMELINES)
    notes = Notes()
    views = timelines(kinds, name, logs.of(paths), notes, raw=raw)
    with open_output(output_file, output, **printing.switches) as (stream, style):
        timeline_writer(output)(views, stream, style._replace(verbose=verbose))
    raise typer.Exit(notes.exit_code)


def _parse_subject(kind: str, ref: str, paths: list[str]) -> tuple[tuple[SubjectKind, ...], str, list[str]]:
    """Return the kinds to search, the name, and the paths: from `pods shop/web-0 DIR` or `shop/web-0 DIR`."""
    if not kind:
        raise UsageError("timeline: of what? give a pod, volume, sandbox or node by its name, UID, handle or id")
    single = kind.removesuffix("es") if kind.endswith("xes") else kind.removesuffix("s")
    if single in set(SubjectKind):
        if not ref:
            raise UsageError(f"timeline {kind}: which one? give its name, UID, handle or id")
        return (SubjectKind(single),), ref, paths
    if not ref and Path(kind).is_file():
        hint = f"kvdiag timeline NAME {kind}; `kvdiag pods {kind}` and `kvdiag volumes {kind}` list the names in it"
        raise UsageError(f"timeline {kind}: of what in this file? {hint}")
    return tuple(SubjectKind), kind, [*([ref] if ref else []), *paths]
