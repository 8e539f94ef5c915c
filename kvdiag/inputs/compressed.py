"""Readers that decompress gzip, bzip2, xz and zstd, and return every byte before a fault.

bzip2, xz and zstd have one interface, and one reader here; gzip has another, which can return the last byte before a
fault. The libraries are imported when they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kvdiag.inputs.gzipped import DamagedError, GzipReader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kvdiag.inputs.readers import Reader

MAGICS: Mapping[str, bytes] = {
    "gzip": b"\x1f\x8b",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\0",
    "zstd": b"\x28\xb5\x2f\xfd",
}
FREE = 256 << 20  # bytes that any input may decompress to, whatever its ratio
MOST_TIMES = 250  # maximum ratio above FREE; logs, whose times differ in every line, stay below 100
_CHUNK = 64 << 10
_STEP = 16 << 10  # bytes decompressed at once; as many are lost at a fault
MOST_MEMORY = 128 << 20  # an xz dictionary; `xz -9` needs 65 MB


class TooMuchError(DamagedError):
    """The data decompresses to more than a log can (a decompression bomb)."""

    advice = "if you trust it, unpack it yourself and name the logs"


class Budget:
    """Limits how much one input may decompress to, relative to its size: stops decompression bombs."""

    def __init__(self) -> None:
        self._packed, self._unpacked = 0, 0

    def add_packed(self, size: int) -> None:
        """Count bytes read of the input."""
        self._packed += size

    def add_unpacked(self, size: int) -> None:
        """Count decompressed bytes. Raises TooMuchError above the limits."""
        self._unpacked += size
        if self._unpacked > FREE and self._unpacked > MOST_TIMES * self._packed:
            raise TooMuchError(f"it decompresses to more than {MOST_TIMES} times its size; no log compresses that well")


class MeteredReader:
    """A reader that counts its bytes: `count` is `add_packed` below a decompressor and `add_unpacked` above it."""

    def __init__(self, reader: Reader, count: Callable[[int], None]) -> None:
        self._reader, self._count = reader, count

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer and count the bytes."""
        got = self._reader.readinto(buffer)
        self._count(got)
        return got

    def close(self) -> None:
        """Close the wrapped reader."""
        self._reader.close()


def compression_of(head: bytes) -> str:
    """Return the name of the compression that begins with these bytes; empty if there is none."""
    return next((name for name, magic in MAGICS.items() if head.startswith(magic)), "")


def decompressing_reader(compression: str, packed: Reader, budget: Budget) -> Reader:
    """Return a reader that decompresses, or `packed` itself if `compression` is empty."""
    if not compression:
        return packed
    reader = GzipReader(packed) if compression == "gzip" else FrameReader(packed, *_UNPACKERS[compression]())
    return MeteredReader(reader, budget.add_unpacked)


class _Frame(Protocol):
    """The common interface of the standard library's decompressors."""

    @property
    def eof(self) -> bool:
        """Return whether the end of the frame was reached."""

    @property
    def needs_input(self) -> bool:
        """Return whether all input is decompressed."""

    @property
    def unused_data(self) -> bytes:
        """Return the bytes after the frame."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Decompress to at most `max_length` bytes."""


_Unpacker = tuple["Callable[[], _Frame]", tuple[type[Exception], ...]]


class FrameReader:
    """Decompresses frames one after the other, as `cat a.xz b.xz` makes them; DamagedError at a fault."""

    def __init__(self, packed: Reader, begin: Callable[[], _Frame], faults: tuple[type[Exception], ...]) -> None:
        self._file, self._begin, self._faults = packed, begin, faults
        self._chunk = memoryview(bytearray(_CHUNK))
        self._packed = b""
        self._frame = begin()
        self._fault: DamagedError | None = None

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with decompressed bytes; fewer before a fault, 0 at the end of the last frame."""
        held = 0
        try:
            while held < len(buffer) and not self._fault and self._has_more():
                text = self._unpack(min(_STEP, len(buffer) - held))
                buffer[held : held + len(text)] = text
                held += len(text)
        except DamagedError as damage:
            self._fault = damage
        if self._fault and not held:
            raise self._fault
        return held

    def close(self) -> None:
        """Close the wrapped file."""
        self._file.close()

    def _has_more(self) -> bool:
        """Read input if there is none left; return False at the end of the last frame."""
        if self._frame.eof and not self._next_frame():
            return False
        if self._frame.needs_input and not self._packed and not self._read():
            raise DamagedError("the compressed data is truncated")
        return True

    def _read(self) -> int:
        got = self._file.readinto(self._chunk)
        self._packed = bytes(self._chunk[:got])
        return got

    def _next_frame(self) -> bool:
        """Begin another frame; return False if only padding follows."""
        self._packed = self._packed.lstrip(b"\0")
        while not self._packed and self._read():
            self._packed = self._packed.lstrip(b"\0")
        self._frame = self._begin() if self._packed else self._frame
        return bool(self._packed)

    def _unpack(self, most: int) -> bytes:
        try:
            text = self._frame.decompress(self._packed, most)
        except self._faults as error:
            raise DamagedError(f"its compressed data is damaged ({str(error).lower()})") from error
        self._packed = self._frame.unused_data if self._frame.eof else b""
        return text


def _bzip2() -> _Unpacker:
    import bz2

    return bz2.BZ2Decompressor, (OSError, EOFError)


def _xz() -> _Unpacker:
    import lzma

    return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, MOST_MEMORY), (lzma.LZMAError, EOFError)


def _zstd() -> _Unpacker:
    import sys

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdDecompressor, (zstd.ZstdError, EOFError)


_UNPACKERS: Mapping[str, Callable[[], _Unpacker]] = {"bzip2": _bzip2, "xz": _xz, "zstd": _zstd}
