"""The journal's modes that spread an entry over many lines, rewritten to one line per entry as `-o json` has it.

The scanner looks for words in a line; in export, verbose and json-pretty the time and the program of a message stand
on other lines than itself. The rewriting reads by lines, in export also by length, and keeps one entry at a time.
"""

from __future__ import annotations

import io
import json
import re
from array import array
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from kvdiag.inputs.readers import Replayed, read_up_to

if TYPE_CHECKING:
    from kvdiag.inputs.readers import Reader

_HEAD = 4096
_CHUNK = 64 << 10
_LONGEST = 256 << 10  # bytes of a line or message that are kept; the scanner takes four times that, escapes included
_LARGEST = 1 << 30  # bytes of a field: beyond the largest core dump it is no length but words
_LONGEST_ENTRY = 4 << 20  # bytes of a json-pretty entry
_LENGTH = 8
_CHATTER = rb"(?:-- [^\n]*\n)*"
_EXPORT = re.compile(_CHATTER + rb"__(?:CURSOR|REALTIME_TIMESTAMP)=")
_PRETTY = re.compile(_CHATTER + rb'\{\r?\n\t"[A-Z_][A-Z0-9_]*" : ')
_OPENING = rb"(\S{2,12} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} \S{1,6}) \[s=[0-9a-f]{8}"
_VERBOSE = re.compile(_CHATTER + _OPENING)
_ENTRY = re.compile(_OPENING)
_FIELD = re.compile(rb"(?:    )?([A-Z_][A-Z0-9_]{0,63})(?:=|$)")
# What a reader of an entry asks for; the rest is thirty names that nobody reads.
FIELDS = frozenset((
    *(b"__REALTIME_TIMESTAMP", b"_HOSTNAME", b"SYSLOG_IDENTIFIER", b"_COMM"),
    *(b"_PID", b"SYSLOG_PID", b"_SYSTEMD_UNIT", b"MESSAGE"),
))  # fmt: skip
_Line = tuple[int, bytes]  # the number of the line it stands for, and the text without line end


class _Bytes(Protocol):
    """What has `readinto`, as every input and every text in memory does."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the buffer from its beginning; the number of bytes, 0 at the end."""


def is_folded(head: bytes) -> bool:
    """Whether the first bytes of an input are of such a mode."""
    return any(opening.match(head) for opening in (_EXPORT, _PRETTY, _VERBOSE))


def unfolded(reader: _Bytes, numbers: array[int]) -> Reader:
    """Give the input with one line per entry when its first bytes are of such a mode, else as it is.

    `numbers` receives, for each line that was rewritten, the line of the input it stands for: that of its message.
    """
    under = _Under(reader)
    head = read_up_to(under, _HEAD)
    again = Replayed(head, under)
    for opening, read in ((_EXPORT, _exported), (_PRETTY, _pretty), (_VERBOSE, _verbose)):
        if opening.match(head):
            return _Unfolded(read(_Lines(again)), numbers)
    return again


class _Under:
    """A reader of which nothing is closed here."""

    def __init__(self, reader: _Bytes) -> None:
        self._reader = reader

    def readinto(self, buffer: memoryview, /) -> int:
        return self._reader.readinto(buffer) or 0

    def close(self) -> None:
        """Leave it to the one who opened it."""


class _Unfolded:
    """Lines as a reader of bytes."""

    def __init__(self, lines: Iterator[_Line], numbers: array[int]) -> None:
        self._lines, self._numbers = lines, numbers
        self._held = b""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with what is held; take up more lines when nothing is."""
        if not self._held:
            self._held = self._more()
        given, self._held = self._held[: len(buffer)], self._held[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)

    def close(self) -> None:
        """Nothing is held open."""

    def _more(self) -> bytes:
        lines: list[bytes] = []
        size = 0
        for number, line in self._lines:
            self._numbers.append(number)
            lines.append(line)
            size += len(line)
            if size >= _CHUNK:
                break
        return b"\n".join([*lines, b""])


class _Raw(io.RawIOBase):
    """A reader as the standard library wants one."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # BufferedReader gives a memoryview
        return self._reader.readinto(buffer)


