"""Gzip as a reader that gives every byte that can be had, also of a file that is cut or damaged.

The standard library's reader raises at the damage and keeps what it had already unpacked of the same read to itself.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvdiag.inputs.readers import Reader

_CHUNK = 64 << 10
_WITH_HEADER = 16 + zlib.MAX_WBITS  # zlib's way to say gzip


class DamagedError(Exception):
    """The packed data cannot be read further; all before it was given. `advice` is what to do about the rest."""

    advice = "copy it again for the rest"


class GzipReader:
    """Unpack members one after the other. `readinto` raises DamagedError at the end of a file that is damaged."""

    def __init__(self, packed: Reader) -> None:
        self._file = packed
        self._chunk = bytearray(_CHUNK)
        self._packed = b""
        self._member = zlib.decompressobj(_WITH_HEADER)
        self._fault = ""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with unpacked bytes; 0 at the end of the last member."""
        unpacked = b""
        while not unpacked:
            if self._fault:
                raise DamagedError(self._fault)
            if self._member.eof and not self._next_member():
                return 0
            if not self._packed and not self._read():
                # What a cut file still has is what zlib kept back, since the last buffer was full.
                unpacked = self._member.decompress(b"", len(buffer))
                self._fault = "" if unpacked else "the compressed data is truncated"
            else:
                unpacked = self._unpack(len(buffer))
        buffer[: len(unpacked)] = unpacked
        return len(unpacked)

    def close(self) -> None:
        """Close the file beneath."""
        self._file.close()

    def _read(self) -> int:
        got = self._file.readinto(memoryview(self._chunk))
        self._packed = bytes(self._chunk[:got])
        return got

    def _next_member(self) -> bool:
        """Begin another member, as `cat a.gz b.gz` makes them; false when nothing but padding follows."""
        self._packed = self._packed.lstrip(b"\0")
        while not self._packed and self._read():
            self._packed = self._packed.lstrip(b"\0")
        self._member = zlib.decompressobj(_WITH_HEADER) if self._packed else self._member
        return bool(self._packed)

    def _unpack(self, most: int) -> bytes:
        before = self._member.copy()  # 40 KB; what it takes to get at the bytes before a fault
        try:
            unpacked = self._member.decompress(self._packed, most)
        except zlib.error as error:
            self._fault = f"its compressed data is damaged ({str(error).rpartition(': ')[2]})"
            return _salvaged(before, self._packed)
        self._packed = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        return unpacked


def _salvaged(member: zlib._Decompress, packed: bytes) -> bytes:
    """Give what can be unpacked before the fault, byte by byte."""
    unpacked = bytearray()
    for at in range(len(packed)):
        try:
            unpacked += member.decompress(packed[at : at + 1])
        except zlib.error:
            break
    return bytes(unpacked)
