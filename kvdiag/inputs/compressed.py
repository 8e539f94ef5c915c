"""What is compressed, by its first bytes → a reader that unpacks it and gives every byte that can be had.

bzip2, xz and zstd have one interface in common, and one reader here; gzip, whose library has another and can be asked
for the very last byte before a fault, has its own. The libraries are imported when something is packed that way.
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
FREE = 256 << 20  # bytes that anything may unpack to
MOST_TIMES = 250  # as many as its packed bytes beyond that; logs, whose times differ in every line, stay below 100
_CHUNK = 64 << 10
_STEP = 16 << 10  # bytes unpacked at once, which is what is lost at a fault
MOST_MEMORY = 128 << 20  # an xz dictionary; `xz -9` needs 65 MB


class TooMuchError(DamagedError):
    """More comes out than ever went into a log."""

    advice = "if you trust it, unpack it yourself and name the logs"


class Budget:
    """How much may come out of one input, for the bytes that were read of it: bombs end here."""

    def __init__(self, packed: int = 0) -> None:
        """`packed` bytes are at hand from the beginning."""
        self._packed, self._unpacked = packed, 0

    def add_packed(self, size: int) -> None:
        """Count bytes read of the input."""
        self._packed += size

    def add_unpacked(self, size: int) -> None:
        """So many bytes came out. Raises TooMuchError when that cannot be a log."""
        self._unpacked += size
        if self._unpacked > FREE and self._unpacked > MOST_TIMES * self._packed:
            raise TooMuchError(f"it decompresses to more than {MOST_TIMES} times its size; no log compresses that well")


class MeteredReader:
    """A reader whose bytes are counted: `count` is `took` below a decompressor and `spend` above it."""

    def __init__(self, reader: Reader, count: Callable[[int], None]) -> None:
        self._reader, self._count = reader, count

    def readinto(self, buffer: memoryview, /) -> int:
        """Give the bytes, and tell how many."""
        got = self._reader.readinto(buffer)
        self._count(got)
        return got

    def close(self) -> None:
        """Close the reader beneath."""
        self._reader.close()


def compression_of(head: bytes) -> str:
    """Give the name of the compression that begins with these bytes; empty when it is none."""
    return next((name for name, magic in MAGICS.items() if head.startswith(magic)), "")


def decompressing_reader(compression: str, packed: Reader, budget: Budget) -> Reader:
    """Give the reader that unpacks, or the bytes as they are when `compression` is empty."""
    if not compression:
        return packed
    reader = GzipReader(packed) if compression == "gzip" else FrameReader(packed, *_UNPACKERS[compression]())
    return MeteredReader(reader, budget.add_unpacked)


class _Frame(Protocol):
    """What the standard library's decompressors have in common."""

    @property
    def eof(self) -> bool:
        """Whether the end of the frame was reached."""

    @property
    def needs_input(self) -> bool:
        """Whether all that was given is unpacked."""

    @property
    def unused_data(self) -> bytes:
        """What stands behind the frame."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Unpack, at most so many bytes."""


_Unpacker = tuple["Callable[[], _Frame]", tuple[type[Exception], ...]]


class FrameReader:
    """Unpack frames one after the other, as `cat a.xz b.xz` makes them; DamagedError where it cannot go on."""

    def __init__(self, packed: Reader, begin: Callable[[], _Frame], faults: tuple[type[Exception], ...]) -> None:
        self._file, self._begin, self._faults = packed, begin, faults
        self._chunk = memoryview(bytearray(_CHUNK))
        self._packed = b""
        self._frame = begin()
        self._fault: DamagedError | None = None

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with unpacked bytes; fewer before a fault, 0 at the end of the last frame."""
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
        """Close the file beneath."""
        self._file.close()

    def _has_more(self) -> bool:
        """Have something to unpack at hand; false at the end of the last frame."""
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
        """Begin another frame; false when nothing but padding follows."""
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
