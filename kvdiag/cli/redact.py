"""`kvdiag redact`: a log without secrets and, with --anonymize, without names."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from kvdiag.analysis.anonymize import Inputs, mask_names, seekable
from kvdiag.analysis.redact import RedactionCounts, Rewrite, redacted_bytes, with_output_paths
from kvdiag.base.errors import InputError, UsageError
from kvdiag.cli.arguments import Paths
from kvdiag.cli.outlet import UNREADABLE, print_note
from kvdiag.inputs.files import atomic_write
from kvdiag.model.options import Options
from kvdiag.safe.clean import clean


def command(
    paths: Paths = None,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Also replace names, hosts, addresses, UIDs and ids, consistently.")
    ] = False,
    salt: Annotated[
        str, typer.Option(metavar="WORD", help="Reuse this word to get the same replacements in another run.")
    ] = "",
    output_file: Annotated[Path | None, typer.Option(help="Write the log to this file.")] = None,
    output_folder: Annotated[Path | None, typer.Option(help="Write each log under this folder.")] = None,
) -> None:
    """Remove secrets from logs so that they can be shared."""
    if salt and not anonymize:
        raise UsageError("--salt needs --anonymize")
    if output_file and output_folder:
        raise UsageError("--output-file and --output-folder cannot be used together")
    counts = RedactionCounts()
    problems: list[InputError] = []
    options = Options(paths=tuple(paths or ()))
    hidden: Mapping[str, int] = {}
    if not anonymize:
        _write(Inputs(options), str, counts, problems, (output_file, output_folder))
    else:
        with seekable(options) as twice:
            known, mask = mask_names(twice, salt)
            _write(known, mask.apply, counts, problems, (output_file, output_folder))
            hidden = mask.replaced
    for problem in problems:
        print_note(str(problem))
    for note in _summary(counts, hidden if anonymize else None):
        print_note(note)
    raise typer.Exit(UNREADABLE if not counts.lines or any(p.exit_code for p in problems) else 0)


def _write(
    inputs: Inputs,
    change: Rewrite,
    counts: RedactionCounts,
    problems: list[InputError],
    outputs: tuple[Path | None, Path | None],
) -> None:
    file, folder = outputs
    found = inputs.sources(problems.append)
    if folder:
        for source, path in with_output_paths(found, folder, change):
            _to_file(path, redacted_bytes(source, change, counts))
        return
    for number, source in enumerate(found):
        if number:
            raise UsageError("several logs: use --output-folder; only the first one was written")
        if file:
            _to_file(file, redacted_bytes(source, change, counts))
        else:
            lines = redacted_bytes(source, change, counts)
            sys.stdout.buffer.writelines(map(_visible, lines) if sys.stdout.isatty() else lines)
            sys.stdout.buffer.flush()


def _visible(line: bytes) -> bytes:
    """Return a line that is safe for a terminal; files and pipes get it unchanged."""
    text = line.decode("utf-8", "surrogateescape").removesuffix("\n")
    return clean(text, redact=False).encode() + b"\n"


def _to_file(path: Path, lines: Iterable[bytes]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path}: file exists; choose another path")
        with atomic_write(path) as file:
            file.writelines(lines)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from None


def _summary(counts: RedactionCounts, hidden: Mapping[str, int] | None) -> Iterator[str]:
    cut = f", {counts.cut} lines over 1 MB cut" if counts.cut else ""
    yield f"{counts.lines} lines, secrets removed from {counts.secrets}{cut}; review it before you share it"
    if counts.unread:
        where = clean(counts.first_unread)
        yield f"{counts.unread} lines are not text, the first at {where}; they may still hold secrets"
    if hidden is not None:
        kinds = [f"{count} {kind}" for kind, count in sorted(hidden.items(), key=lambda item: (-item[1], item[0]))]
        yield f"replaced: {', '.join(kinds) or 'nothing'}"
