"""`kvdiag analyze`: findings, the root cause first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kvdiag.cli.arguments import NoRedact, Paths, Patterns, Year, Zone, components, folders, point, zone
from kvdiag.cli.outlet import coloured, outlet, width
from kvdiag.cli.progress import progress
from kvdiag.errors import UsageError
from kvdiag.model.report import Report
from kvdiag.model.values import Severity
from kvdiag.pipeline.analyze import analyze
from kvdiag.pipeline.options import Options
from kvdiag.report import REPORTS, Look, writer
from kvdiag.report.clean import clean

NEVER = "never"
FAIL_ON = (NEVER, *(severity.label for severity in Severity))
FOUND, UNREADABLE = 1, 3


def command(
    paths: Paths = None,
    output: Annotated[str, typer.Option("-o", "--output", help=f"{' or '.join(REPORTS)}.")] = "text",
    output_file: Annotated[Path | None, typer.Option(help="Write the report here.")] = None,
    fail_on: Annotated[str, typer.Option(help=f"Exit 1 at this severity: {', '.join(FAIL_ON)}.")] = NEVER,
    since: Annotated[str, typer.Option(help="Only what happened from then on: RFC 3339, '2 hours ago', -3h.")] = "",
    until: Annotated[str, typer.Option(help="Only what happened until then.")] = "",
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="Only findings of this namespace.")] = "",
    pod: Annotated[str, typer.Option(help="Only findings of this pod: name, ns/name or UID.")] = "",
    volume: Annotated[str, typer.Option(help="Only findings of this volume: PV name or handle.")] = "",
    node: Annotated[str, typer.Option(help="Only findings of this node.")] = "",
    rule: Annotated[list[str] | None, typer.Option(help="Only this rule, by id or name. Repeatable.")] = None,
    patterns: Patterns = None,
    year: Year = None,
    tz: Zone = "",
    component: Annotated[list[str] | None, typer.Option(help="A version the logs do not say: kubelet=1.29.3.")] = None,
    show_possible: Annotated[bool, typer.Option("--show-possible/--hide-possible", help="Findings with doubts.")] = True,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Findings only.")] = False,
    verbose: Annotated[int, typer.Option("-v", "--verbose", count=True, help="Whole evidence lines, references.")] = 0,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colour (also NO_COLOR).")] = False,
    no_redact: NoRedact = False,
) -> None:
    """Find the root cause in kubelet, containerd and CSI driver logs, read together."""
    if output not in REPORTS:
        raise UsageError(f"-o {output}: no such output; there are {', '.join(REPORTS)}")
    if fail_on not in FAIL_ON:
        raise UsageError(f"--fail-on {fail_on}: no such severity; there are {', '.join(FAIL_ON)}")
    east = zone(tz)
    options = Options(
        paths=tuple(paths or ()),
        since=point("--since", since, east),
        until=point("--until", until, east),
        namespace=namespace,
        pod=pod,
        volume=volume,
        node=node,
        rules=tuple(rule or ()),
        patterns=folders(patterns),
        year=year,
        zone=east,
        components=components(component),
        show_possible=show_possible,
    )
    with progress(quiet=quiet) as tell:
        report = analyze(options, tell)
    _complain(report)
    with outlet(output_file) as stream:
        colour = coloured(stream, no_color=no_color)
        look = Look(colour=colour, width=width(stream), verbose=verbose, quiet=quiet, redact=not no_redact)
        writer(output)(report, stream, look)
    raise typer.Exit(exit_code(report, fail_on))


def exit_code(report: Report, fail_on: str) -> int:
    """1 findings at or above the threshold, 3 something unreadable or nothing understood, else 0."""
    if fail_on != NEVER and any(finding.severity >= Severity.of(fail_on) for finding in report.findings):
        return FOUND
    understood = any(reading.records for reading in report.inputs)
    return 0 if understood and not report.problems else UNREADABLE


def _complain(report: Report) -> None:
    for note in (*report.problems, *report.notes):
        sys.stderr.write(f"kvdiag: {clean(note)}\n")
