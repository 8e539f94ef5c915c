"""Where output goes: standard output or a file, plain or coloured, and at what width."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import TextIO

from kvdiag.errors import UsageError
from kvdiag.report.clean import clean

WIDEST = 120  # of sentences; a longer line is hard to read
WIDEST_TABLE = 1000
PROSE = frozenset({"text", "compact", "markdown"})  # outputs for people
PIPED = 100


@contextlib.contextmanager
def outlet(file: Path | None) -> Iterator[TextIO]:
    """Standard output, or the named file; UTF-8 either way. Raises UsageError when the file cannot be written."""
    if file is None:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        with file.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            yield stream
    except OSError as error:
        raise UsageError(f"--output-file {file}: {(error.strerror or str(error)).lower()}") from None


def coloured(stream: TextIO, *, no_color: bool) -> bool:
    """Whether to colour: a terminal that did not ask not to, or FORCE_COLOR."""
    if no_color or os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def width(stream: TextIO, widest: int = WIDEST) -> int:
    """Columns of the terminal, `widest` at most; a fixed width elsewhere, so that files look alike."""
    if not stream.isatty():
        return int(os.environ["COLUMNS"]) if os.environ.get("COLUMNS", "").isdecimal() else PIPED
    from shutil import get_terminal_size  # 3 ms: it brings every compression there is

    return max(40, min(widest, get_terminal_size().columns))


@contextlib.contextmanager
def literal(stream: TextIO, output: str) -> Iterator[None]:
    """Inside GitHub Actions, nothing that a log says is a command to the runner: `::error::`, `##[add-mask]`."""
    if output not in PROSE or stream is not sys.stdout or os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    import secrets

    token = secrets.token_hex(16)
    stream.write(f"::stop-commands::{token}\n")
    try:
        yield
    finally:
        stream.write(f"::{token}::\n")


@contextlib.contextmanager
def paged(stream: TextIO, *, text: bool) -> Iterator[TextIO]:
    """The stream itself; on a terminal a buffer that is shown through the user's pager, as git does."""
    if not text or not stream.isatty() or not sys.stdin.isatty():
        yield stream
        return
    import pydoc

    buffer = StringIO()
    yield buffer
    os.environ.setdefault("LESS", "FRX")  # colours, no pager for what fits the screen
    pydoc.pager(buffer.getvalue())


def say_note(note: str) -> None:
    """One line for a person on stderr, beside the output."""
    sys.stderr.write(f"kvdiag: {clean(note)}\n")