class _Lines:
    """Lines and bytes of a reader, the lines counted; what is too long is cut and the rest skipped."""

    def __init__(self, reader: Reader) -> None:
        self._stream = io.BufferedReader(_Raw(reader), _CHUNK)
        self.number = 0

    def next(self) -> bytes | None:
        """Give the next line without its end; None at the end."""
        line = self._stream.readline(_LONGEST)
        if not line:
            return None
        self.number += 1
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = self._stream.readline(_LONGEST)
        return line.rstrip(b"\r\n")

    def bytes(self) -> bytes:
        """Give a field that has its length before it, and take the line end behind it."""
        length = self._stream.read(_LENGTH)
        left = int.from_bytes(length, "little")
        self.number += length.count(b"\n")
        if left > _LARGEST:
            self.next()
            return b""
        kept = self._stream.read(min(left, _LONGEST))
        left -= len(kept)
        self.number += kept.count(b"\n")
        while left > 0 and (skipped := self._stream.read(min(left, _CHUNK))):
            left -= len(skipped)
            self.number += skipped.count(b"\n")
        self.next()
        return kept


class _Entry:
    """The fields of an entry that are wanted, each as it stood first."""

    def __init__(self) -> None:
        self.fields: dict[bytes, bytes] = {}
        self.number = 0

    def add(self, name: bytes, value: bytes, number: int) -> None:
        """Keep a field, if it is wanted and new."""
        if name in FIELDS and name not in self.fields:
            self.fields[name] = value
            if name == b"MESSAGE" or not self.number:
                self.number = number

    def line(self, lead: bytes = b"") -> Iterator[_Line]:
        """Give the line of the entry, if it has any field."""
        if self.fields:
            text = {name.decode(): value.decode("utf-8", "replace") for name, value in self.fields.items()}
            yield self.number, lead + _dumped(text)


def _exported(lines: _Lines) -> Iterator[_Line]:
    """`-o export`: `NAME=value` or `NAME`, a length and bytes; a blank line ends an entry."""
    entry = _Entry()
    while (line := lines.next()) is not None:
        found = _FIELD.match(line)
        if found and not line.startswith(b" "):
            number = lines.number
            value = line[found.end() :] if line.endswith(b"=") or found.end() < len(line) else lines.bytes()
            entry.add(found.group(1), value, number)
            continue
        yield from entry.line()
        entry = _Entry()
        if line:
            yield lines.number, line
    yield from entry.line()


def _verbose(lines: _Lines) -> Iterator[_Line]:
    """`-o verbose`: a date, below it `    NAME=value`; lines indented further go on with the value above them."""
    entry, lead, name = _Entry(), b"", b""
    while (line := lines.next()) is not None:
        found = _FIELD.match(line) if line.startswith(b"    ") else None
        if found:
            name = found.group(1) if found.group(1) not in entry.fields else b""
            entry.add(found.group(1), line[found.end() :], lines.number)
            continue
        if line.startswith(b"    ") and lead:
            if name in entry.fields and len(entry.fields[name]) < _LONGEST:
                entry.fields[name] += b"\n" + line[len(name) + 5 :]
            continue
        yield from entry.line(lead)
        opening = _ENTRY.match(line)
        entry, lead = _Entry(), opening.group(1) + b" " if opening else b""
        if line and not opening:
            yield lines.number, line
    yield from entry.line(lead)


def _pretty(lines: _Lines) -> Iterator[_Line]:
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
            text = _loaded(held)
            yield from [(message, text)] if text else ((first + at, text) for at, text in enumerate(held))
            held = []
    yield from ((first + at, text) for at, text in enumerate(held))


def _loaded(held: list[bytes]) -> bytes:
    try:
        entry = json.loads(b"\n".join(held))
    except (ValueError, RecursionError):
        return b""
    return _dumped(
        {name: _readable(value) for name, value in entry.items() if name.encode("utf-8", "replace") in FIELDS}
    )


def _readable(value: object) -> object:
    """Give a list of bytes, as which colours and the like are written, as the text that a scanner can read."""
    if isinstance(value, list) and value and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode("utf-8", "replace")
    return value


def _dumped(entry: Mapping[str, object]) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
