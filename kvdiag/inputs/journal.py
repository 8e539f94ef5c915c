"""Rewrite journalctl's modes with many lines per entry (export, verbose, json-pretty) to one line, as `-o json`.

The scanner searches single lines, and in these modes the time and program of a message are on other lines. Only one
entry is in memory at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.lines import LONGEST, Line, LineRewriter, Lines, json_line

_LONGEST_ENTRY = 4 << 20  # bytes of a json-pretty entry
_CHATTER = rb"(?:-- [^\n]*\n)*"
_EXPORT = lazy_regex(_CHATTER + rb"__(?:CURSOR|REALTIME_TIMESTAMP)=")
_PRETTY = lazy_regex(_CHATTER + rb'\{\r?\n\t"[A-Z_][A-Z0-9_]*" : ')
_OPENING = rb"(\S{2,12} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} \S{1,6}) \[s=[0-9a-f]{8}"
_VERBOSE = lazy_regex(_CHATTER + _OPENING)
_ENTRY = lazy_regex(_OPENING)
_FIELD = lazy_regex(rb"(?:    )?([A-Z_][A-Z0-9_]{0,63})(?:=|$)")
# The fields that are read; an entry has about thirty others.
FIELDS = frozenset((
    *(b"__REALTIME_TIMESTAMP", b"_HOSTNAME", b"SYSLOG_IDENTIFIER", b"_COMM"),
    *(b"_PID", b"SYSLOG_PID", b"_SYSTEMD_UNIT", b"_SYSTEMD_CGROUP", b"_TRANSPORT", b"MESSAGE"),
    *(b"CONTAINER_ID", b"CONTAINER_ID_FULL", b"CONTAINER_NAME", b"CONTAINER_TAG"),
))  # fmt: skip


def detect(head: bytes) -> LineRewriter | None:
    """Return the rewriter for the mode of the first bytes; None if it is another format."""
    for opening, read in ((_EXPORT, _exported), (_PRETTY, _pretty), (_VERBOSE, _verbose)):
        if opening.match(head):
            return read
    return None


def detect_export(head: bytes) -> LineRewriter | None:
    """Return the rewriter for export mode only, whose fields have a length and cannot be changed in place."""
    return _exported if _EXPORT.match(head) else None


class _Entry:
    """The fields of an entry that are in FIELDS; of repeated fields the first."""

    def __init__(self) -> None:
        self.fields: dict[bytes, bytes] = {}
        self.number = 0
        self._more: dict[bytes, list[bytes]] = {}
        self._size = 0

    def add(self, name: bytes, value: bytes, number: int) -> None:
        """Add a field if it is in FIELDS and new."""
        if name in FIELDS and name not in self.fields:
            self.fields[name] = value
            if name == b"MESSAGE" or not self.number:
                self.number = number

    def append_line(self, name: bytes, line: bytes) -> None:
        """Append a line to a field that was added."""
        self._size += len(line) + 1
        if name in self.fields and self._size < LONGEST:
            self._more.setdefault(name, []).append(line)

    def line(self, lead: bytes = b"") -> Iterator[Line]:
        """Yield the entry as one line, if it has any field."""
        if self.fields:
            whole = {name: b"\n".join([value, *self._more.get(name, ())]) for name, value in self.fields.items()}
            text = {name.decode(): value.decode("utf-8", "replace") for name, value in whole.items()}
            yield self.number, lead + json_line(text)


def _exported(lines: Lines) -> Iterator[Line]:
    """Rewrite `-o export`: `NAME=value` or `NAME`, a length and bytes; a blank line ends an entry."""
    entry = _Entry()
    while (line := lines.next()) is not None:
        found = _FIELD.match(line)
        if found and not line.startswith(b" "):
            number = lines.number
            value = line[found.end() :] if line.endswith(b"=") or found.end() < len(line) else lines.sized_field()
            entry.add(found.group(1), value, number)
            continue
        yield from entry.line()
        entry = _Entry()
        if line:
            yield lines.number, line
    yield from entry.line()


def _verbose(lines: Lines) -> Iterator[Line]:
    """Rewrite `-o verbose`: a date, then `    NAME=value`; lines with more indentation continue the value above."""
    entry, lead, name = _Entry(), b"", b""
    while (line := lines.next()) is not None:
        found = _FIELD.match(line) if line.startswith(b"    ") else None
        if found:
            name = found.group(1) if found.group(1) not in entry.fields else b""
            entry.add(found.group(1), line[found.end() :], lines.number)
            continue
        if line.startswith(b"    ") and lead:
            entry.append_line(name, line[len(name) + 5 :])
            continue
        yield from entry.line(lead)
        opening = _ENTRY.match(line)
        entry, lead = _Entry(), opening.group(1) + b" " if opening else b""
        if line and not opening:
            yield lines.number, line
    yield from entry.line(lead)


def _pretty(lines: Lines) -> Iterator[Line]:
    """Rewrite `-o json-pretty`: an object from `{` to `}`, with one field on each line."""
    held: list[bytes] = []
    size, first, message = 0, 0, 0
    while (line := lines.next()) is not None:
        if line == b"{" or not (held and (line == b"}" or line.startswith(b"\t"))) or size > _LONGEST_ENTRY:
            yield from ((first + at, text) for at, text in enumerate(held))
            held, size, first, message = [], 0, lines.number, lines.number
            if line != b"{":
                if line:
                    yield lines.number, line
                continue
        held.append(line)
        size += len(line)
        message = lines.number if line.startswith(b'\t"MESSAGE"') else message
        if line == b"}":
            text = _parsed_entry(held)
            yield from [(message, text)] if text else ((first + at, text) for at, text in enumerate(held))
            held = []
    yield from ((first + at, text) for at, text in enumerate(held))


def _parsed_entry(held: list[bytes]) -> bytes:
    try:
        entry = json.loads(b"\n".join(held))
    except (ValueError, RecursionError):
        return b""
    return json_line(
        {name: _readable(value) for name, value in entry.items() if name.encode("utf-8", "replace") in FIELDS}
    )


def _readable(value: object) -> object:
    """Return a list of bytes, as journald writes text with control characters, as text."""
    if isinstance(value, list) and value and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode("utf-8", "replace")
    return value
