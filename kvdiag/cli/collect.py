"""`kvdiag collect`: the logs of a node that findings rest on, as one archive."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from kvdiag import __version__
from kvdiag.analysis.anonymize import Inputs
from kvdiag.analysis.redact import RedactionCounts, redacted_bytes, with_output_paths
from kvdiag.base.clock import to_datetime
from kvdiag.base.errors import InputError, UsageError
from kvdiag.cli.arguments import parse_time
from kvdiag.cli.fleet import parse_memory
from kvdiag.cli.node_bundle import MOUNTED, PODS, Bundle, Wanted, host_name, whole_day
from kvdiag.cli.outlet import print_note
from kvdiag.cli.requests import Requests, read_requests
from kvdiag.fleet.places import is_remote, place, scratch
from kvdiag.inputs.files import atomic_write
from kvdiag.model.options import Options
from kvdiag.safe.clean import clean
from kvdiag.safe.secrets import redacted

STDOUT = "-"
ABOUT = "collected.json"


def command(
    dest: Annotated[str, typer.Argument(metavar="DEST", help="A file .tar.gz, an object s3://…, or - for stdout.")],
    root: Annotated[Path, typer.Option(help="Where the node's root is mounted, such as /host.")] = Path("/"),
    since: Annotated[str, typer.Option(metavar="TIME", help="From this time: RFC 3339, -3h.")] = "-24h",
    day: Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="This day (UTC) instead.")] = "",
    pods: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help=f"Folders of /var/log/pods. Repeatable. [default: {', '.join(PODS)}]"),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--for", metavar="REPORT", help="Only what this report of analyze -o json asks for.")
    ] = None,
    max_size: Annotated[str, typer.Option(metavar="SIZE", help="Most bytes of logs: 512M, 2G.")] = "512M",
    limit_seconds: Annotated[float, typer.Option(metavar="N", min=1, help="Stop reading after this time.")] = 300,
    redact: Annotated[bool, typer.Option("--redact", help="Remove secrets from the logs.")] = False,
) -> None:
    """Collect the logs of this node as one archive.

    Journal, drivers, static pods and mounts, or with --for what a report asks for; the newest lines if it is too much.
    """
    begin, end = _span(since, day)
    requests = read_requests(report) if report else None
    size = parse_memory(max_size, "--max-size")
    wanted = Wanted(root, begin, end, pods or PODS, size, time.monotonic() + limit_seconds)
    with scratch() as folder:
        bundle = Bundle(folder / "logs", wanted)
        bundle.folder.mkdir()
        found = _collect(bundle, requests, host_name(root))
        if not {*found} - {MOUNTED}:
            raise InputError(str(root), "\n  ".join(["no log of the node was found", *map(clean, bundle.notes)]))
        logs = _redacted(bundle, folder / "redacted") if redact else bundle.folder
        about = {"kvdiag": __version__, "since": f"{begin:%FT%TZ}", "until": f"{end:%FT%TZ}", "notes": bundle.notes}
        (logs / ABOUT).write_text(json.dumps({**about, "files": found}, indent=1) + "\n", "utf-8")
        _deliver(_archive(logs, folder / "bundle.tar.gz"), dest)
    for note in bundle.notes:
        print_note(note)
    begin = min([begin, *(one.begins for one in (requests.logs if requests else ()) if one.begins)])
    logs_found = "1 log" if len(found) == 1 else f"{len(found)} logs"
    print_note(f"{logs_found}, {size - bundle.left:,} bytes, from {begin:%F %TZ} to {end:%F %TZ}: {dest}")


def _collect(bundle: Bundle, requests: Requests | None, host: str) -> list[str]:
    if requests is None:
        return bundle.collect()
    if note := requests.note_of_other_node(host):
        bundle.notes.append(note)
    bundle.notes += [f"not collected, as this command is not run: {command}" for command in requests.commands]
    return bundle.collect_requests(requests.logs)


def _archive(logs: Path, archive: Path) -> Path:
    with tarfile.open(archive, "w:gz", compresslevel=6) as tar:
        for path in sorted(logs.rglob("*")):
            tar.add(path, path.relative_to(logs).as_posix(), recursive=False)
    return archive


def _span(since: str, day: str) -> tuple[datetime, datetime]:
    if day:
        try:
            return whole_day(day)
        except ValueError:
            raise UsageError(f"--day {day}: write a day such as 2026-03-12") from None
    begin = parse_time("--since", since, None)
    return to_datetime(begin or 0), datetime.now(UTC)


def _redacted(bundle: Bundle, folder: Path) -> Path:
    """Write the logs without secrets into another folder. A log that cannot be read is left out."""
    problems: list[InputError] = []
    inputs = Inputs(Options(paths=(str(bundle.folder),)))
    for source, path in with_output_paths(inputs.sources(problems.append), folder, str):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(redacted_bytes(source, str, RedactionCounts()))
    bundle.notes.extend(str(problem).replace(f"{bundle.folder}/", "") for problem in problems)
    logs = folder.joinpath(*bundle.folder.parts[1:])
    if (mounts := bundle.folder / MOUNTED).exists():  # no log, so that it is not among the inputs
        (logs / MOUNTED).write_text(redacted(mounts.read_text("utf-8", "surrogateescape")), "utf-8", "surrogateescape")
    return logs


def _deliver(archive: Path, dest: str) -> None:
    try:
        if dest == STDOUT:
            with archive.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        elif is_remote(dest):
            parent, _, name = dest.rpartition("/")
            place(parent).put(name, archive.read_bytes())
        else:
            with archive.open("rb") as file, atomic_write(Path(dest)) as target:
                shutil.copyfileobj(file, target)
            os.chmod(dest, 0o600)  # noqa: PTH101 (logs may hold secrets)
    except OSError as error:
        raise UsageError(f"{dest} cannot be written: {error.strerror or error}") from None
