"""An input: its name, its metadata, and its bytes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple, Self, cast

from kvdiag.base.errors import InputError
from kvdiag.inputs.compressed import Budget, MeteredReader, decompressing_reader
from kvdiag.inputs.files import identity_of, open_file, skip_hole
from kvdiag.inputs.gzipped import DamagedError
from kvdiag.inputs.layout import provenance_of
from kvdiag.inputs.readers import Reader, ReplayReader
from kvdiag.model.record import Provenance

if TYPE_CHECKING:
    import io
    from collections.abc import Callable
    from pathlib import Path

STDIN = "stdin"


class Source(NamedTuple):
    """An input that can be read, as `kvdiag.inputs.paths.sources` yields it.

    `name` is as the user gave it; files in a folder or archive have its name first; `stdin` is standard input. `path`
    is None for a stream and for a member of an archive: their reader is `given`, and can be opened once, before the
    next source is requested. `size` and `modified` (bytes, and seconds since 1970) are None if unknown. `compression`
    is one of `compressed.MAGICS`, or empty; `evidence` is empty for a log. `is_named` is False if the input was only
    found in a folder or an archive. Of a stretch of a file, `begins` and `ends` are its first byte and the one after
    its last, None at the end of the file; `identity` is that of the file that was divided.
    """

    name: str
    path: Path | None
    problem: Callable[[InputError], None]
    size: int | None = None
    modified: float | None = None
    compression: str = ""
    given: Reader | None = None
    evidence: str = ""
    is_named: bool = False
    begins: int = 0
    ends: int | None = None
    identity: tuple[int, int] | None = None

    @property
    def place(self) -> Provenance:
        """Return node and container according to the path."""
        return provenance_of(self.name)

    @property
    def is_stretch(self) -> bool:
        """Return whether it is a stretch of a file, and not all of it."""
        return self.begins > 0 or self.ends is not None

    def open(self) -> SourceReader:
        """Open the input. Errors go to `problem`, and the bytes end: nothing is raised."""
        try:
            reader = self.given or self._open_reader()
        except OSError as error:
            self.problem(unreadable(self.name, error))
            reader = ReplayReader(b"")
        return SourceReader(reader, self)

    def _open_reader(self) -> Reader:
        if self.path is None:
            return ReplayReader(b"")
        budget = Budget()
        file = open_file(self.path)
        if self.compression:
            return decompressing_reader(self.compression, MeteredReader(file, budget.add_packed), budget)
        if self.identity not in {None, identity_of(file)}:
            file.close()
            self.problem(InputError(self.name, "another file took its name while it was read; lines are missing"))
            return ReplayReader(b"")
        file.seek(self.begins)
        return WatchedFile(self.path, file, lambda why: self.problem(InputError(self.name, why)), self.ends)


class WatchedFile:
    """A regular file, read without its holes; if it changed meanwhile, that goes to `problem` at its end."""

    def __init__(self, path: Path, file: io.FileIO, problem: Callable[[str], None], ends: int | None = None) -> None:
        """Read up to the byte `ends`, by default to the end of the file."""
        self._path, self._file, self._problem, self._ends = path, file, problem, ends
        self._size: int | None = os.fstat(file.fileno()).st_size  # None once the end was reached

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer; of a hole in a sparse file only the first NUL bytes are returned."""
        if self._ends is not None:
            buffer = buffer[: max(0, self._ends - self._file.tell())]
        got = self._file.readinto(buffer) or 0  # None if a file of /proc has no data now
        if got:
            if not buffer[got - 1] and not buffer[0] and not any(buffer[:got]):
                skip_hole(self._file)
        elif self._size is not None and self._ends is None:
            self._check()
            self._size = None
        return got

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _check(self) -> None:
        """Report if the file was truncated, as by copytruncate, or replaced by another of its name."""
        now, read = os.fstat(self._file.fileno()), self._file.tell()
        if now.st_size < max(self._size or 0, read):
            self._problem(f"it was cut to {now.st_size} bytes while it was read; lines are missing")
            return
        try:
            there = self._path.stat()
        except OSError:
            return  # removed after it was read
        if (there.st_dev, there.st_ino) != (now.st_dev, now.st_ino):
            self._problem("another file took its name while it was read; run kvdiag again to read that one too")


class SourceReader:
    """The bytes of a source, decompressed; a context manager. A fault while reading ends them."""

    def __init__(self, reader: Reader, source: Source) -> None:
        self._reader, self._source = reader, source
        self._begun, self._ended = False, False

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer from its beginning; return the number of bytes, 0 at the end."""
        if self._ended:
            return 0
        try:
            got = self._reader.readinto(buffer)
        except DamagedError as damage:
            fault = InputError(self._source.name, damage_text(damage, read=self._begun))
        except OSError as error:
            fault = unreadable(self._source.name, error)
        else:
            self._begun, self._ended = True, not got
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


def damage_text(damage: DamagedError, *, read: bool) -> str:
    """Return a message with the damage, whether bytes before it were read, and the next step."""
    return f"{damage}; {'what came before it was read, ' if read else ''}{damage.advice}"


def unreadable(name: str, error: OSError) -> InputError:
    """Return the system's error message, with the next step if there is one."""
    if isinstance(error, PermissionError):
        return InputError(name, "permission denied; read it as root (sudo), or copy it with cat")
    return InputError(name, f"cannot be read: {(error.strerror or str(error)).lower()}")


class Stdin:
    """Standard input as bytes, which is never closed."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with the bytes of one read, or more."""
        buffered = cast("io.BufferedReader", sys.stdin.buffer)
        return buffered.readinto1(buffer)  # one read at a time, so that Ctrl-C is handled between two reads

    def close(self) -> None:
        """Do nothing: standard input stays open."""
