r"""Find the wording that matches a line, and the event with its values.

    "Volume detached for volume \"pvc-1\" (UniqueName: …) on node \"worker-1\""

is a wording of `volume.released`, of the volume pvc-1 and the node worker-1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial

from kvdiag.events.names import NAMED, PLACEHOLDERS, mounts_in, pods_in, refs_of, text_of
from kvdiag.events.pod_text import is_pod_text
from kvdiag.events.raw_events import EventMatch, Match, Meaning, ValueReader, Values
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.model.event import Ref
from kvdiag.model.values import EMPTY
from kvdiag.model.vocabulary import Entry

NAMING = frozenset({"data", "error"})  # attributes that may contain names
OF_PROBES = "robe failed..."  # the beginning of wordings that match a probe's output
ALONE = frozenset({"sandbox_id", "container_id", "pod_uid", "pod", "volume_handle", "spec_name"})  # each of one subject
MOST_MEANINGS = 20_000
MOST_REFS = 20_000
MOST_NEW = 256  # lines in a row with new values, after which the meanings of a wording are no longer cached

_Quick = tuple[Callable[[bytes, int], re.Match[bytes] | None] | None, int, Callable[[bytes, int], Values | None] | None]


class Matcher:
    """Matches the wordings of a vocabulary; `wordings` are those that matched."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Compile no regex yet: each is compiled at its first use."""
        self._vocabulary = vocabulary
        self.wordings: set[int] = set()
        self._meanings: dict[Match, EventMatch] = {}
        self._readers: dict[int, ValueReader] = {}
        self._new = [0] * len(vocabulary.wordings)  # lines in a row whose values were not cached
        self._quick: list[_Quick | None] = [None] * len(vocabulary.wordings)

    def match(self, literal: int, text: bytes) -> Match | None:
        """Return the first wording of a literal that matches, with its values."""
        at = text.find(self._vocabulary.literals[literal])
        if at < 0:
            return None
        if not is_pod_text(text, at):
            return self.match_at(self._vocabulary.by_literal[literal], text, at)
        of_probes = (
            number
            for number in self._vocabulary.by_literal[literal]
            if self._vocabulary.wordings[number].message.startswith(OF_PROBES)
        )
        return self.match_at(of_probes, text, at)

    def match_at(self, numbers: Iterable[int], text: bytes, at: int) -> Match | None:
        """Return the first of these wordings that matches with its literal at this place, with its values."""
        for number in numbers:
            quick, shift, otherwise = self._quick[number] or self._prepare(number)
            found = quick(text, at + shift) if quick and at + shift >= 0 else None
            if found is not None:
                return number, found.groups()
            groups = otherwise(text, at) if otherwise else None
            if groups is not None:
                return number, groups
        return None

    def meaning(self, found: Match, entry: Entry, *, is_long: bool) -> EventMatch:
        """Return the event match of a wording with its values; cached unless the line is long.

        Nor is it cached for a wording whose values hardly repeat, as those with the id of a container.
        """
        number, values = found
        if self._new[number] > MOST_NEW:
            return EventMatch(entry, self._readers[number], values)
        known = self._meanings.get(found)
        if known is not None:
            self._new[number] = 0
            return known
        meaning = EventMatch(entry, self._readers.get(number) or self._reader(number), values)
        if not is_long:
            if len(self._meanings) >= MOST_MEANINGS:
                self._meanings.clear()
            self._meanings[found] = meaning
            self._new[number] += 1
        return meaning

    def forget(self) -> None:
        """Empty the cache of event matches."""
        self._meanings.clear()

    def _reader(self, number: int) -> ValueReader:
        """Return the reader of the values of a wording, created at its first match."""
        self.wordings.add(number)
        reader = self._readers[number] = value_reader(self._vocabulary.matcher(number).names, number)
        return reader

    def _prepare(self, number: int) -> _Quick:
        """Return the regex of a wording, compiled at its first use: each takes half a millisecond."""
        matcher = self._vocabulary.matcher(number)
        quick = self._quick[number] = (*(matcher.quick or (None, 0)), matcher.otherwise)
        return quick


def value_reader(names: Sequence[str], number: int) -> ValueReader:
    """Return the reader of the values of a wording, which have these names."""
    naming = tuple(place for place, name in enumerate(names) if PLACEHOLDERS[name].kind or name in NAMING)
    links = len(naming) > 1 or any(names[place] not in ALONE for place in naming)
    return ValueReader(partial(_read, names), names, naming, links, number)


def _read(names: Sequence[str], values: Values) -> Meaning:
    """Return the refs and attributes of the values of these placeholders."""
    refs: dict[Ref, None] = {}
    attrs: dict[str, str] = {}
    for name, value in zip(names, values, strict=True):
        if value is None:
            continue
        named = refs_of(name, value) if name in NAMED else ()
        for ref in named:
            refs[ref] = None
        if not named:
            attrs[name] = text_of(name, value)
        if name == "error":
            refs.update(dict.fromkeys(mounts_in(value)))
            pods = pods_in(value)
            if pods and (pods[0] in refs or not any(ref.kind in {"pod", "pod_uid"} for ref in refs)):
                refs.update(dict.fromkeys(pods))
    return _same(tuple(refs)), attrs or EMPTY


@lru_cache(MOST_REFS)
def _same(refs: tuple[Ref, ...]) -> tuple[Ref, ...]:
    """Return one object for equal refs: of 100,000 events 10 MB."""
    return refs
