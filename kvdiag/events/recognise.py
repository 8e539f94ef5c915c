"""Lines that a scanner hit → sightings: which event, of what, when.

    I1120 20:39:22.381204    6175 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/csi/…

This is the hot loop: it runs for every line that carries a literal of the vocabulary, one line in ten of a kubelet log
at -v=4, nearly all of a containerd log. A line costs 3 µs: one regex at the literal (0.8), the time (0.5), a look-up of
what the same words meant before (0.4), the rest is Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kvdiag.clock import MINUTE
from kvdiag.events.names import mounts_in, refs_of, text_of
from kvdiag.events.stamper import Said, Speaker, Stamper
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.formats.gopanic import read as read_panic
from kvdiag.formats.grpc import Piece, read_piece
from kvdiag.formats.peel import peel
from kvdiag.formats.records import classify, read_body
from kvdiag.model.event import Ref
from kvdiag.model.vocabulary import Entry

FOLD = MINUTE  # polls closer than this are one event with a count
MOST_MEANINGS = 20_000
LONGEST_TEXT = 8_192  # bytes of a line that are kept as evidence
LONGEST_RECORD = 120  # lines of one record: an error of many lines, a goroutine
LOOK_BACK = 400  # lines in which the header of a headerless line is looked for


class Meaning(NamedTuple):
    """What a wording with these values says; made once and shared by all lines that say the same."""

    entry: Entry
    refs: tuple[Ref, ...]
    attrs: Mapping[str, str]


class Sighting(NamedTuple):
    """An event on the clock of its source. `more` is [count, last stamp] when a poll was folded."""

    stamp: int
    meaning: Meaning
    line: int
    text: bytes
    speaker: Speaker
    more: list[int] | None = None


class Heard(NamedTuple):
    """A gRPC line on the clock of its source, to be paired with its call."""

    stamp: int
    piece: Piece
    line: int
    text: bytes
    speaker: Speaker


class Recogniser:
    """Reads one source. Give it every block with its hits in order; then take `sightings` and `heard`."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """The vocabulary whose literals were scanned for."""
        self._vocabulary = vocabulary
        self.stamper = Stamper()
        self.sightings: list[Sighting] = []
        self.heard: list[Heard] = []
        self.wordings: set[int] = set()
        self.recognised = 0
        self.duplicates = 0
        self.first: int | None = None
        self.last: int | None = None
        self._meanings: dict[tuple[int, tuple[bytes | None, ...]], Meaning] = {}
        self._seen: set[int] = set()
        self._polls: dict[tuple[int, tuple[bytes | None, ...], Speaker], Sighting] = {}

    def feed(self, block: bytes, first_line: int, hits: Iterable[tuple[int, bytes, tuple[int, ...]]]) -> None:
        """One block; `hits` are (line of the block, line, literal ids), `first_line` counts from 0."""
        literals, by_literal = self._vocabulary.literals, self._vocabulary.by_literal
        matcher, read = self._vocabulary.matcher, self.stamper.read
        for index, raw, ids in hits:
            line = raw[:-1] if raw.endswith(b"\r") else raw
            said: Said | None = None
            for literal in ids:
                if said is None:
                    said = read(line)
                    if line.endswith(b"=<") or said.stamp is None:
                        said = self._whole(said, block, index)
                text = said.text
                at = text.find(literals[literal])
                if at < 0:
                    continue
                for number in by_literal[literal]:
                    groups = matcher(number).match(text, at)
                    if groups is not None:
                        self._add(number, groups, said, first_line + index + 1, line, block, index)
                        break

    def _add(
        self, number: int, groups: tuple[bytes | None, ...], said: Said, line_number: int, line: bytes, block: bytes, index: int
    ) -> None:
        stamp = said.stamp if said.stamp is not None else self.last
        if stamp is None:
            return
        self.recognised += 1
        identity = hash((stamp, number, groups))
        entry = self._vocabulary.owner(number)
        if identity in self._seen and not entry.reader:
            self.duplicates += 1
            return
        self._seen.add(identity)
        self.wordings.add(number)
        self.first = stamp if self.first is None or stamp < self.first else self.first
        self.last = stamp
        if entry.reader == "grpc":
            self._hear(said, stamp, line_number, line)
            return
        meaning = self._meanings.get((number, groups)) or self._mean(number, groups, entry)
        if entry.kind == "runtime.panicked":
            meaning = _panic(meaning, block, index)
        if entry.poll and self._fold((number, groups, said.speaker), stamp):
            return
        sighting = Sighting(stamp, meaning, line_number, line[:LONGEST_TEXT], said.speaker, [1, stamp] if entry.poll else None)
        if entry.poll:
            self._polls[(number, groups, said.speaker)] = sighting
        self.sightings.append(sighting)

    def _fold(self, key: tuple[int, tuple[bytes | None, ...], Speaker], stamp: int) -> bool:
        before = self._polls.get(key)
        if before is None or before.more is None or not 0 <= stamp - before.more[1] <= FOLD:
            return False
        before.more[0] += 1
        before.more[1] = stamp
        return True

    def _mean(self, number: int, groups: tuple[bytes | None, ...], entry: Entry) -> Meaning:
        refs: dict[Ref, None] = {}
        attrs: dict[str, str] = {}
        for name, value in zip(self._vocabulary.matcher(number).names, groups, strict=True):
            if value is None:
                continue
            found = refs_of(name, value)
            if found:
                refs.update(dict.fromkeys(found))
            else:
                attrs[name] = text_of(name, value)
            if name == "error":
                refs.update(dict.fromkeys(mounts_in(value)))
        meaning = Meaning(entry, tuple(refs), attrs)
        if len(self._meanings) >= MOST_MEANINGS:
            self._meanings.clear()
        self._meanings[(number, groups)] = meaning
        return meaning

    def _hear(self, said: Said, stamp: int, line_number: int, line: bytes) -> None:
        if self.heard and self.heard[-1].line == line_number:
            return
        body = said.body or read_body(peel(line).body)
        piece = read_piece(body.message, body.fields) if body else None
        if piece is not None:
            self.heard.append(Heard(stamp, piece, line_number, line[:LONGEST_TEXT], said.speaker))

    def _whole(self, said: Said, block: bytes, index: int) -> Said:
        """A line without a header, or with an open value: the words of its whole record, the time of its head."""
        lines = block.split(b"\n")
        head, opening = index, said
        if said.stamp is None:
            for back in range(index - 1, max(-1, index - LOOK_BACK), -1):
                if classify(lines[back]) == "head":
                    head, opening = back, self.stamper.read(lines[back])
                    if opening.stamp is not None:
                        break
        if not lines[head].rstrip().endswith(b"=<"):
            return said._replace(stamp=opening.stamp, speaker=opening.speaker if said.stamp is None else said.speaker)
        return opening._replace(text=b"\n".join([opening.text, *_continuation(lines, head + 1)]))


def _continuation(lines: Sequence[bytes], begin: int) -> Iterable[bytes]:
    for line in lines[begin : begin + LONGEST_RECORD]:
        body = peel(line).body
        if classify(line) == "head":
            return
        yield body
        if body.lstrip().startswith(b">"):
            return


def _panic(meaning: Meaning, block: bytes, index: int) -> Meaning:
    """The first goroutine's functions say what crashed; they stand on the lines that follow."""
    following = [peel(line).body for line in block.split(b"\n")[index : index + LONGEST_RECORD]]
    body = read_panic(following)
    return meaning._replace(attrs={**meaning.attrs, **body.fields, "reason": body.message})
