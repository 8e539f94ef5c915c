"""Lines of a reader, counted, and rewritten lines as a reader: what an input is put through that is read by lines."""

from __future__ import annotations

import io
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from kvdiag.inputs.readers import Reader

LONGEST = 256 << 10  # bytes of a line or message that are kept; the scanner takes four times that, escapes included
CHUNK = 64 << 10
_LARGEST = 1 << 30  # bytes of a field: beyond the largest core dump it is no length but words
_LENGTH = 8

Line: TypeAlias = tuple[int, bytes]
"""The number of the line of the input it stands for, and the text without line end."""


class _Raw(io.RawIOBase):
    """A reader as the standard library wants one."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # BufferedReader gives a memoryview
        return self._reader.readinto(buffer)


class Lines:
    """Lines and bytes of a reader, the lines counted; what is too long is cut and the rest skipped."""

    def __init__(self, reader: Reader) -> None:
        self._stream = io.BufferedReader(_Raw(reader), CHUNK)
        self.number = 0

    def next(self) -> bytes | None:
        """Give the next line without its end; None at the end."""
        line = self._stream.readline(LONGEST)
        if not line:
            return None
        self.number += 1
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = self._stream.readline(LONGEST)
        return line.rstrip(b"\r\n")

    def piece(self) -> bytes:
        """Give a line with its end, or as much of it as is kept at once; the end of the input is empty."""
        line = self._stream.readline(LONGEST)
        self.number += line.endswith(b"\n")
        return line

    def sized_field(self) -> bytes:
        """Give a field that has its length before it, and take the line end behind it."""
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


class LineMap:
    """Which line of the input each line stands for, where lines were rewritten.

    4 bytes each, so those that nobody will ask for are forgotten; a journal that is followed has no end.
    """

    def __init__(self) -> None:
        """Nothing was rewritten."""
        self.last = 0  # the newest, 0 where none was rewritten
        self._recent = array("I")
        self._before = 0  # lines that were forgotten
        self._retained: dict[int, int] = {}

    def append(self, number: int, /) -> None:
        """The next line stands for line `number`, from 1."""
        self._recent.append(number)
        self.last = number

    def input_line(self, line: int) -> int:
        """The line of the input for a line that was read, from 1. KeyError for one that was forgotten."""
        if not self.last:
            return line
        return self._recent[line - 1 - self._before] if line > self._before else self._retained[line]

    def forget(self, until: int, retained: Iterable[int]) -> None:
        """Forget the lines up to this one, but for those that are kept now and those that were before."""
        if self.last:
            self._retained |= {line: self.input_line(line) for line in retained if line <= until}
            del self._recent[: until - self._before]
            self._before = max(until, self._before)

    def keep(self, lines: Iterable[int]) -> None:
        """Forget also what was kept, but for these lines."""
        self._retained = {line: self._retained[line] for line in lines if line in self._retained}


class Receiver(Protocol):
    """What is told the line of the input that each rewritten line stands for."""

    def append(self, number: int, /) -> None:
        """The line of the input, from 1."""


class RewrittenReader:
    """Rewritten lines as a reader of bytes; `line_map` receives the line of the input that each stands for."""

    def __init__(self, lines: Iterator[Line], line_map: Receiver) -> None:
        self._lines, self._line_map = lines, line_map
        self._held = b""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with what is held; take up more lines when nothing is."""
        if not self._held:
            self._held = self._more()
        chunk, self._held = self._held[: len(buffer)], self._held[len(buffer) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        """Nothing is held open."""

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
