"""Read the members of a truncated zip by the header before each, since the list of files at its end is missing.

An interrupted download has no list. Members compressed with deflate mark their end. Stored members must have their
length in the header, or the next member cannot be found.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import IO, NamedTuple

from kvdiag.inputs.gzipped import DamagedError

_HEADER = struct.Struct("<4sHHHHHIIIHH")
_MAGIC = b"PK\x03\x04"
_STORED, _DEFLATED = 0, 8
_ENCRYPTED, _SIZE_BEHIND = 1, 8
_LONGEST_DESCRIPTOR = 24  # bytes after a member whose length is not in its header
_CHUNK = 64 << 10
MOST_PASSED = 1 << 30  # decompressed bytes of a skipped member, which are read to find the next one
_CUT = "the archive is truncated"


class FoundMember(NamedTuple):
    """A member: its name, and its bytes, to be read before the next is requested."""

    name: str
    inside: MemberReader


class MemberReader:
    """The bytes of one member. Raises DamagedError if the archive ends before it does."""

    def __init__(self, file: IO[bytes], begins: int, length: int | None) -> None:
        """`length` is the length of a stored member; None for a compressed one."""
        self._file, self._at, self._left = file, begins, length
        self._unpacker = None if length is not None else zlib.decompressobj(-zlib.MAX_WBITS)
        self._packed = b""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with the next bytes; 0 at the end."""
        got = self._stored(len(buffer)) if self._unpacker is None else self._unpacked(self._unpacker, len(buffer))
        buffer[: len(got)] = got
        return len(got)

    def end(self) -> int:
        """Return where the member ends in the archive; the rest of it is skipped."""
        buffer, passed = memoryview(bytearray(_CHUNK)), 0
        while got := self.readinto(buffer):
            passed += got
            if passed > MOST_PASSED:
                raise DamagedError(_CUT)
        return self._at

    def close(self) -> None:
        """Do nothing: the opener closes the file."""

    def _stored(self, most: int) -> bytes:
        got = self._read(min(most, self._left or 0))
        if not got and self._left:
            raise DamagedError(_CUT)
        self._left = (self._left or 0) - len(got)
        return got

    def _unpacked(self, unpacker: zlib._Decompress, most: int) -> bytes:
        while not unpacker.eof:
            packed = self._packed or self._read(_CHUNK)
            if not packed:
                raise DamagedError(_CUT)
            try:
                got = unpacker.decompress(packed, most)
            except zlib.error as error:
                raise DamagedError(f"the archive is damaged ({error})") from error
            self._packed = unpacker.unconsumed_tail
            if unpacker.eof:
                self._at -= len(unpacker.unused_data)
            if got:
                return got
        return b""

    def _read(self, size: int) -> bytes:
        self._file.seek(self._at)
        got = self._file.read(size)
        self._at += len(got)
        return got


def scan_members(file: IO[bytes]) -> Iterator[FoundMember]:
    """Yield the files of a truncated zip in their order. Raises DamagedError where it ends."""
    at = 0
    while True:
        file.seek(at)
        head = file.read(_HEADER.size)
        if len(head) < _HEADER.size or not head.startswith(_MAGIC):
            return
        _, _, flags, method, _, _, _, packed, _, name_length, more_length = _HEADER.unpack(head)
        name = file.read(name_length).decode("utf-8", "replace")
        is_known = not flags & _SIZE_BEHIND
        if flags & _ENCRYPTED or method not in {_STORED, _DEFLATED} or (method == _STORED and not is_known):
            return
        begins = at + _HEADER.size + name_length + more_length
        inside = MemberReader(file, begins, packed if method == _STORED else None)
        if not name.endswith("/"):
            yield FoundMember(name, inside)
        at = inside.end()
        if not is_known:
            file.seek(at)
            at += max(0, file.read(_LONGEST_DESCRIPTOR + len(_MAGIC)).find(_MAGIC))
