r"""Rewrite recordings of a terminal, by asciinema and `script`, to the lines that were on the screen.

    {"version": 2, "width": 174, "height": 52, "timestamp": 1554107037, "env": {"TERM": "xterm-256color"}}
    [0.131093, "o", "\u001b[1m#\u001b[0m \r\u001b]2;root@worker-1: ~\u0007"]
    Script started on 2024-03-12 08:00:00+00:00 [TERM="xterm" TTY="/dev/pts/0" COLUMNS="174" LINES="52"]

A line on the screen may be recorded in many pieces, be overwritten, and contain codes for colours and titles. Input at
a shell's prompt is left out, since it is no log line. Sources: asciicast v2 and v3 in asciinema's documentation,
script(1) of util-linux, ECMA-48.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.lines import LONGEST, Line, LineRewriter, Lines

_STARTED = b"Script started on "
_ASCIICAST = lazy_regex(
    rb'\s*\{[^\n]{0,4000}"version" ?: ?[23]\b[^\n]{0,4000}\}\s*\n(?:\#[^\n]*\n)*\[ ?\d+(?:\.\d+)?, ?"[a-z]", ?"'
)
# Cursor movement and erasing, begin and end of a shell's input line, text, and other codes, which are ignored.
_PIECE = lazy_regex(
    r"(?P<move>[\n\r\b]|\x1b\[\d{0,4}[CDJK])|\x1b\[\?2004(?P<edit>[hl])|(?P<text>[^\x00-\x08\x0a-\x1f\x7f]+)"
    r"|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]|[\x00-\x1f\x7f]"
)
_PROMPT = lazy_regex(r"(?:\([^)\n]{1,60}\) ?)?(?:\[?[\w.-]{1,64}@[\w.-]{1,253}[^\n]{0,200}?[#$%]|[#$]) ")


def detect(head: bytes) -> LineRewriter | None:
    """Return the rewriter if the first bytes are those of a recording."""
    if _ASCIICAST.match(head):
        return _asciicast
    return _typescript if head.startswith(_STARTED) else None


def _asciicast(lines: Lines) -> Iterator[Line]:
    """Yield the lines of the screen after a first line with the time of the recording, as `script` writes it."""
    screen, first = _Screen(), lines.next() or b""
    yield lines.number, _start_line(first)
    while (line := lines.next()) is not None:
        for text in screen.show(_output(line)):
            yield lines.number, text
    yield lines.number, screen.line


def _typescript(lines: Lines) -> Iterator[Line]:
    screen = _Screen()
    while (line := lines.next()) is not None:
        for text in screen.show(f"{line.decode('utf-8', 'replace')}\n"):
            yield lines.number, text


def _start_line(header: bytes) -> bytes:
    try:
        timestamp = json.loads(header).get("timestamp")
        moment = datetime.fromtimestamp(timestamp, UTC) if isinstance(timestamp, int) else None
    except (ValueError, OverflowError, OSError, AttributeError):
        moment = None
    return _STARTED + str(moment).encode() if moment else b""


def _output(line: bytes) -> str:
    """Return the output of an event of a recording; empty for input, markers and resizing."""
    try:
        event = json.loads(line)
    except ValueError:
        return ""
    match event:
        case [_, "o", str(text), *_]:
            return text
    return ""


class _Screen:
    """The current line of the screen."""

    def __init__(self) -> None:
        self._cells: list[str] = []
        self._at = 0
        self._is_typed = False  # whether the shell reads input

    @property
    def line(self) -> bytes:
        """Return the current line; empty if it is a shell prompt."""
        text = "".join(self._cells).rstrip()
        return b"" if _PROMPT.match(f"{text} ") else text.encode("utf-8", "replace")

    def show(self, text: str) -> Iterator[bytes]:
        """Write text; yield the lines that it completes, without typed ones."""
        for piece in _PIECE.finditer(text):
            if piece["text"]:
                self._write(piece["text"])
            elif piece["edit"]:
                self._is_typed = piece["edit"] == "h"
                self._cells, self._at = [], 0
            elif piece["move"] == "\n":
                if not self._is_typed:
                    yield self.line
                self._cells, self._at = [], 0
            elif piece["move"]:
                self._move(piece["move"])

    def _write(self, text: str) -> None:
        if self._at > len(self._cells):
            self._cells.extend(" " * (self._at - len(self._cells)))
        if self._at < LONGEST and not self._is_typed:
            self._cells[self._at : self._at + len(text)] = text
            self._at += len(text)

    def _move(self, code: str) -> None:
        count = int(code[2:-1] or 0) if len(code) > 1 else 1
        match code[-1]:
            case "\r":
                self._at = 0
            case "\b" | "D":
                self._at = max(0, self._at - (count or 1))
            case "C":
                self._at += count or 1
            case _ if count == 0:
                del self._cells[self._at :]
