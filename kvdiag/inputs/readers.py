"""Readers of bytes: the least every input gives, and the small ones made of it."""

from __future__ import annotations

from typing import Protocol


class Reader(Protocol):
    """A raw file, or what reads like one."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer from its beginning; the number of bytes, 0 at the end."""

    def close(self) -> None:
        """Give back what is held open."""


def read_up_to(reader: Reader, size: int) -> bytes:
    """Give the next `size` bytes, fewer only at the end; a pipe may need several reads for them."""
    buffer, held = memoryview(bytearray(size)), 0
    while held < size and (got := reader.readinto(buffer[held:])):
        held += got
    return bytes(buffer[:held])


class ReplayReader:
    """Bytes that are at hand, and then a reader: its first bytes, which were already looked at, given once more."""

    def __init__(self, head: bytes, rest: Reader | None = None) -> None:
        self._head, self._rest = head, rest

    def readinto(self, buffer: memoryview, /) -> int:
        """Give the head first, then what follows."""
        if not self._head:
            return self._rest.readinto(buffer) if self._rest else 0
        chunk, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        """Close the reader beneath."""
        if self._rest:
            self._rest.close()


class ByteSource(Protocol):
    """What has `readinto`, as every input and every text in memory does."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the buffer from its beginning; the number of bytes, 0 at the end."""


class BorrowedReader:
    """A reader of which nothing is closed here."""

    def __init__(self, lender: ByteSource) -> None:
        self._lender = lender

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer from the lender."""
        return self._lender.readinto(buffer) or 0

    def close(self) -> None:
        """Do nothing: the lender closes the reader."""


class FailingReader:
    """What follows the place at which a reader could not go on."""

    def __init__(self, fault: Exception, reader: Reader) -> None:
        self._fault, self._reader = fault, reader

    def readinto(self, _buffer: memoryview, /) -> int:
        """Raise the fault, each time."""
        raise self._fault

    def close(self) -> None:
        """Close the reader."""
        self._reader.close()
