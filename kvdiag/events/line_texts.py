"""The texts of lines with events, compressed: events are many, and few are ever shown.

Of 100 MB of kubelet's log with an event in every line they take 6 MB. Portions of 32 KB are compressed one by one,
each with the first one as its dictionary: as small as if a megabyte was compressed at once, and read in some 70 µs.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, overload

_PORTION = 1 << 15  # bytes of texts that are compressed together: larger ones are made faster, and read slower
_MOST_READ = 16  # portions that stay decompressed
_RAW = -zlib.MAX_WBITS  # deflate without a header


class PackedTexts(NamedTuple):
    """Texts for another process: of each portion how many there are, which dictionary it has, and its data."""

    portions: Sequence[tuple[int, int, bytes]]
    dictionaries: Sequence[bytes]


class LineTexts(Sequence[bytes]):
    """The texts of a log's lines, none of which has a line feed, in the order in which they were added."""

    def __init__(self) -> None:
        """Begin without texts."""
        self._firsts: list[int] = []  # the place of the first text of each portion
        self._portions: list[tuple[bytes, bytes]] = []  # its dictionary and data
        self._dictionary = b""
        self._open: list[bytes] = []  # the texts that are not compressed yet
        self._begin = self._size = 0  # the place of the first of these, and their bytes
        self._last: bytes | None = None
        self._read: dict[int, list[bytes]] = {}  # the texts of portions by their first place

    def __len__(self) -> int:
        """Return the number of texts that were added."""
        return self._begin + len(self._open)

    def __eq__(self, other: object) -> bool:
        """Return whether these are the same texts."""
        return self is other or (isinstance(other, LineTexts) and [*self] == [*other])

    __hash__ = None  # type: ignore[assignment]  # texts are added

    def add(self, text: bytes) -> int:
        """Add a text, and return its place; the events of one line, which are added in a row, share one."""
        if text == self._last:
            return self._begin + len(self._open) - 1
        self._last = text
        place = self._begin + len(self._open)
        self._open.append(text)
        self._size += len(text)
        if self._size >= _PORTION:
            self._close()
        return place

    def copy(self) -> LineTexts:
        """Return the texts of now, to be read while others are added."""
        copy = LineTexts()
        copy._firsts, copy._portions, copy._open = self._firsts[:], self._portions[:], self._open[:]
        copy._dictionary, copy._begin, copy._size = self._dictionary, self._begin, self._size
        return copy

    def packed(self) -> PackedTexts:
        """Return all texts as bytes."""
        if self._open:
            self._close()
        counts = [end - first for first, end in pairwise([*self._firsts, self._begin])]
        numbers = {dictionary: number for number, dictionary in enumerate({one: None for one, _ in self._portions})}
        portions = zip(counts, self._portions, strict=True)
        packed = [(count, numbers[dictionary], data) for count, (dictionary, data) in portions]
        return PackedTexts(packed, list(numbers))

    def extend(self, packed: PackedTexts) -> int:
        """Add the texts of another process; return the place of the first."""
        if self._open:
            self._close()
        place = self._begin
        for count, number, data in packed.portions:
            self._firsts.append(self._begin)
            self._portions.append((packed.dictionaries[number], data))
            self._begin += count
        self._last = None
        return place

    def forget(self, place: int) -> None:
        """Forget the texts before this place, but for those in its portion."""
        gone = max(0, bisect_right(self._firsts, place) - 1)
        del self._firsts[:gone], self._portions[:gone]

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | Sequence[bytes]:
        """Return the text at a place. Raise IndexError if there is none."""
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        if place >= self._begin:
            return self._open[place - self._begin]
        at = bisect_right(self._firsts, place) - 1
        if at < 0:
            raise IndexError(place)
        first = self._firsts[at]
        texts = self._read.get(first)
        if texts is None:
            dictionary, data = self._portions[at]
            texts = zlib.decompressobj(_RAW, dictionary).decompress(data).split(b"\n")
            if len(self._read) >= _MOST_READ:
                del self._read[next(iter(self._read))]
            self._read[first] = texts
        return texts[place - first]

    def _close(self) -> None:
        """Compress the open texts."""
        whole = b"\n".join(self._open)
        compressor = zlib.compressobj(zlib.Z_BEST_SPEED, zlib.DEFLATED, _RAW, zdict=self._dictionary)
        self._firsts.append(self._begin)
        self._portions.append((self._dictionary, compressor.compress(whole) + compressor.flush()))
        self._dictionary = self._dictionary or whole
        self._begin += len(self._open)
        self._open, self._size = [], 0
