"""One input: its name, what is known of it, and its bytes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, cast

from kvdiag.errors import InputError
from kvdiag.inputs import sniff
from kvdiag.inputs.gzipped import DamagedError, GzipReader
from kvdiag.inputs.readers import Reader, Replayed, read_up_to

if TYPE_CHECKING:
    import io
    from collections.abc import Callable
    from pathlib import Path

STDIN = "stdin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An input that can be read, as `kvdiag.inputs.paths.sources` gives it.

    `name` is as the user gave it; a file found in a folder has the folder's name before its own; `stdin` is standard
    input, whose `path` is None. `size` (bytes on disk) and `modified` (seconds since 1970) are None for a stream.
    `compression` is `gzip` or empty, and empty for a stream, which is looked at only when it is opened.
    """

    name: str
    path: Path | None
    problem: Callable[[InputError], None]
    size: int | None = None
    modified: float | None = None
    compression: str = ""

    def open(self) -> SourceReader:
        """Begin to read. What is wrong with the input goes to `problem`, and the bytes end: nothing is raised."""
        try:
            reader = self._begun()
        except OSError as error:
            self.problem(unreadable(self.name, error))
            reader = Replayed(b"")
        return SourceReader(reader, self)

    def _begun(self) -> Reader:
        reader = self.path.open("rb", buffering=0) if self.path else _Stdin()
        if self.size is not None:
            return GzipReader(reader) if self.compression else reader
        head = read_up_to(reader, sniff.HEAD)
        seen = sniff.look(head)
        if seen.problem:
            reader.close()
            self.problem(InputError(self.name, seen.problem))
            return Replayed(b"")
        return GzipReader(Replayed(head, reader)) if seen.compression else Replayed(head, reader)


class SourceReader:
    """The bytes of a source, unpacked; to be closed, or used as a context. A fault while reading ends them."""

    def __init__(self, reader: Reader, source: Source) -> None:
        self._reader, self._source = reader, source
        self._ended = False

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer from its beginning; the number of bytes, 0 at the end."""
        if self._ended:
            return 0
        try:
            got = self._reader.readinto(buffer)
        except DamagedError as damage:
            fault = InputError(self._source.name, f"{damage}; what came before it was read, copy it again for the rest")
        except OSError as error:
            fault = unreadable(self._source.name, error)
        else:
            self._ended = not got
            return got
        self._ended = True
        self._source.problem(fault)
        return 0

    def close(self) -> None:
        """Close the file; standard input stays open."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def unreadable(name: str, error: OSError) -> InputError:
    """Say what the system said, and the next step where there is one."""
    if isinstance(error, PermissionError):
        return InputError(name, "permission denied; read it as root (sudo), or copy it with cat")
    return InputError(name, f"it cannot be read: {(error.strerror or str(error)).lower()}")


class _Stdin:
    """Standard input as bytes; closing it is not ours."""

    def readinto(self, buffer: memoryview, /) -> int:
        buffered = cast("io.BufferedReader", sys.stdin.buffer)
        return buffered.readinto1(buffer)  # one read at a time: Ctrl-C is heard between two, not within one

    def close(self) -> None:
        """Leave it open."""
