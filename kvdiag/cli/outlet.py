"""Where output goes: standard output or a file, plain or coloured, and how wide."""

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
from kvdiag.report import RenderOptions, ansi
from kvdiag.safe.clean import clean

TEXT = frozenset({"text", "wide"})  # formats that fit the terminal
PROSE = TEXT | {"compact", "markdown"}  # formats for people
PIPED, NARROWEST, WIDEST = 100, 40, 10_000  # columns
WIDEST_DIGITS = 18  # of $COLUMNS
UNREADABLE = 3  # exit code if an input could not be read, or nothing was recognized
LOCALES = ("LC_ALL", "LC_CTYPE", "LANG")
COLOURLESS = frozenset({"dumb", "unknown"})
LINKLESS = COLOURLESS | {"", "linux", "vt100", "vt102", "vt220"}  # terminals that print links literally


@contextlib.contextmanager
def outlet(file: Path | None, *, prose: bool = False) -> Iterator[TextIO]:
    """Open standard output or the file in UTF-8; ASCII for prose on a terminal that supports nothing else.

    Raise UsageError if the file cannot be written.
    """
    if file is None:
        if isinstance(sys.stdout, TextIOWrapper):
            is_plain = prose and knows_ascii_only(sys.stdout)
            encoding, errors = ("ascii", ansi.ERROR_HANDLER) if is_plain else ("utf-8", "backslashreplace")
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
    """Return whether it is a terminal with a locale other than UTF-8, or the Linux console.

    Without a locale, as in a container, UTF-8 is assumed; everything but terminals gets UTF-8.
    """
    if not stream.isatty():
        return False
    locale = next((word for name in LOCALES if (word := os.environ.get(name))), "utf-8").lower()
    return not ("utf-8" in locale or "utf8" in locale) or os.environ.get("TERM") == "linux"


def detect_style(stream: TextIO, *, no_color: bool = False) -> RenderOptions:
    """Return how prose is rendered on this stream: colours, links and width."""
    colour = coloured(stream, no_color=no_color)
    links = colour and stream.isatty() and os.environ.get("TERM", "") not in LINKLESS
    return RenderOptions(colour=colour, links=links, width=width(stream))


def coloured(stream: TextIO, *, no_color: bool) -> bool:
    """Return whether to use colours: on a terminal that supports them unless disabled, or with FORCE_COLOR."""
    if no_color or os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") not in COLOURLESS)


def width(stream: TextIO) -> int:
    """Return the columns of the terminal; elsewhere a fixed width, so that files look alike."""
    if not stream.isatty():
        columns = os.environ.get("COLUMNS", "")
        is_width = columns.isdecimal() and len(columns) <= WIDEST_DIGITS and int(columns)
        return max(NARROWEST, min(int(columns), WIDEST)) if is_width else PIPED
    from shutil import get_terminal_size  # imported here: takes 3 ms, as it imports all compression modules

    return max(NARROWEST, get_terminal_size().columns)


@contextlib.contextmanager
def literal(stream: TextIO, output: str) -> Iterator[None]:
    """Disable workflow commands inside GitHub Actions, so that log text such as `::error::` has no effect."""
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
    """Prints each note at once; `exit_code` is that of unreadable inputs."""

    exit_code = 0

    def __call__(self, note: InputError | str) -> None:
        """Print the note."""
        print_note(str(note))
        if isinstance(note, InputError):
            self.exit_code = max(self.exit_code, note.exit_code)


def reading_code(problems: Iterable[InputError], *, understood: bool) -> int:
    """Return the exit code of a reading; if it is 3 and no problem says why, print the reason."""
    if any(problem.exit_code for problem in problems):
        return UNREADABLE
    if not understood:
        print_note("no log lines recognized")
        return UNREADABLE
    return 0


def print_note(note: str) -> None:
    """Print one line for the user on stderr."""
    sys.stderr.write(f"kvdiag: {clean(note)}\n")
