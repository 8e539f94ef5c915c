"""The interface of readers of bytes, and small wrappers."""

from __future__ import annotations

from typing import Protocol


class Reader(Protocol):
    """A raw file, or an object with its interface."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer from its beginning; return the number of bytes, 0 at the end."""

    def close(self) -> None:
        """Close what is open."""


def read_up_to(reader: Reader, size: int) -> bytes:
    """Return the next `size` bytes, fewer only at the end; a pipe may need several reads."""
    buffer, held = memoryview(bytearray(size)), 0
    while held < size and (got := reader.readinto(buffer[held:])):
        held += got
    return bytes(buffer[:held])


class ReplayReader:
    """Replays bytes that were already read, and then reads on."""

    def __init__(self, head: bytes, rest: Reader | None = None) -> None:
        self._head, self._rest = head, rest

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with the replayed bytes, then with those that follow."""
        if not self._head:
            return self._rest.readinto(buffer) if self._rest else 0
        chunk, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        """Close the wrapped reader."""
        if self._rest:
            self._rest.close()


class ByteSource(Protocol):
    """An object with `readinto`: a raw file, standard input, a decompressor, a text in memory."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the buffer from its beginning; the number of bytes, 0 at the end."""


class BorrowedReader:
    """A reader whose owner closes it."""

    def __init__(self, lender: ByteSource) -> None:
        self._lender = lender

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer."""
        return self._lender.readinto(buffer) or 0

    def close(self) -> None:
        """Do nothing: the owner closes the reader."""


class FailingReader:
    """The rest of a reader after a fault."""

    def __init__(self, fault: Exception, reader: Reader) -> None:
        self._fault, self._reader = fault, reader

    def readinto(self, _buffer: memoryview, /) -> int:
        """Raise the fault, each time."""
        raise self._fault

    def close(self) -> None:
        """Close the reader."""
        self._reader.close()
