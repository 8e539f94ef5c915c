"""Send output that is longer than the screen through a pager, as git and journalctl do."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TextIO

from kvdiag.base.regex import lazy_regex
from kvdiag.cli.outlet import TEXT, detect_style, literal, outlet
from kvdiag.report import RenderOptions
from kvdiag.report.ansi import without_links, without_styles

KVDIAG_PAGER, PAGER, DEFAULT_PAGER = "KVDIAG_PAGER", "PAGER", "less"
NONE = frozenset({"", "cat"})
LESS = "FRX"  # -F: quit if the text fits the screen, -R: show colours, -X: do not clear the screen
FIRST_WITH_LINKS = 581  # first release of less that passes links to the terminal
MISSING = 127  # exit code of a shell for an unknown command
_VERSION = lazy_regex(r"less (\d+)")


@contextlib.contextmanager
def open_output(
    file: Path | None = None,
    output: str = "text",
    *,
    no_color: bool = False,
    no_pager: bool = False,
    no_redact: bool = False,
) -> Iterator[tuple[TextIO, RenderOptions]]:
    """Open the output of a command, with its options for rendering; only text is paged and styled.

    Raise UsageError if the file cannot be written.
    """
    is_text = output in TEXT
    with (
        outlet(file, prose=is_text) as stream,
        literal(stream, output),
        paged(stream, is_wanted=is_text and not no_pager) as out,
    ):
        style = detect_style(stream, no_color=no_color) if is_text else RenderOptions()
        yield out, style._replace(redact=not no_redact)


@contextlib.contextmanager
def paged(stream: TextIO, *, is_wanted: bool) -> Iterator[TextIO]:
    """Return the stream, or on a terminal a buffer that is shown at the end, through the pager if it is long."""
    command = pager() if is_wanted and stream.isatty() and os.environ.get("TERM") != "dumb" else ""
    if command in NONE:
        yield stream
        return
    buffer = StringIO()
    yield buffer
    text = buffer.getvalue()
    if _fits(text, stream) or not _run_pager(command, text, stream):
        stream.write(text)


def pager() -> str:
    """Return the pager command, empty for none: $KVDIAG_PAGER, $PAGER, or less if installed."""
    for name in (KVDIAG_PAGER, PAGER):
        if name in os.environ:
            return os.environ[name].strip()
    from shutil import which

    return DEFAULT_PAGER if which(DEFAULT_PAGER) else ""


def _fits(text: str, stream: TextIO) -> bool:
    columns, lines = os.get_terminal_size(stream.fileno())
    rows = sum(1 + max(0, len(line) - 1) // max(1, columns) for line in without_styles(text).splitlines())
    return rows < lines


def _run_pager(command: str, text: str, stream: TextIO) -> bool:
    """Return whether the pager could show the text; the user may quit it at any time."""
    import subprocess

    data = (text if _knows_links(command) else without_links(text)).encode(stream.encoding, stream.errors or "strict")
    environment = {"LESS": LESS, "LV": "-c", **os.environ}
    stream.flush()
    with _ignore_interrupts():
        process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, stdout=stream, env=environment)  # noqa: S602 (as git)
        process.communicate(data)
    return process.returncode != MISSING


def _knows_links(command: str) -> bool:
    import subprocess

    try:
        words = shlex.split(command)
        if not words or os.path.basename(words[0]) != DEFAULT_PAGER:  # noqa: PTH119
            return False
        output = subprocess.run([words[0], "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    except (OSError, ValueError):
        return False
    found = _VERSION.match(output)
    return found is not None and int(found[1]) >= FIRST_WITH_LINKS


@contextlib.contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Leave Ctrl-C to the pager, and ignore that it may quit early."""
    # A handler and not SIG_IGN, which the pager would inherit; subprocess resets SIGPIPE for it.
    before = [(signal.SIGINT, signal.signal(signal.SIGINT, lambda _number, _frame: None))]
    if hasattr(signal, "SIGPIPE"):
        before.append((signal.SIGPIPE, signal.signal(signal.SIGPIPE, signal.SIG_IGN)))
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
