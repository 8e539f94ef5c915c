"""Write logs that can be shared: without secrets and, if requested, with names masked.

A log is decoded where a secret could be hidden otherwise: UTF-16, lines that were split, keys over several lines.
Everything else is written unchanged, also what is not recognized.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kvdiag.analysis.multiline_secrets import group_lines, without_secrets
from kvdiag.base.errors import skip_faults
from kvdiag.inputs.folded import rewriting_reader
from kvdiag.inputs.journal import detect_export
from kvdiag.inputs.lines import LineMap
from kvdiag.inputs.readers import BorrowedReader
from kvdiag.inputs.repair import Transcoded
from kvdiag.inputs.scan.blocks import blocks
from kvdiag.inputs.scan.partial_lines import join_parts
from kvdiag.inputs.sniff import is_log_name
from kvdiag.inputs.source import STDIN, Source
from kvdiag.safe.forms.pem import without_keys
from kvdiag.safe.secrets import REDACTED

Rewrite = Callable[[str], str]

PACKED = {".gz", ".bz2", ".xz", ".zst"}
ENDINGS = {".log", ".txt", ".json", ".yaml", ".yml", ".journal"}


@dataclass(slots=True)
class RedactionCounts:
    """Counts of the output: lines, redacted lines, cut lines, lines that are not text, and the first of these."""

    lines: int = 0
    secrets: int = 0
    cut: int = 0
    unread: int = 0
    first_unread: str = ""


def lines(source: Source, counts: RedactionCounts | None = None) -> Iterator[str]:
    """Yield the lines of a source, with their line ends."""
    counts = counts or RedactionCounts()
    with source.open() as reader:
        readable = rewriting_reader(Transcoded(BorrowedReader(reader)), LineMap(), (detect_export,))
        for block in without_keys(join_parts(blocks(readable))):
            counts.cut += block.truncated
            try:
                text = block.data.decode()
            except UnicodeDecodeError:
                text = block.data.decode("utf-8", "surrogateescape")
                _count_unreadable(text, source.name, block.first_line, counts)
            yield from _split(text)


def redacted_bytes(source: Source, change: Rewrite, counts: RedactionCounts) -> Iterator[bytes]:
    """Yield the lines of one source, redacted and changed. After a fault of kvdiag no further line is written."""
    with skip_faults(source.name, source.problem):
        for group in group_lines(lines(source, counts)):
            for part, line in zip(group, without_secrets(group), strict=True):
                shown = change(line or REDACTED)  # an empty last line without newline would vanish
                counts.lines += 1
                counts.secrets += line != part.head + part.body + part.tail
                yield shown.encode("utf-8", "surrogateescape")


def with_output_paths(found: Iterable[Source], folder: Path, change: Rewrite) -> Iterator[tuple[Source, Path]]:
    """Yield each source with its output file: under its own path, unpacked, never outside of the folder."""
    used: set[Path] = set()
    for source in found:
        parts = [part for part in Path(change(source.name)).parts if part not in {"/", ".", ".."}]
        path = folder.joinpath(*parts or [STDIN])
        path = path.with_suffix("") if path.suffix in PACKED else path
        path = _named_as_log(path, Path(source.name))
        while path in used:
            path = path.with_name(f"{path.name}.more")
        used.add(path)
        yield source, path


def _named_as_log(path: Path, was: Path) -> Path:
    """Return the path with the suffix and the word `log` of the old name, by which files are recognized as logs."""
    was = was.with_suffix("") if was.suffix in PACKED else was
    path = path.with_suffix(was.suffix) if was.suffix in ENDINGS and was.suffix != path.suffix else path
    return path.with_stem(f"{path.stem}-log") if is_log_name(was.name) and not is_log_name(path.name) else path


def _split(text: str) -> list[str]:
    """Split text into lines at newlines only."""
    lines = [line + "\n" for line in text.split("\n")]
    rest = lines.pop()[:-1]
    return [*lines, rest] if rest else lines


def _count_unreadable(text: str, name: str, first_line: int, counts: RedactionCounts) -> None:
    """Count the lines that are not text, and remember the place of the first."""
    for number, line in enumerate(text.split("\n"), first_line + 1):
        if any("\udc80" <= character <= "\udcff" for character in line):
            counts.unread += 1
            counts.first_unread = counts.first_unread or f"{name}:{number}"
