"""The journal's modes that spread an entry over many lines, rewritten to one line per entry as `-o json` has it.

The scanner looks for words in a line; in export, verbose and json-pretty the time and the program of a message stand
on other lines than itself. The rewriting reads by lines, in export also by length, and keeps one entry at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.lines import LONGEST, Line, LineRewriter, Lines

_LONGEST_ENTRY = 4 << 20  # bytes of a json-pretty entry
_CHATTER = rb"(?:-- [^\n]*\n)*"
_EXPORT = lazy_regex(_CHATTER + rb"__(?:CURSOR|REALTIME_TIMESTAMP)=")
_PRETTY = lazy_regex(_CHATTER + rb'\{\r?\n\t"[A-Z_][A-Z0-9_]*" : ')
_OPENING = rb"(\S{2,12} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} \S{1,6}) \[s=[0-9a-f]{8}"
_VERBOSE = lazy_regex(_CHATTER + _OPENING)
_ENTRY = lazy_regex(_OPENING)
_FIELD = lazy_regex(rb"(?:    )?([A-Z_][A-Z0-9_]{0,63})(?:=|$)")
# What a reader of an entry asks for; the rest is thirty names that nobody reads.
FIELDS = frozenset((
    *(b"__REALTIME_TIMESTAMP", b"_HOSTNAME", b"SYSLOG_IDENTIFIER", b"_COMM"),
    *(b"_PID", b"SYSLOG_PID", b"_SYSTEMD_UNIT", b"MESSAGE"),
))  # fmt: skip


def detect(head: bytes) -> LineRewriter | None:
    """Tell by the first bytes of an input how its entries are read; None when they are of no such mode."""
    for opening, read in ((_EXPORT, _exported), (_PRETTY, _pretty), (_VERBOSE, _verbose)):
        if opening.match(head):
            return read
    return None


def detect_export(head: bytes) -> LineRewriter | None:
    """As `fold`, for the mode alone in which fields have their lengths before them: they cannot be changed in place."""
    return _exported if _EXPORT.match(head) else None


class _Entry:
    """The fields of an entry that are wanted, each as it stood first."""

    def __init__(self) -> None:
        self.fields: dict[bytes, bytes] = {}
        self.number = 0
        self._more: dict[bytes, list[bytes]] = {}
        self._size = 0

    def add(self, name: bytes, value: bytes, number: int) -> None:
        """Keep a field, if it is wanted and new."""
        if name in FIELDS and name not in self.fields:
            self.fields[name] = value
            if name == b"MESSAGE" or not self.number:
                self.number = number

    def append_line(self, name: bytes, line: bytes) -> None:
        """Add a line to a field that was kept."""
        self._size += len(line) + 1
        if name in self.fields and self._size < LONGEST:
            self._more.setdefault(name, []).append(line)

    def line(self, lead: bytes = b"") -> Iterator[Line]:
        """Give the line of the entry, if it has any field."""
        if self.fields:
            whole = {name: b"\n".join([value, *self._more.get(name, ())]) for name, value in self.fields.items()}
            text = {name.decode(): value.decode("utf-8", "replace") for name, value in whole.items()}
            yield self.number, lead + _to_json(text)


def _exported(lines: Lines) -> Iterator[Line]:
    """`-o export`: `NAME=value` or `NAME`, a length and bytes; a blank line ends an entry."""
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
    """`-o verbose`: a date, below it `    NAME=value`; lines indented further go on with the value above them."""
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
    """`-o json-pretty`: an object from `{` to `}`, a field on each line."""
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
    return _to_json(
        {name: _readable(value) for name, value in entry.items() if name.encode("utf-8", "replace") in FIELDS}
    )


def _readable(value: object) -> object:
    """Give a list of bytes, as which colours and the like are written, as the text that a scanner can read."""
    if isinstance(value, list) and value and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode("utf-8", "replace")
    return value


def _to_json(entry: Mapping[str, object]) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
