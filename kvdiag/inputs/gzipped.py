"""A gzip reader that returns every byte before a fault, also of truncated or damaged files.

The standard library's reader raises at the fault, and loses what it had decompressed in the same read.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvdiag.inputs.readers import Reader

_CHUNK = 64 << 10
_WITH_HEADER = 16 + zlib.MAX_WBITS  # tells zlib that the format is gzip


class DamagedError(Exception):
    """The compressed data is damaged from here on; all bytes before were returned. `advice` is the next step."""

    advice = "copy it again for the rest"


class GzipReader:
    """Decompresses members one after the other. `readinto` raises DamagedError at a fault."""

    def __init__(self, packed: Reader) -> None:
        self._file = packed
        self._chunk = bytearray(_CHUNK)
        self._packed = b""
        self._member = zlib.decompressobj(_WITH_HEADER)
        self._fault = ""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with decompressed bytes; 0 at the end of the last member."""
        unpacked = b""
        while not unpacked:
            if self._fault:
                raise DamagedError(self._fault)
            if self._member.eof and not self._next_member():
                return 0
            if not self._packed and not self._read():
                # zlib may still hold bytes of a truncated file, if the last buffer was full.
                unpacked = self._member.decompress(b"", len(buffer))
                self._fault = "" if unpacked else "the compressed data is truncated"
            else:
                unpacked = self._unpack(len(buffer))
        buffer[: len(unpacked)] = unpacked
        return len(unpacked)

    def close(self) -> None:
        """Close the wrapped file."""
        self._file.close()

    def _read(self) -> int:
        got = self._file.readinto(memoryview(self._chunk))
        self._packed = bytes(self._chunk[:got])
        return got

    def _next_member(self) -> bool:
        """Begin another member, as `cat a.gz b.gz` makes them; return False if only padding follows."""
        self._packed = self._packed.lstrip(b"\0")
        while not self._packed and self._read():
            self._packed = self._packed.lstrip(b"\0")
        self._member = zlib.decompressobj(_WITH_HEADER) if self._packed else self._member
        return bool(self._packed)

    def _unpack(self, most: int) -> bytes:
        before = self._member.copy()  # 40 KB; needed for the bytes before a fault
        try:
            unpacked = self._member.decompress(self._packed, most)
        except zlib.error as error:
            self._fault = f"its compressed data is damaged ({str(error).rpartition(': ')[2]})"
            return _salvaged(before, self._packed)
        self._packed = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        return unpacked


def _salvaged(member: zlib._Decompress, packed: bytes) -> bytes:
    """Return what can be decompressed before the fault, byte by byte."""
    unpacked = bytearray()
    for at in range(len(packed)):
        try:
            unpacked += member.decompress(packed[at : at + 1])
        except zlib.error:
            break
    return bytes(unpacked)
