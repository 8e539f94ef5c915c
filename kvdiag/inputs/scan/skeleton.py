"""The scanner of the standard library: lines of one log call have one skeleton, and each skeleton is checked once.

`bytes.translate` deletes digits, `-` and most lower-case letters. UIDs, hashes, times and the random suffixes of pod
names vanish, so that 100 MB of kubelet log has about a thousand different skeletons:

    I0919 11:11:20.322601  190330 kubelet.go:2130] "SyncLoop DELETE" source="api" pods=["default/nginx-7c5b8d-x2x4z"]
    I ::.  u.o:] "SyLoo DELETE" ou="i" o=["u/i"]

A literal can be in a line only if its skeleton is in the line's skeleton: a dict answers that, and `in` verifies it.
"""

from __future__ import annotations

from itertools import compress, count
from typing import TYPE_CHECKING

from kvdiag.inputs.scan.protocol import LineHits, checked, hit
from kvdiag.inputs.scan.trie import Trie

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Not deleted: capitals, punctuation, spaces and i o u y, which neither hexadecimal nor Kubernetes' random suffixes use.
_DELETED = b"0123456789-abcdefghjklmnpqrstvwxz"
# Upper-case hexadecimal or base64 makes every line a new skeleton: the cache is emptied rather than grown.
_CACHE_BYTES = 8 << 20
_ENTRY_BYTES = 150  # what a dict entry and its bytes object take beside the text

# A skeleton is rare when less than one line in so many has it; told from a block of at least so many lines.
_RARE = 8
_MEASURED_LINES = 200

_Candidates = tuple[tuple[int, bytes], ...]


def is_weak(literal: bytes) -> bool:
    """Return whether so many lines have this literal's skeleton that the literal is searched separately.

    Each such literal costs about 0.03 s per 100 MB, as much as ten others together: `shim reaped` (skeleton `i `) is
    weak, `Stale file handle` (`S i `) is not. Short skeletons that turn out to be rare are promoted in time.
    """
    skeleton = literal.translate(None, _DELETED).replace(b" ", b"")
    return len(skeleton) < 3 and not (len(skeleton) == 2 and skeleton[:1].isupper())


class SkeletonScanner:
    """Scans with `translate`, `split` and a bounded dict; needs no package."""

    name = "stdlib"

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._cache: dict[bytes, _Candidates] = {}
        self._cached_bytes = 0
        self._trie: Trie | None = None
        self._measured = False
        self._weak: list[tuple[int, bytes]] = []
        self._groups: dict[bytes, list[tuple[int, bytes]]] = {}
        for pair in enumerate(checked(literals)):
            if is_weak(pair[1]):
                self._weak.append(pair)
            else:
                self._groups.setdefault(pair[1].translate(None, _DELETED), []).append(pair)

    def scan(self, block: bytes) -> Iterable[LineHits]:
        """Yield the lines with hits, in order."""
        # 100 MB of kubelet log, CPU seconds: translate 0.09, splits 0.05 and 0.1, look-up 0.04; the rest is hit lines.
        skeletons = block.translate(None, _DELETED).split(b"\n")
        if not self._measured and len(skeletons) >= _MEASURED_LINES:
            self._promote(skeletons)
        found = self._candidates(skeletons)
        if self._weak:
            self._add_weak(block, found)
        rows = list(compress(count(), found))
        return _verified(block.split(b"\n"), rows, found) if rows else ()

    def _promote(self, skeletons: list[bytes]) -> None:
        """Treat a weak literal as a normal one if few lines have its skeleton: `is already staged` → `i y `.

        Measured once, on the first lines. If a later input differs, this takes longer but misses no hit: a needless
        candidate costs 0.1 to 0.3 µs, the search for a weak literal as much as a candidate in every sixth line.
        """
        self._measured = True
        weak, self._weak = self._weak, []
        for pair in weak:
            skeleton = pair[1].translate(None, _DELETED)
            if sum(skeleton in line for line in skeletons) * _RARE < len(skeletons):
                self._groups.setdefault(skeleton, []).append(pair)
            else:
                self._weak.append(pair)
        self._forget()

    def _forget(self) -> None:
        """Empty the cache, and drop the trie, whose groups have changed."""
        self._cache.clear()
        self._cached_bytes = 0
        self._trie = None

    def _candidates(self, skeletons: list[bytes]) -> list[_Candidates]:
        """Return for each line the literals that it may contain."""
        try:
            return list(map(self._cache.__getitem__, skeletons))
        except KeyError:
            self._learn(set(skeletons))
            return list(map(self._cache.__getitem__, skeletons))

    def _learn(self, skeletons: set[bytes]) -> None:
        """Classify the skeletons that are new.

        All at once over their joined text, so that a log of nothing but new skeletons costs what `find` costs (15 MB/s
        with 200 literals) and not a Python loop over lines and groups (6 MB/s). Once the cache ran over, the log is of
        that kind, and the trie (30 MB/s) is worth the 3 ms it takes to compile.
        """
        if self._cached_bytes > _CACHE_BYTES:
            trie = self._trie or Trie(self._groups)
            self._forget()
            self._trie = trie
        new = skeletons - self._cache.keys()
        found: dict[bytes, list[tuple[int, bytes]]] = {}
        text = b"\n".join(new)
        for group in self._trie.occurring(text) if self._trie else self._groups:
            if group in text:
                for skeleton in new:
                    if group in skeleton:
                        found.setdefault(skeleton, []).extend(self._groups[group])
        self._cache.update(dict.fromkeys(new, ()))
        self._cache.update((skeleton, tuple(pairs)) for skeleton, pairs in found.items())
        self._cached_bytes += len(text) + len(new) * _ENTRY_BYTES

    def _add_weak(self, block: bytes, found: list[_Candidates]) -> None:
        """Add the weak literals to the candidates of the lines that contain them."""
        for pair in self._weak:
            row, line_begins = 0, 0
            at = block.find(pair[1])
            while at >= 0:
                row += block.count(b"\n", line_begins, at)
                found[row] += (pair,)
                line_ends = block.find(b"\n", at)
                if line_ends < 0:
                    break
                row, line_begins = row + 1, line_ends + 1
                at = block.find(pair[1], line_begins)


def _verified(lines: list[bytes], rows: list[int], found: list[_Candidates]) -> Iterator[LineHits]:
    """Yield the candidate lines that contain a literal."""
    for row in rows:
        line = lines[row]
        ids = [number for number, literal in found[row] if literal in line]
        if ids:
            if len(ids) > 1:
                ids.sort()
            yield hit((row, line, tuple(ids)))
