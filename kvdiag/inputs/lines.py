"""Read lines with their numbers from a reader, and provide rewritten lines as a reader."""

from __future__ import annotations

import io
import json
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from kvdiag.inputs.readers import Reader

LONGEST = 256 << 10  # bytes of a line or message; the scanner's limit is four times that, with escapes
CHUNK = 64 << 10
_LARGEST = 1 << 30  # bytes of a field; a larger number is not a length
_LENGTH = 8

Line: TypeAlias = tuple[int, bytes]
"""The line number in the input, and the text without line end."""


class _Raw(io.RawIOBase):
    """Adapts a reader to `io.RawIOBase`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # BufferedReader gives a memoryview
        return self._reader.readinto(buffer)


class Lines:
    """Reads lines and bytes, and counts lines; too long ones are truncated."""

    def __init__(self, reader: Reader) -> None:
        self._stream = io.BufferedReader(_Raw(reader), CHUNK)
        self.number = 0

    def next(self) -> bytes | None:
        """Return the next line without its end; None at the end."""
        line = self._stream.readline(LONGEST)
        if not line:
            return None
        self.number += 1
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = self._stream.readline(LONGEST)
        return line.rstrip(b"\r\n")

    def piece(self) -> bytes:
        """Return a line with its end, or a part of a long line; empty at the end of the input."""
        line = self._stream.readline(LONGEST)
        self.number += line.endswith(b"\n")
        return line

    def sized_field(self) -> bytes:
        """Return a field that has its length before it, and skip the line end after it."""
        length = self._stream.read(_LENGTH)
        left = int.from_bytes(length, "little")
        self.number += length.count(b"\n")
        if left > _LARGEST:
            self.next()
            return b""
        value = self._stream.read(min(left, LONGEST))
        left -= len(value)
        self.number += value.count(b"\n")
        while left > 0 and (skipped := self._stream.read(min(left, CHUNK))):
            left -= len(skipped)
            self.number += skipped.count(b"\n")
        self.next()
        return value


LineRewriter: TypeAlias = Callable[[Lines], Iterator[Line]]


def json_line(value: object) -> bytes:
    """Return an object as one line of JSON, as a log collector would write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class LineMap:
    """Maps the numbers of rewritten lines to line numbers of the input.

    4 bytes each; numbers that are not needed are dropped, since a followed journal is endless.
    """

    def __init__(self) -> None:
        """Begin without rewritten lines."""
        self.last = 0  # of the newest line; 0 if no line was rewritten
        self._recent = array("I")
        self._before = 0  # number of lines that were dropped
        self._retained: dict[int, int] = {}

    def append(self, number: int, /) -> None:
        """Add the next line; `number` is its line in the input, from 1."""
        self._recent.append(number)
        self.last = number

    def input_line(self, line: int) -> int:
        """Return the line number in the input of a line that was read, from 1. KeyError if it was dropped."""
        if not self.last:
            return line
        return self._recent[line - 1 - self._before] if line > self._before else self._retained[line]

    def forget(self, until: int, retained: Iterable[int]) -> None:
        """Drop the lines up to `until`, except `retained` lines, now or in earlier calls."""
        if self.last:
            self._retained |= {line: self.input_line(line) for line in retained if line <= until}
            del self._recent[: until - self._before]
            self._before = max(until, self._before)

    def keep(self, lines: Iterable[int]) -> None:
        """Drop also retained lines, except these."""
        self._retained = {line: self._retained[line] for line in lines if line in self._retained}


class Receiver(Protocol):
    """Receives the line number in the input of each rewritten line."""

    def append(self, number: int, /) -> None:
        """Add the line number in the input, from 1."""


class RewrittenReader:
    """Provides rewritten lines as a reader of bytes; `line_map` receives their line numbers in the input."""

    def __init__(self, lines: Iterator[Line], line_map: Receiver) -> None:
        self._lines, self._line_map = lines, line_map
        self._held = b""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer, with more lines if it is empty."""
        if not self._held:
            self._held = self._more()
        chunk, self._held = self._held[: len(buffer)], self._held[len(buffer) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        """Do nothing: no file is open."""

    def _more(self) -> bytes:
        lines: list[bytes] = []
        size = 0
        for number, line in self._lines:
            self._line_map.append(number)
            lines.append(line)
            size += len(line)
            if size >= CHUNK:
                break
        return b"\n".join([*lines, b""])
