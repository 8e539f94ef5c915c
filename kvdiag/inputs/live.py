"""Inputs that grow while they are read: a pipe, or a log file that is followed."""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kvdiag.base.errors import InputError
from kvdiag.inputs.files import open_file
from kvdiag.inputs.layout import provenance_of
from kvdiag.inputs.source import STDIN, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvdiag.model.record import Provenance

PATIENCE = 0.5  # seconds without a byte after which the format of a pipe is detected from what has arrived
PAUSE = 0.5  # seconds between two looks at a file that does not grow


class Live:
    """A pipe, or a file that is followed across rotation. `name` is a path, or `-` for standard input."""

    modified: float | None = None
    is_named = True

    def __init__(self, name: str) -> None:
        """Open the input. Raises InputError if that fails."""
        self.name = STDIN if name == "-" else name
        self._path = "" if name == "-" else name
        try:
            self._file = sys.stdin.fileno() if name == "-" else os.open(name, os.O_RDONLY)
        except OSError as error:
            raise InputError(self.name, unreadable(self.name, error).problem) from None
        self._head = b""
        self._is_regular = stat.S_ISREG(os.fstat(self._file).st_mode)

    @property
    def place(self) -> Provenance:
        """Return node and container according to the path."""
        return provenance_of(self.name)

    def head(self, most: int) -> bytes:
        """Return up to `most` first bytes: those that are available, or arrive without a pause."""
        held = b""
        while len(held) < most and (not held or self._is_regular or select.select([self._file], [], [], PATIENCE)[0]):
            got = os.read(self._file, most - len(held))
            if not got:
                break
            held += got
        return held

    def at(self, head: bytes) -> Live:
        """Return this input, with bytes that were read before and are returned first."""
        self._head = head
        return self

    @contextmanager
    def open(self) -> Iterator[LiveReader]:
        """Open a reader of all bytes from the beginning."""
        yield LiveReader(self._file, self._path if self._is_regular else "", self._head)


class LiveReader:
    """Returns available bytes, and waits if there are none; only a pipe has an end."""

    def __init__(self, file: int, path: str, head: bytes) -> None:
        self._file, self._path, self._head = file, path, head

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with available bytes; 0 when the pipe is closed."""
        if self._head:
            chunk, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
            buffer[: len(chunk)] = chunk
            return len(chunk)
        while not (got := os.readv(self._file, [buffer])) and self._path:
            if not self._rotated():
                time.sleep(PAUSE)
        return got

    def _rotated(self) -> bool:
        """Continue with the new file after a rotation, or at the beginning of a truncated file."""
        try:
            there, here = Path(self._path).stat(), os.fstat(self._file)
            if (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino):
                with open_file(self._path) as fresh:
                    os.dup2(fresh.fileno(), self._file, inheritable=False)
                return True
        except OSError:  # between the renaming of the old one and the making of the new; or a folder is there for now
            return False
        if there.st_size < os.lseek(self._file, 0, os.SEEK_CUR):
            os.lseek(self._file, 0, os.SEEK_SET)
            return True
        return False
