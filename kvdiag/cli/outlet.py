"""Where output goes: standard output or a file, plain or coloured, and at what width."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from kvdiag.base.errors import InputError, UsageError
from kvdiag.inputs.files import atomic_write
from kvdiag.report import RenderOptions, ascii_fallback
from kvdiag.safe.clean import clean

PROSE = frozenset({"text", "compact", "markdown"})  # outputs for people
PIPED, NARROWEST, WIDEST = 100, 40, 10_000  # columns
WIDEST_DIGITS = 18  # of $COLUMNS
UNREADABLE = 3  # the exit code where an input could not be read, or nothing was recognized
LOCALES = ("LC_ALL", "LC_CTYPE", "LANG")
COLOURLESS = frozenset({"dumb", "unknown"})
LINKLESS = COLOURLESS | {"", "linux", "vt100", "vt102", "vt220"}  # they show a link as it is written


@contextlib.contextmanager
def outlet(file: Path | None, *, prose: bool = False) -> Iterator[TextIO]:
    """Standard output, or the named file; UTF-8 either way, but for prose where a terminal knows only ASCII.

    Raises UsageError when the file cannot be written.
    """
    if file is None:
        if isinstance(sys.stdout, TextIOWrapper):
            is_plain = prose and knows_ascii_only(sys.stdout)
            encoding, errors = ("ascii", ascii_fallback.ERROR_HANDLER) if is_plain else ("utf-8", "backslashreplace")
            sys.stdout.reconfigure(encoding=encoding, errors=errors)
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        with (
            atomic_write(file) as bytes_out,
            TextIOWrapper(bytes_out, encoding="utf-8", errors="backslashreplace", newline="\n") as stream,
        ):
            yield stream
    except OSError as error:
        raise UsageError(f"--output-file {file}: {(error.strerror or str(error)).lower()}") from None


def knows_ascii_only(stream: TextIO) -> bool:
    """Whether it is a terminal whose locale names an encoding that is not UTF-8, or the console of the kernel.

    Where no locale is set, as in a container, it is taken to know UTF-8; what is no terminal gets UTF-8 in any case.
    """
    if not stream.isatty():
        return False
    locale = next((word for name in LOCALES if (word := os.environ.get(name))), "utf-8").lower()
    return not ("utf-8" in locale or "utf8" in locale) or os.environ.get("TERM") == "linux"


def detect_style(stream: TextIO, *, no_color: bool = False) -> RenderOptions:
    """How prose looks there: colours, links and width."""
    colour = coloured(stream, no_color=no_color)
    links = colour and stream.isatty() and os.environ.get("TERM", "") not in LINKLESS
    return RenderOptions(colour=colour, links=links, width=width(stream))


def coloured(stream: TextIO, *, no_color: bool) -> bool:
    """Whether to colour: a terminal that has colours and did not ask not to, or FORCE_COLOR."""
    if no_color or os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") not in COLOURLESS)


def width(stream: TextIO) -> int:
    """Columns of the terminal; a fixed width elsewhere, so that files look alike."""
    if not stream.isatty():
        columns = os.environ.get("COLUMNS", "")
        is_width = columns.isdecimal() and len(columns) <= WIDEST_DIGITS and int(columns)
        return max(NARROWEST, min(int(columns), WIDEST)) if is_width else PIPED
    from shutil import get_terminal_size  # 3 ms: it brings every compression there is

    return max(NARROWEST, get_terminal_size().columns)


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


class Notes:
    """Says each note as it comes; `exit_code` is that of the inputs that could not be read."""

    exit_code = 0

    def __call__(self, note: InputError | str) -> None:
        """Say it."""
        print_note(str(note))
        if isinstance(note, InputError):
            self.exit_code = max(self.exit_code, note.exit_code)


def reading_code(problems: Iterable[InputError], *, understood: bool) -> int:
    """Return the exit code of a reading; where it is 3 and no problem says why, say it."""
    if any(problem.exit_code for problem in problems):
        return UNREADABLE
    if not understood:
        print_note("no log lines recognized")
        return UNREADABLE
    return 0


def print_note(note: str) -> None:
    """One line for a person on stderr, beside the output."""
    sys.stderr.write(f"kvdiag: {clean(note)}\n")
