"""Lines that a scanner hit → raw events: which event, of what, when.

    I1120 20:39:22.381204    6175 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/csi/…

This is the hot loop: it runs for every line that carries a literal of the vocabulary, one line in ten of a kubelet log
at -v=4, nearly all of a containerd log. A line costs 3 µs: one regex at the literal (0.8), the time (0.5), a look-up of
what the same words meant before (0.4), the rest is Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from kvdiag.clock import at_line
from kvdiag.events.listed import Listed, is_row, repeated
from kvdiag.events.names import mounts_in, pods_in, refs_of, text_of
from kvdiag.events.raw import UNKNOWN_PROCESS, EventMatch, HitLine, Match, ParsedLine, RawEvent, RpcLine
from kvdiag.events.stamper import Process, TimedLine, TimestampReader
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.formats.authors import Attribution
from kvdiag.formats.bodies.gopanic import is_start
from kvdiag.formats.bodies.gopanic import read as read_panic
from kvdiag.formats.bodies.known import canonical, classify, read_body
from kvdiag.formats.carriers.carrier import KERNEL
from kvdiag.formats.carriers.dmesg import Minutes
from kvdiag.formats.carriers.peel import peel
from kvdiag.model.event import Ref
from kvdiag.model.vocabulary import Entry

CRASH = "runtime.panicked"
MOST_KNOWN = 4_096  # polls whose words are remembered
LONGEST_LINE = 1 << 20
MOST_SEEN = 200_000  # lines, by hash, 60 bytes each, that are remembered to drop what an input holds twice
MOST_MEANINGS = 20_000
LONGEST_TEXT = 8_192  # bytes of a line that are kept as evidence; the meaning of a longer one is not remembered
LONGEST_RECORD = 120  # lines of one record: an error of many lines, a goroutine
LONGEST_ERROR = 12  # lines an unquoted error goes on for
OPENING = 3  # lines at the head of a crash dump that may each name the crash
UNFINISHED = (b"=<", b"\r")  # a value of many lines begins; a carriage return to be cut off
ANYBODY = Attribution()
LOOK_BACK = 400  # lines in which the header of a headerless line is looked for

_Quick = tuple[Callable[[bytes, int], re.Match[bytes] | None] | None, int]


class Recogniser:
    """Reads one source. Give it every block with its hits in order; then take `raw_events` and `heard`."""

    def __init__(self, vocabulary: Vocabulary, *, is_named: bool = False, by: Attribution = ANYBODY) -> None:
        """The vocabulary whose literals were scanned for.

        Of a source that the user named, lines without a time count also where none above has one: an excerpt. In what
        was only found, such words may stand in any text. `by` is whose log it is, as far as it is called after one.
        """
        self._vocabulary, self._is_named, self._by = vocabulary, is_named, by
        self.stamper = TimestampReader()
        self.raw_events: list[RawEvent] = []
        self.heard: list[RpcLine] = []
        self.wordings: set[int] = set()
        self.recognised = 0
        self.duplicates = 0
        self.last: int | None = None
        self._meanings: dict[Match, EventMatch] = {}
        self._told: dict[int, int] = {}
        self._folding: dict[Match, RawEvent] = {}
        self._known: dict[bytes, RawEvent] = {}
        self._polls, self._readers, self._errors = vocabulary.polls, vocabulary.readers, vocabulary.errors
        self._listed, self._minutes = Listed(self.stamper), Minutes()
        self._split: tuple[bytes, list[bytes]] = (b"", [])
        self._searched: tuple[bytes, int, int] = (b"", 0, 0)
        self._quick: list[_Quick | None] = [None] * len(vocabulary.wordings)

    def feed(self, block: bytes, first_line: int, hits: Iterable[tuple[int, bytes, tuple[int, ...]]]) -> None:
        """One block; `hits` are (line of the block, line, literal ids), `first_line` counts from 0."""
        stamp_of, speaker, rest = self._front()
        known = self._known.get
        for index, line, ids in hits:
            stamp = stamp_of(line)
            if stamp is not None and not line.endswith(UNFINISHED):
                going = known(line[rest:])
                if going is not None and going.goes_on(stamp, speaker):
                    self.recognised += 1
                    continue
                said: ParsedLine = (stamp, line, speaker, None)
            else:
                said = self._read(line, block, index)
                stamp_of, speaker, rest = self._front()
            told = self._told.get(hash(line))  # 0.1 µs: inputs are cut and joined with overlaps
            if told is not None:
                self.recognised += told
                self.duplicates += told
                continue
            events = self._take(ids, said, HitLine(block, index, first_line + index + 1, line), rest)
            if said[0] is not None and events:
                self._tell(line, events)

    def evict(self, kept: list[RawEvent], heard: list[RpcLine]) -> None:
        """Go on with these alone; a poll that is kept is counted on, any other begins anew."""
        self.raw_events, self.heard = kept, heard
        going = {id(raw_event) for raw_event in kept}
        self._folding = {found: raw_event for found, raw_event in self._folding.items() if id(raw_event) in going}
        self._known = {words: raw_event for words, raw_event in self._known.items() if id(raw_event) in going}
        self._meanings.clear()

    def _take(self, ids: tuple[int, ...], said: ParsedLine, place: HitLine, rest: int) -> int:
        """Every event that one line tells of; how many there are that the same line must not tell again."""
        events, pieces = 0, 0
        for literal in ids:
            found = self._match(literal, said[1])
            if found is None:
                continue
            events += 1
            self.recognised += 1
            is_poll = found[0] in self._polls
            if is_poll and said[0] is not None and self._fold(found, said[0], said[2]):
                if events == 1 and len(ids) == 1:
                    self._learn(place.line[rest:], found)
                continue
            pieces += found[0] in self._readers
            if found[0] in self._errors:
                found = self._to_its_end(literal, found, said[1], place.block, place.index)
            self._add(found, said, place)
        # Two calls may well say the same in the same microsecond, and two pods of a table in the same minute.
        return 0 if pieces or is_row(said[3]) else events

    def _tell(self, line: bytes, events: int) -> None:
        if len(self._told) >= MOST_SEEN:
            self._told.clear()
        self._told[hash(line)] = events

    def _learn(self, words: bytes, found: Match) -> None:
        """What a poll says is the same each time but for its time: 0.7 µs for a line that was met, instead of 4."""
        going = self._folding.get(found)
        if words and going is not None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[words] = going

    def _front(self) -> tuple[Callable[[bytes], int | None], Process, int]:
        """How the layout met last reads a time, who writes in it, and where its words begin."""
        front = self.stamper.front
        return (
            (front.stamp, front.speaker, front.words)
            if front is not None
            else (_no_time, UNKNOWN_PROCESS, LONGEST_LINE)
        )

    def _read(self, line: bytes, block: bytes, index: int) -> ParsedLine:
        """A line that the front layout cannot read, or that does not end where it ends."""
        line = line.removesuffix(b"\r")
        said = self.stamper.read(line)
        if is_row(said.body):
            said = self._listed.read(said, line, block, index)
        if said.stamp is None and said.speaker.ident == KERNEL:
            said = said._replace(stamp=self._minutes.stamp(self._lines(block), index))
        return self._whole(said, block, index) if said.stamp is None or line.endswith(b"=<") else said

    def _match(self, literal: int, text: bytes) -> Match | None:
        """The first wording of a literal that fits, with its values."""
        at = text.find(self._vocabulary.literals[literal])
        if at < 0:
            return None
        for number in self._vocabulary.by_literal[literal]:
            quick, shift = self._quick[number] or self._prepare(number)
            found = quick(text, at + shift) if quick and at + shift >= 0 else None
            if found is not None:
                return number, found.groups()
            groups = self._vocabulary.matcher(number).match(text, at)
            if groups is not None:
                return number, groups
        return None

    def _prepare(self, number: int) -> _Quick:
        """The regex of a wording, compiled when a line first comes to it: each takes half a millisecond."""
        quick = self._quick[number] = self._vocabulary.matcher(number).quick or (None, 0)
        return quick

    def _fold(self, found: Match, stamp: int, speaker: Process) -> bool:
        """Whether this repeats the poll before it, which then counts it, or is a copy of it."""
        before = self._folding.get(found)
        if before is None or before.more is None or before.speaker != speaker:
            return False
        if stamp == before.more[1]:
            self.duplicates += 1
            return True
        return before.goes_on(stamp, speaker)

    def _add(self, found: Match, said: ParsedLine, place: HitLine) -> None:
        entry = self._vocabulary.owner(found[0])
        stamp = said[0] if said[0] is not None else self.last
        is_bare = said[0] is None and said[3] is None  # neither a time nor a format
        is_excerpt = self._is_named and stamp is None
        if is_bare and entry.component not in {"", KERNEL} and not is_excerpt:
            return  # words of a log in a text that is none
        if not (self._is_own(entry, said, place) or (is_excerpt and is_bare)):
            return
        if stamp is None:
            stamp = at_line(place.number)
        else:
            self.last = stamp
        if entry.reader:
            self._hear(said, stamp, place)
            return
        is_long = len(place.line) > LONGEST_TEXT
        meaning = self._meanings.get(found) or self._mean(found, entry, is_long=is_long)
        if entry.kind == CRASH:
            if self._is_same_crash(place) or not is_start(peel(place.line).body):
                return  # told before, or told by a program of another
            meaning = _panic(meaning, self._lines(place.block)[place.index : place.index + LONGEST_RECORD])
        before = self.raw_events[-1] if self.raw_events else None
        if before is not None and before.line == place.number and before.meaning.entry is entry:
            return  # two wordings of one event, one within the other
        text = place.line[:LONGEST_TEXT]
        is_poll = entry.poll and not is_long
        raw_event = RawEvent(stamp, meaning, place.number, text, said[2], [1, stamp] if is_poll else None)
        if is_row(said[3]):
            raw_event = repeated(raw_event, said[3])
        if is_poll:
            self._folding[found] = raw_event
        self.raw_events.append(raw_event)

    def _is_own(self, entry: Entry, said: ParsedLine, place: HitLine) -> bool:
        """Whether the words are not those of another: the kernel's that a program tells, or such as several have."""
        if entry.component == KERNEL:
            return said[2].ident == KERNEL
        return is_row(said[3]) or self._by.may_say(entry.component, said[2].ident, place.line)

    def _is_same_crash(self, place: HitLine) -> bool:
        """`panic: …` and `[signal SIGSEGV …` open one and the same dump."""
        before = self.raw_events[-1] if self.raw_events else None
        return before is not None and before.meaning.entry.kind == CRASH and place.number - before.line <= OPENING

    def _mean(self, found: Match, entry: Entry, *, is_long: bool) -> EventMatch:
        number, groups = found
        self.wordings.add(number)
        refs: dict[Ref, None] = {}
        attrs: dict[str, str] = {}
        for name, value in zip(self._vocabulary.matcher(number).names, groups, strict=True):
            if value is None:
                continue
            names = refs_of(name, value)
            if names:
                refs.update(dict.fromkeys(names))
            else:
                attrs[name] = text_of(name, value)
            if name == "error":
                refs.update(dict.fromkeys(mounts_in(value)))
                named = pods_in(value)
                if named and (named[0] in refs or not any(ref.kind in {"pod", "pod_uid"} for ref in refs)):
                    refs.update(dict.fromkeys(named))
        meaning = EventMatch(entry, tuple(refs), attrs)
        if len(self._meanings) >= MOST_MEANINGS:
            self._meanings.clear()
        if not is_long:
            self._meanings[found] = meaning
        return meaning

    def _hear(self, said: ParsedLine, stamp: int, place: HitLine) -> None:
        if self.heard and self.heard[-1].line == place.number:
            return  # another literal of the same line
        from kvdiag.formats.rpc.lines import read_piece  # 3 ms that a log without calls never needs

        body = said[3] or read_body(peel(place.line).body)
        piece = read_piece(body.message, body.fields) if body else None
        if piece is not None:
            self.heard.append(RpcLine(stamp, piece, place.number, place.line[:LONGEST_TEXT], said[2]))

    def _whole(self, said: TimedLine, block: bytes, index: int) -> ParsedLine:
        """A line without a header, or with an open value: the words of its whole record, the time of its head."""
        lines = self._lines(block)
        head, opening = index, said
        if said.stamp is None:
            head = self._head_above(block, lines, index)
            opening = self.stamper.read(lines[head]) if head != index else said
            self.last = opening.stamp if opening.stamp is not None else self.last
        if not lines[head].rstrip().endswith(b"=<"):
            return said
        whole = read_body(b"\n".join([peel(lines[head]).body, *_block_value(lines, head + 1)]))
        return opening._replace(text=canonical(whole), body=whole) if whole else opening

    def _head_above(self, block: bytes, lines: list[bytes], index: int) -> int:
        """The nearest line above that begins a record and has a time; the line itself when there is none.

        Lines that an earlier search has passed over are not looked at again: in a text without headers each line
        would look at all before it.
        """
        searched, begun, above = self._searched
        head = index
        for back in range(index - 1, max(-1, index - LOOK_BACK), -1):
            if classify(lines[back]) == "head":
                head = back
                if self.stamper.read(lines[back]).stamp is not None:
                    break
            if searched is block and back == begun:
                head = above if above != begun else head
                break
        self._searched = (block, index, head)
        return head

    def _to_its_end(self, literal: int, found: Match, text: bytes, block: bytes, index: int) -> Match:
        """An error that goes on in the lines below, as the output of umount or mkfs does."""
        lines = self._lines(block)
        more: list[bytes] = []
        for line in lines[index + 1 : index + 1 + LONGEST_ERROR]:
            if not line.strip() or classify(line) == "head":
                break
            more.append(line.strip())
        return (self._match(literal, rb"\n".join([text, *more])) or found) if more else found

    def _lines(self, block: bytes) -> list[bytes]:
        """The lines of a block, divided once however often they are asked for."""
        if self._split[0] is not block:
            self._split = (block, block.split(b"\n"))
        return self._split[1]


def _no_time(_line: bytes) -> None:
    """Before any layout is known."""


def _block_value(lines: Sequence[bytes], begin: int) -> Iterable[bytes]:
    """The lines of `key=<` up to and with the one that closes it."""
    for line in lines[begin : begin + LONGEST_RECORD]:
        body = peel(line).body
        if classify(line) == "head":
            return
        yield body
        if body.lstrip().startswith(b">"):
            return


def _panic(meaning: EventMatch, lines: Sequence[bytes]) -> EventMatch:
    """The first goroutine's functions say what crashed; they stand on the lines that follow."""
    body = read_panic([peel(line).body for line in lines])
    functions = [name.rpartition("/")[2] for name in body.fields.get("functions", "").split()]
    said = {**body.fields, "functions": ", ".join(functions), "reason": body.message}
    return meaning._replace(attrs={**meaning.attrs, **said})
