"""`kvdiag fleet`: many nodes at once, on this machine or a Dask cluster, and queries on the results."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvdiag.base.clock import to_datetime
from kvdiag.base.errors import InputError, UsageError
from kvdiag.cli.arguments import OutputFile, parse_time
from kvdiag.cli.help import PLAIN, Command, Group
from kvdiag.cli.outlet import outlet, print_note
from kvdiag.fleet.bundles import LAYOUT
from kvdiag.fleet.places import absolute
from kvdiag.fleet.values import MEMORY, SECONDS, Limits, day_of

if TYPE_CHECKING:
    from kvdiag.fleet.fleetrun import Engine

FAILED, STOPPED = 3, 4
"""Exit codes: some bundles could not be judged; the run did not take place, and may succeed later."""
BOTH = 2  # the results of two runs
ENGINES = ("local", "dask")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

app = typer.Typer(cls=Group, help="Analyze the bundles of many nodes, and query them.", no_args_is_help=True, **PLAIN)

Seconds = Annotated[float, typer.Option(metavar="N", min=0.1, help="Time for one bundle, or one cluster.")]
Keep = Annotated[
    int, typer.Option(metavar="DAYS", min=0, help="Delete results of logs that ended earlier; 0: keep all.")
]
MEMORY_WORD = f"{MEMORY >> 30}G"
Memory = Annotated[str, typer.Option(metavar="SIZE", help="Memory for one bundle: 512M, 2G.")]
Day = Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="Only results of this day (UTC).")]
Dest = Annotated[str, typer.Argument(help="The folder or s3://… with the results.")]


@app.command("run", cls=Command)
def run(
    sources: Annotated[list[str] | None, typer.Argument(metavar="SOURCE", help="Folders or s3://… of bundles.")] = None,
    dest: Annotated[str, typer.Option("--out", metavar="DEST", help="Where results go: a folder or s3://…")] = "",
    engine: Annotated[str, typer.Option(help=f"{' or '.join(ENGINES)}.")] = ENGINES[0],
    scheduler: Annotated[str, typer.Option(help="The Dask scheduler: tls://HOST:8786.")] = "",
    layout: Annotated[str, typer.Option(help=f"Pattern of the paths with cluster and node. [default: {LAYOUT}]")] = "",
    manifest: Annotated[Path | None, typer.Option(help="CSV or JSON lines with path, node and cluster.")] = None,
    limit_seconds: Seconds = SECONDS,
    limit_memory: Memory = MEMORY_WORD,
    workers: Annotated[int, typer.Option(min=0, help="How many bundles at once; 0: one for each core.")] = 0,
    shard: Annotated[str, typer.Option(metavar="I/N", help="Only part I of N, from 0; /N in an Indexed Job.")] = "",
    keep: Keep = 0,
) -> None:
    """Analyze each bundle in a process of its own, and store what was found."""
    _need_extra("fleet", "pyarrow", "duckdb")
    from kvdiag.fleet import bundles
    from kvdiag.fleet.fleetrun import FEW, read_shard, run_fleet
    from kvdiag.fleet.progress import FleetProgress

    if not dest:
        raise UsageError("--out DEST: say where the results go")
    if bool(sources) == bool(manifest):
        raise UsageError("give either SOURCE or --manifest")
    limits = Limits(limit_seconds, parse_memory(limit_memory))
    part = read_shard(shard, os.environ.get("JOB_COMPLETION_INDEX", ""))
    target, chosen = absolute(dest), _engine(engine, scheduler, workers)
    with _not_taken_place():
        found = list(bundles.manifest(manifest) if manifest else bundles.bundles(sources, layout, print_note, target))
        shard_bundles = [one for one in found if part.has(one)]
        if keep:
            shard_bundles = [one for one in shard_bundles if day_of(one) >= oldest(keep).isoformat()]
        is_part = part.count > 1  # the clusters are joined when all parts are done
        progress = run_fleet(shard_bundles, target, limits, chosen, partial(FleetProgress, sys.stderr), is_part=is_part)
        failed = 0 if is_part else _finish(target, limits, chosen, keep, fewest=FEW)
    progress.end()
    raise typer.Exit(FAILED if failed or progress.failed or progress.partial else 0)


@contextlib.contextmanager
def _not_taken_place() -> Iterator[None]:
    """End with STOPPED if the sources or the results cannot be reached or written, or the memory is not enough.

    Their usual exit code says that a run took place and some bundles could not be judged, which jobs take for success.
    """
    try:
        yield
    except (InputError, MemoryError, OSError) as error:
        print_note(str(error) or "out of memory")
        raise typer.Exit(STOPPED) from None


@app.command("report", cls=Command)
def report(
    dest: Dest,
    output: Annotated[str, typer.Option("-o", "--output", help="text, json, markdown or html.")] = "text",
    output_file: OutputFile = None,
    cluster: Annotated[str, typer.Option(metavar="NAME", help="Only this cluster.")] = "",
    since: Annotated[str, typer.Option(metavar="TIME", help="Only what was seen after this time.")] = "",
    day: Day = "",
) -> None:
    """Show the root causes, the worst first: their nodes, versions and first step; sick nodes without one."""
    _need_extra("fleet", "pyarrow", "duckdb")
    from kvdiag.fleet.overview import overview
    from kvdiag.fleet.page import MOST_NAMED, write_overview

    _choose("-o", output, tuple(MOST_NAMED))
    begin = parse_time("--since", since, None)
    from_time, named = None if begin is None else to_datetime(begin), MOST_NAMED[output]
    result = overview(absolute(dest), cluster=cluster, since=from_time, day=parse_day("--day", day), named=named)
    with outlet(output_file) as stream:
        write_overview(result, stream, output)


@app.command("compare", cls=Command)
def compare(
    dests: Annotated[list[str], typer.Argument(metavar="DEST...", help="Results, or an earlier and a later DEST.")],
    day: Day = "",
    before: Annotated[
        str, typer.Option(metavar="YYYY-MM-DD", help="The day to compare with. [default: the last before]")
    ] = "",
    cluster: Annotated[str, typer.Option(metavar="NAME", help="Only this cluster.")] = "",
    output: Annotated[str, typer.Option("-o", "--output", help="table, csv or json.")] = "table",
    output_file: OutputFile = None,
) -> None:
    """Show which root causes and nodes are new since the day before, or since another run."""
    _need_extra("fleet", "pyarrow", "duckdb")
    from kvdiag.fleet.compare import Side, notes
    from kvdiag.fleet.compare import compare as compared
    from kvdiag.fleet.page import ANSWERS, write_answer

    _choose("-o", output, ANSWERS)
    if len(dests) > BOTH:
        raise UsageError("fleet compare: give one DEST, or an earlier and a later one")
    old, new = (
        Side(absolute(dests[0]), parse_day("--before", before)),
        Side(absolute(dests[-1]), parse_day("--day", day)),
    )
    found = compared(old, new, cluster)
    for note in notes(found):
        print_note(note)
    with outlet(output_file) as stream:
        write_answer(found.changes, stream, output)


@app.command("status", cls=Command)
def status(
    dest: Dest,
    output: Annotated[str, typer.Option("-o", "--output", help="table, csv or json.")] = "table",
) -> None:
    """Show how many nodes of each cluster are done, failed or read in part."""
    _need_extra("fleet", "pyarrow", "duckdb")
    from kvdiag.fleet.overview import state
    from kvdiag.fleet.page import ANSWERS, write_answer

    _choose("-o", output, ANSWERS)
    answer = state(absolute(dest))
    with outlet(None) as stream:
        write_answer(answer, stream, output)


@app.command("compact", cls=Command)
def compact(dest: Dest, limit_seconds: Seconds = SECONDS, limit_memory: Memory = MEMORY_WORD, keep: Keep = 0) -> None:
    """Join shared volumes if not done yet, and store the results of each day in few files."""
    _need_extra("fleet", "pyarrow", "duckdb")
    from kvdiag.fleet.local_engine import run_local

    limits = Limits(limit_seconds, parse_memory(limit_memory))
    raise typer.Exit(FAILED if _finish(absolute(dest), limits, run_local, keep, fewest=0) else 0)


def _finish(dest: str, limits: Limits, engine: Engine, keep: int, *, fewest: int) -> int:
    """Join the clusters, delete old days and merge the files of the others; return how many jobs failed."""
    from kvdiag.fleet.compact import forget_before
    from kvdiag.fleet.fleetrun import join_clusters
    from kvdiag.fleet.places import place

    failed = 0
    for outcome in join_clusters(dest, limits, engine):
        for note in outcome.notes:
            print_note(f"{outcome.cluster}: {note}")
        failed += bool(outcome.reason)
        if outcome.reason:
            print_note(f"{outcome.cluster}: its shared volumes: {outcome.reason}; {outcome.next_step}")
        elif outcome.findings:
            print_note(f"{outcome.cluster}: {outcome.findings:,} findings that no node shows alone")
    if keep and (count := forget_before(place(dest), oldest(keep))):
        print_note(f"{count:,} files of days before {oldest(keep)} were deleted")
    _merge(dest, limits, engine, fewest=fewest)
    return failed


def _merge(dest: str, limits: Limits, engine: Engine, *, fewest: int) -> None:
    from kvdiag.fleet.fleetrun import merge_days

    for outcome in merge_days(dest, limits, engine, fewest=fewest):
        if outcome.reason:  # the results are valid, and merged later
            print_note(f"{outcome.node}: not merged: {outcome.reason}; {outcome.next_step}")


def oldest(keep: int) -> date:
    """Return the oldest of the last `keep` days (UTC), today included."""
    return datetime.now(UTC).date() - timedelta(days=keep - 1)


@app.command("sql", cls=Command)
def sql(
    dest: Dest,
    question: Annotated[str, typer.Argument(metavar="SELECT", help="A SELECT in DuckDB's SQL.")],
    output: Annotated[str, typer.Option("-o", "--output", help="table, csv or json.")] = "table",
    output_file: OutputFile = None,
) -> None:
    """Query the results: findings, events, volumes, inputs, coverage, versions, errors, failed, joined."""
    _need_extra("fleet", "pyarrow", "duckdb")
    from kvdiag.fleet.page import ANSWERS, write_answer
    from kvdiag.fleet.places import place
    from kvdiag.fleet.questions import Questions, tables_of

    _choose("-o", output, ANSWERS)
    answer = Questions(place(absolute(dest)), tables=tables_of(question)).ask_user(question)
    with outlet(output_file) as stream:
        write_answer(answer, stream, output)


def _choose(option: str, word: str, known: Sequence[str]) -> None:
    if word not in known:
        raise UsageError(f"{option} {word}: unknown output; choose from {', '.join(known)}")


def parse_day(option: str, text: str) -> str:
    """Return a day as it is written in paths. Raise UsageError for another form."""
    try:
        return date.fromisoformat(text).isoformat() if text else ""
    except ValueError:
        raise UsageError(f"{option} {text}: write a day such as 2026-03-12") from None


def parse_memory(text: str, option: str = "--limit-memory") -> int:
    """Parse `512M` into bytes. Raise UsageError for another form."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not found:
        raise UsageError(f"{option} {text}: write a number and K, M, G or T, such as 2G")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _engine(name: str, scheduler: str, workers: int) -> Engine:
    if name not in ENGINES:
        raise UsageError(f"--engine {name}: unknown engine; choose from {', '.join(ENGINES)}")
    if name == "local":
        from kvdiag.fleet.local_engine import run_local

        return partial(run_local, workers=workers)
    _need_extra("dask", "distributed")
    from kvdiag.fleet.dask_engine import run_dask

    address = scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS", "")
    if not address:
        raise UsageError("--engine dask: give --scheduler tls://HOST:8786")
    return partial(run_dask, scheduler=address)


def _need_extra(extra: str, *packages: str) -> None:
    from importlib.util import find_spec

    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise UsageError(f"kvdiag fleet needs the extra {extra!r}: pip install 'kvdiag[{extra}]' (no {missing[0]})")
