"""Which of many words may occur in a text, in one pass of `re` instead of one `find` per word."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

# Longer prefixes only make the pattern larger: 35 MB/s at 6 bytes of 200 words, 27 with the words whole.
_PREFIX = 6


class Trie:
    """The words' first bytes as one nested pattern, since `re` tries a plain alternation word by word.

    Text that holds no word passes at 35 MB/s with 200 words, where 200 times `find` makes 15.
    """

    def __init__(self, words: Iterable[bytes]) -> None:
        words = set(words)
        heads = {word[:_PREFIX] for word in words}
        self._search = re.compile(_pattern(heads)).search
        self._words: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for word in words:
            # If one head is a prefix of another, the pattern matches the shorter one.
            shortest = next(word[:size] for size in range(1, _PREFIX + 1) if word[:size] in heads)
            self._words[shortest].append(word)

    def occurring(self, text: bytes) -> list[bytes]:
        """Return every word that is in the text, and some of which only the beginning is."""
        heads: set[bytes] = set()
        match = self._search(text) if self._words else None
        while match:
            heads.add(match[0])
            match = self._search(text, match.start() + 1)  # heads may overlap
        return [word for head in heads for word in self._words[head]]


def _pattern(words: Collection[bytes]) -> bytes:
    if b"" in words:
        return b""
    branches: defaultdict[bytes, set[bytes]] = defaultdict(set)
    for word in words:
        branches[word[:1]].add(word[1:])
    parts = [re.escape(byte) + _pattern(rest) for byte, rest in sorted(branches.items())]
    return parts[0] if len(parts) == 1 else b"(?:" + b"|".join(parts) + b")"
