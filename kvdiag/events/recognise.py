"""Convert lines with hits of the scanner to raw events.

    I1120 20:39:22.381204    6175 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/csi/…

This is the hot loop: it runs for every line that carries a literal of the vocabulary, one line in ten of a kubelet log
at -v=4, nearly all of a containerd log. Most lines begin like an earlier one of their program: what that one showed of
author and literal is used again (`_read_alike`); all others are read in full (`_read_all`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from kvdiag.base.clock import stamp_of_line
from kvdiag.base.errors import describe_fault
from kvdiag.events.embedded_errors import trim_to_string, with_pod
from kvdiag.events.hit_lines import LONGEST_RECORD, Front, HitLines
from kvdiag.events.kubectl_events import is_object, is_row, repeated
from kvdiag.events.line_texts import LineTexts
from kvdiag.events.matching import Matcher
from kvdiag.events.pod_text import is_pod_text
from kvdiag.events.raw_events import EventMatch, HitLine, Match, ParsedLine, RawEvent, RpcLine
from kvdiag.events.repeats import Repeats
from kvdiag.events.rpc_reader import LONGEST_SITE, LONGEST_TEXT, Hit, RpcReader
from kvdiag.events.timestamp_reader import NO_SITE, Process, TimestampReader
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.formats.authors import COMBINED, HEADER, Attribution, reflector_type
from kvdiag.formats.bodies.gopanic import is_opening
from kvdiag.formats.bodies.gopanic import read as read_panic
from kvdiag.formats.carriers.carrier import KERNEL
from kvdiag.formats.carriers.peel import peel
from kvdiag.model.vocabulary import CRASH, Entry

OPENING = 3  # first lines of a crash dump, each of which may be recognized as the crash
MOST_SITES = 4_096
RELAYED = "relayed"  # placeholder for the component of an error that any program may print
UNFINISHED = (b"=<", b"\r")  # a value of many lines begins; a carriage return to remove
UNKNOWN: dict[int, bool] = {}  # what is known of lines that were not met yet
UNKNOWN_AUTHOR = Attribution()


class Recogniser:
    """Reads one source. Pass every block with its hits in order.

    The results are `raw_events` and `rpc_lines`; `texts` are their lines.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        is_named: bool = False,
        by: Attribution = UNKNOWN_AUTHOR,
        texts: LineTexts | None = None,
    ) -> None:
        """Use the vocabulary whose literals the scanner searches.

        In a source that the user named, lines without a time also count if no line above has one (an excerpt). In a
        source that was only found, they may be any text. `by` is the author according to the log's name. `texts` are
        those of the log above a stretch.
        """
        self._vocabulary, self._is_named, self._by = vocabulary, is_named, by
        self.raw_events: list[RawEvent] = []
        self.texts = LineTexts() if texts is None else texts
        self.recognised = 0
        self.faults: dict[str, int] = {}  # bugs in kvdiag, each with the first line that it could not read
        self._matcher, self._repeats = Matcher(vocabulary), Repeats()
        self._lines = HitLines(KERNEL if by.by.program == KERNEL else "")
        self._polls, self._readers, self._errors = vocabulary.polls, vocabulary.readers, vocabulary.errors
        self._owners = vocabulary.owners
        self._rpc = RpcReader(vocabulary.kinds, self._lines, self.texts)
        self._literals = vocabulary.literals
        self._simple_literals = vocabulary.simple_literals
        self._printed: dict[tuple[int, Process, bytes], dict[int, bool] | None] = {}
        self._may_print_cache: dict[tuple[str, str, str, bytes, bytes], bool] = {}

    @property
    def rpc_lines(self) -> list[RpcLine]:
        """Return the lines of gRPC calls."""
        return self._rpc.lines

    @property
    def polls(self) -> list[tuple[Match, RawEvent]]:
        """Return the polls, each with its wording and values."""
        return self._repeats.started

    @property
    def wordings(self) -> set[int]:
        """Return the wordings that matched."""
        return self._matcher.wordings

    @property
    def duplicates(self) -> int:
        """Return how many events were dropped as duplicates."""
        return self._repeats.duplicates

    @property
    def stamper(self) -> TimestampReader:
        """Return the reader of this source's times."""
        return self._lines.stamper

    def feed(self, block: bytes, first_line: int, hits: Iterable[Hit]) -> None:
        """Read one block; `hits` are (line of the block, line, literal ids), `first_line` counts from 0."""
        lines, repeats = self._lines, self._repeats
        lines.begin(block)
        front = lines.front()
        stamp_of, process, site, _ = front
        known, seen = repeats.polls.get, repeats.event_counts.get
        for index, line, ids in self._of_interest(hits, front):
            try:
                event_count = seen(hash(line))
                if event_count is not None:
                    self.recognised += event_count
                    repeats.duplicates += event_count
                    continue
                stamp, events = stamp_of(line), None
                place = HitLine(block, index, first_line + index + 1, line)
                if stamp is not None and not line.endswith(UNFINISHED):
                    if len(ids) == 1:
                        events = self._read_alike(ids[0], stamp, front, place)
                    if (
                        events is None
                        and (poll := known(line[site:])) is not None
                        and poll.count_repeat(stamp, process)
                    ):
                        self.recognised += 1
                        continue
                    parsed: ParsedLine = (stamp, line, process, None)
                else:
                    parsed = lines.read(line, block, index)
                    front = lines.front()
                    stamp_of, process, site, _ = front
                if events is None:
                    events = self._read_all(ids, parsed, place, site)
                if parsed[0] is not None and events:
                    repeats.remember_line(line, events)
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 (a bug in kvdiag skips this line, not the log)
                self.faults.setdefault(describe_fault(error), first_line + index + 1)

    def _of_interest(self, hits: Iterable[Hit], front: Front) -> Iterable[Hit]:
        """Return the hits but those in calls without interest, which count as recognized."""
        kept, idle = self._rpc.without_idle(hits, front)
        self.recognised += idle
        return kept

    def retain(self, events: list[RawEvent], rpc_lines: list[RpcLine]) -> None:
        """Keep only these; kept polls continue to be counted, any other begins again."""
        self.raw_events, self._rpc.lines = events, rpc_lines
        kept = [one.text_at for one in events[:1]] + [one.text_at for one in rpc_lines[:1]]
        self.texts.forget(min(kept, default=len(self.texts)))
        self._repeats.retain(events)
        self._matcher.forget()

    def _read_alike(self, literal: int, stamp: int, front: Front, place: HitLine) -> int | None:
        """Read a line with one literal by what is known of lines that are alike up to it, as most are.

        Return None if such a line may be more than its words, and must be read in full.
        """
        line = place.line
        at = line.find(self._literals[literal])
        words = line[front.words : at]
        printed = self._printed.get((literal, front.process, words), UNKNOWN)
        if printed is UNKNOWN:
            printed = {} if self._is_simple(literal, at, front, line) else None
            if len(words) <= LONGEST_SITE:
                if len(self._printed) >= MOST_SITES:
                    self._printed.clear()
                self._printed[literal, front.process, words] = printed
        if printed is None or len(line) > LONGEST_TEXT:
            return None
        found = self._matcher.match_at(self._vocabulary.by_literal[literal], line, at)
        if found is None:
            return 0
        self.recognised += 1
        entry, is_printed = self._vocabulary.entries[self._owners[found[0]]], printed.get(found[0])
        if is_printed is None:
            is_printed = printed[found[0]] = self._may_print(entry.component, front.process, line, front.site)
        if not is_printed:
            return 1
        self._lines.last = stamp
        if found[0] in self._readers:
            self._rpc.add((stamp, line, front.process, None), stamp, place, front.site)
            return 0
        match = self._matcher.meaning(found, entry, is_long=False)
        self.raw_events.append(RawEvent(stamp, match, place.number, self.texts.add(line), front.process))
        return 1

    def _is_simple(self, literal: int, at: int, front: Front, line: bytes) -> bool:
        """Return whether lines that are alike up to a literal have one author, and one event that is all they say."""
        words = line[front.words : at]
        is_sited = front.process.ident not in {"", *COMBINED} or front.site == NO_SITE or b"]" in words
        is_sited = is_sited and at >= front.words and b"reflector" not in words
        return is_sited and self._simple_literals[literal] and not is_pod_text(line, at)

    def _may_print(self, component: str, process: Process, line: bytes, rest: int) -> bool:
        """Return `Attribution.may_print`, or `may_relay` for RELAYED errors; cached for each call site.

        Both use only the file, and the type that a reflector lists.
        """
        ident, carrier = process.ident, process.carrier
        site = b"" if ident and ident not in COMBINED else _site(line, rest)
        key = (component, ident, carrier, site, reflector_type(line) if b"reflector" in site else b"")
        allowed = self._may_print_cache.get(key)
        if allowed is None:
            if len(self._may_print_cache) >= MOST_SITES:
                self._may_print_cache.clear()
            by = self._by
            ask = by.may_relay if component == RELAYED else partial(by.may_print, component)
            allowed = ask(ident, line, carrier)
            self._may_print_cache[key] = allowed
        return allowed

    def _read_all(self, ids: tuple[int, ...], parsed: ParsedLine, place: HitLine, rest: int) -> int:
        """Read all events of a line; return how many a copy of the line must not add again."""
        events, pieces = 0, 0
        kinds: set[str] = set()
        counted: set[str] = set()  # kinds of which the line repeats a poll
        for literal in ids:
            found = self._matcher.match(literal, parsed[1])
            if found is None:
                continue
            owner = self._vocabulary.owner(found[0])
            if owner.is_embedded and owner.kind in counted:
                continue
            is_again = owner.is_embedded and owner.kind in kinds
            kinds.add(owner.kind)
            events += not is_again
            self.recognised += not is_again
            is_poll = found[0] in self._polls
            if is_poll and parsed[0] is not None and self._repeats.count_repeat(found, parsed[0], parsed[2]):
                counted.add(owner.kind)
                if events == 1 and len(ids) == 1:
                    self._repeats.remember_poll(place.line[rest:], found)
                continue
            pieces += found[0] in self._readers
            if found[0] in self._errors and not is_object(parsed[3]):
                more = self._lines.below(place.block, place.index)
                found = (self._matcher.match(literal, _with_below(parsed, more)) or found) if more else found
            self._add(found, parsed, place, rest)
        # Two calls may have equal lines in one microsecond, and two pods equal rows in one minute.
        return 0 if pieces or is_row(parsed[3]) else events

    def _add(self, found: Match, parsed: ParsedLine, place: HitLine, rest: int) -> None:
        entry = self._vocabulary.owner(found[0])
        stamp = parsed[0] if parsed[0] is not None else self._lines.last
        is_bare = parsed[0] is None and parsed[3] is None  # neither a time nor a format
        is_excerpt = self._is_named and stamp is None and self._by.by.rank is None
        if is_bare and entry.component not in {"", KERNEL} and not is_excerpt:
            return  # a message in text that is no log
        if not (self._is_from_component(entry, parsed, place, rest) or (is_excerpt and is_bare)):
            return
        if stamp is None:
            stamp = stamp_of_line(place.number)
        else:
            self._lines.last = stamp
        if entry.reader:
            self._rpc.add(parsed, stamp, place, rest)
            return
        if entry.kind == CRASH and (self._is_same_crash(place) or not is_opening(peel(place.line).body)):
            return  # a duplicate, or printed by a program as output of another
        if self._is_repeated(entry, place.number):
            return
        is_long = len(place.line) > LONGEST_TEXT
        found = trim_to_string(found, parsed[1]) if entry.is_embedded else found
        meaning = with_pod(self._matcher.meaning(found, entry, is_long=is_long), parsed[1])
        if entry.kind == CRASH:
            meaning = _panic(meaning, self._lines.lines(place.block)[place.index : place.index + LONGEST_RECORD])
        text_at = self.texts.add(place.line[:LONGEST_TEXT])
        is_poll = entry.poll and not is_long
        raw_event = RawEvent(stamp, meaning, place.number, text_at, parsed[2], [1, stamp] if is_poll else None)
        if is_row(parsed[3]):
            raw_event = repeated(raw_event, parsed[3])
        if is_poll:
            self._repeats.start_poll(found, raw_event)
        self.raw_events.append(raw_event)

    def _is_from_component(self, entry: Entry, parsed: ParsedLine, place: HitLine, rest: int) -> bool:
        """Return whether the entry's component may have printed the line, also for crashes, kernel lines and events."""
        is_contained = self._by.is_contained(parsed[2].carrier, parsed[2].ident)
        if entry.kind == CRASH:
            return self._by.may_crash(parsed[2].carrier, parsed[2].ident)
        if entry.component == KERNEL:
            return parsed[2].ident == KERNEL and not is_contained
        if is_row(parsed[3]):
            return not is_contained
        who = RELAYED if entry.is_embedded else entry.component
        return self._may_print(who, parsed[2], place.line, rest)

    def _is_repeated(self, entry: Entry, number: int) -> bool:
        """Return whether the line already has this event: by another wording, or as a whole before an embedded error.

        A line and the error embedded in it are one failure; the event of the whole line has more names.
        """
        is_last = True
        for at in range(len(self.raw_events) - 1, -1, -1):
            if self.raw_events[at].line != number:
                return False
            before = self.raw_events[at].match.entry
            if (is_last and before is entry) or (before.kind == entry.kind and entry.is_embedded):
                return True
            if before.kind == entry.kind and before.is_embedded:
                del self.raw_events[at]
                return False
            is_last = False
        return False

    def _is_same_crash(self, place: HitLine) -> bool:
        """Return whether the dump was already recognized: `panic: …` and `[signal SIGSEGV …` begin one dump."""
        before = self.raw_events[-1] if self.raw_events else None
        return before is not None and before.match.entry.kind == CRASH and place.number - before.line <= OPENING


def _site(line: bytes, rest: int) -> bytes:
    """Return the call site after klog's header; without a header, the part of the line that may contain a file."""
    end = line.find(b"]", rest, rest + LONGEST_SITE)
    return line[rest : end if end >= 0 else rest + HEADER]


def _with_below(parsed: ParsedLine, more: Sequence[bytes]) -> bytes:
    """Return the message of a line with the lines below it; without the closing quote of an event."""
    words = parsed[1].removesuffix(b'"') if is_row(parsed[3]) else parsed[1]
    return rb"\n".join([words, *more])


def _panic(meaning: EventMatch, lines: Sequence[bytes]) -> EventMatch:
    """Add the functions of the first goroutine, from the following lines, to a crash."""
    body = read_panic([peel(line).body for line in lines])
    functions = [name.rpartition("/")[2] for name in body.fields.get("functions", "").split()]
    attrs = {**body.fields, "functions": ", ".join(functions), "reason": body.message}
    return EventMatch.known(meaning.entry, meaning.refs, {**meaning.attrs, **attrs})
