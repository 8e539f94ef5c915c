"""Collect the lines of level warning or worse of one log, block by block while it is read.

    E1120 20:39:21.779765    6175 kubelet.go:2916] "Container runtime network not ready" networkReady="NetworkReady=…

33 bytes are stored per line: its place, its time, a hash of its words, its group and its entry. Group and entry are
determined once for all lines with the same words; a line with known words takes 2 µs.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from kvdiag.analysis.error_lines.below import LONGEST_SAMPLE, LONGEST_VALUE, below_head, lines_behind, with_value
from kvdiag.analysis.error_lines.suspects import LevelMarks
from kvdiag.analysis.error_lines.unmarked import ShortText, reported
from kvdiag.analysis.error_lines.wording import fold_message
from kvdiag.base.clock import HOUR
from kvdiag.base.errors import describe_fault
from kvdiag.base.regex import lazy_regex
from kvdiag.events.timestamp_reader import KlogLayout, Layout, TimedLine, TimestampReader
from kvdiag.explain.benign import Benign
from kvdiag.formats.bodies import eventtable, plain
from kvdiag.formats.bodies.registry import canonical, read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.inputs.scan.blocks import Block
from kvdiag.model.record import Body
from kvdiag.model.values import EMPTY, Level

MOST_LINES = 1_000_000  # lines of all logs that are stored individually, 33 MB; further ones are only counted
MOST_GROUPS = 5_000  # groups of one log; further lines are counted as not listed
MOST_LIKE = 20_000  # wordings of one log in the cache
MOST_SUBJECTS = 5
LOOKED_AT = 20  # first lines of a group that are searched for names
OPENING = 3  # lines at the head of a crash; only the first of them counts
NO_TIME = -(1 << 62)
COREDNS = "coredns"
_COREDNS = lazy_regex(r"\[[A-Z]{4,7}\] plugin/\w+: ")  # a recorded terminal may have its lines below those of kubelet
EVENTS = "events"  # the component of a row of events that names none
REST = 0  # the group of lines beyond MOST_GROUPS
WORSE = frozenset((Level.WARNING, Level.ERROR, Level.FATAL))
_LETTERS = {ord("W"): Level.WARNING, ord("E"): Level.ERROR, ord("F"): Level.FATAL}
_DIGITS = b"0123456789"
_OPENS = (b"=<", b" {")  # of a value with lines of its own; what is below the second, an error, begins with a colon
_ONE_LINE_FORMATS = frozenset(("plain", "klogjson", eventtable.AS_OBJECT))  # formats whose records are one line each
_LEVEL = lazy_regex(rb"(?:level|lvl)=\"?(?:(?i:(warn)|(erro)|(fata|pani)))")
_EVENT = lazy_regex(r"\): type: 'Warning' reason: '(\w+)' (.*)", re.DOTALL)
_ID = re.compile(rb"[0-9a-f]{8,}(?:-[0-9a-f]{4,})*")
_NAME = lazy_regex(
    r"\b(?:pod|volume|node|image|driver|claim|persistentvolume|device|plugin)s?(?:Name)?"
    r'(?:=\[?|: ?| )\\*"([^"\\]{1,253})'
)


class GroupKey(NamedTuple):
    """What the lines of a group share: process, level, place in the code, and message."""

    ident: str
    level: Level
    where: str
    words: str


@dataclass(slots=True)
class LineGroup:
    """Similar lines: the first of them, and the object names in the first few, each with the first that has it."""

    key: GroupKey
    line: int
    sample: bytes
    subjects: dict[str, int] = field(default_factory=dict)
    looked_at: int = 0

    def add_names(self, line: bytes) -> None:
        """Add the object names in a line, up to `MOST_SUBJECTS`."""
        self.looked_at += 1
        for name in _NAME.findall(line[:LONGEST_SAMPLE].decode("utf-8", "replace")):
            if len(self.subjects) < MOST_SUBJECTS:
                self.subjects.setdefault(name, self.looked_at)

    def add_following(self, following: LineGroup) -> None:
        """Add the names in the first lines of the same group in the next stretch of the log."""
        for name, at in following.subjects.items():
            if self.looked_at + at <= LOOKED_AT and len(self.subjects) < MOST_SUBJECTS:
                self.subjects.setdefault(name, self.looked_at + at)
        self.looked_at = min(LOOKED_AT, self.looked_at + following.looked_at)


class HourBucket(NamedTuple):
    """A line beyond the quota, which is only counted: its group, its entry and its hour."""

    group: int
    entry: int
    hour: int


class LineQuota:
    """How many more lines of all logs may be stored individually."""

    def __init__(self) -> None:
        self.left = MOST_LINES


class ErrorColumns(NamedTuple):
    """What `ErrorLines` has collected of a log, or of a stretch of it; the columns are as there."""

    groups: list[LineGroup]
    lines: array[int]
    below: array[int]
    stamps: array[int]
    words: array[int]
    group_of: array[int]
    entry_of: array[int]
    beyond: Counter[HourBucket]
    repeated: dict[int, tuple[int, int]]


_Similar = tuple[int, tuple[tuple[int, Benign], ...]]  # the group, and the entries that may fit


class ErrorLines:
    """The lines of one log: call `add_block` for each block, then read the columns."""

    def __init__(self, entries: Sequence[Benign], quota: LineQuota, marks: LevelMarks, *, is_only: bool = True) -> None:
        """Take the entries of harmless lines; in the column `entry_of` they count from 1, and 0 means none.

        Failures at level info count in the only log of a case, and not in a part of it.
        """
        self._entries = [(n, one, one.anchor.translate(None, _DIGITS)) for n, one in enumerate(entries, start=1)]
        self._quota, self._marks = quota, marks
        self.faults: dict[str, int] = {}  # faults of kvdiag itself, each with the first line that was lost
        self._similar: dict[tuple[str, Level, bytes, bytes], _Similar] = {}
        self._same: dict[tuple[str, Level, bytes, int], tuple[int, int]] = {}  # key: hash of the words
        self._group_numbers: dict[GroupKey, int] = {}
        self._last, self._crash = NO_TIME, -OPENING
        self.groups: list[LineGroup] = [LineGroup(GroupKey("", Level.WARNING, "", ""), 0, b"")]
        self._below, self._rest = 0, (b"", 0)  # the number of lines below, and where they begin
        self._short = ShortText(is_only=is_only)
        self._unmarked: Level | None = None  # of a line that reports a failure although no level says so
        self.below = array("H")  # number of further lines of a value or of the first message with these words
        self.lines, self.stamps, self.words = array("Q"), array("q"), array("q")
        self.group_of, self.entry_of = array("L"), array("H")
        self.beyond = Counter[HourBucket]()
        self.repeated: dict[
            int, tuple[int, int]
        ] = {}  # by index: number of occurrences of a row of events, and their time span

    def add_block(self, block: Block, line_of: Callable[[int], int], stamper: TimestampReader) -> None:
        """Add the next block of the log; `line_of` converts a line number to one of the input."""
        places: dict[tuple[int, int], Level | None] = dict.fromkeys(self._marks.suspects(block.data, block.lines))
        places |= self._short.errors(block)
        self._add_lines(places, block, line_of, stamper)
        if all(group.key.level is Level.INFO for group in self.groups[1:]):
            self._add_lines(dict.fromkeys(self._short.others(), Level.INFO), block, line_of, stamper)

    def _add_lines(
        self,
        places: Mapping[tuple[int, int], Level | None],
        block: Block,
        line_of: Callable[[int], int],
        stamper: TimestampReader,
    ) -> None:
        """Add lines of a block by begin and end, each with its level if it does not say that itself."""
        data, counted, number, inside = block.data, 0, block.first_line + 1, 0
        for begin, end in sorted(places):
            if begin < inside:
                continue
            number += data.count(b"\n", counted, begin)
            counted = begin
            line = data[begin:end].removesuffix(b"\r")
            self._below, self._rest, self._unmarked = 0, (data, end + 1), places[begin, end]
            try:
                if line.endswith(_OPENS):
                    line, below = with_value(data, line, end)
                    self._below = line_of(number + below) - line_of(number)
                    inside = end + sum(len(one) + 1 for one in lines_behind(data, end)[:below])
                self._read(line, line_of(number), stamper)
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 (a fault of kvdiag costs this line, not the log)
                self.faults.setdefault(describe_fault(error), line_of(number))

    def trim(self) -> None:
        """Cut the columns to one length: the time limit may have ended reading between two of them."""
        columns = (self.lines, self.below, self.stamps, self.words, self.group_of, self.entry_of)
        length = min(map(len, columns))
        for column in columns:
            del column[length:]

    def part(self) -> ErrorColumns:
        """Return what was collected."""
        return ErrorColumns(
            self.groups, self.lines, self.below, self.stamps, self.words, self.group_of, self.entry_of, self.beyond,
            self.repeated,
        )  # fmt: skip

    def extend(self, part: object, first_line: int) -> None:
        """Add what was collected of the next stretch; `first_line` lines of the log are before it."""
        assert isinstance(part, ErrorColumns)  # noqa: S101 (for mypy: the reader of logs knows only that it is an object)
        group_of = [self._same_group(group, first_line) for group in part.groups]
        before, kept = len(self.lines), min(len(part.lines), max(0, self._quota.left))
        self._quota.left -= kept
        self.lines.extend([line + first_line for line in part.lines[:kept]])
        self.below += part.below[:kept]
        stamps = [stamp if stamp != NO_TIME else self._last for stamp in part.stamps]
        self._last = stamps[-1] if stamps else self._last
        self.stamps.extend(stamps[:kept])
        self.words += part.words[:kept]
        self.group_of.extend([group_of[number] for number in part.group_of[:kept]])
        self.entry_of += part.entry_of[:kept]
        self.repeated |= {before + at: repeats for at, repeats in part.repeated.items() if at < kept}
        for at in range(kept, len(part.lines)):
            self.beyond[HourBucket(group_of[part.group_of[at]], part.entry_of[at], stamps[at] // HOUR)] += 1
        for bucket, count in part.beyond.items():
            self.beyond[bucket._replace(group=group_of[bucket.group])] += count

    def _same_group(self, group: LineGroup, first_line: int) -> int:
        """Return the number that a group of a part has here, and add its names."""
        number = self._group(group.key, group.sample, group.line + first_line) if group.line else REST
        self.groups[number].add_following(group)
        return number

    def _read(self, line: bytes, number: int, stamper: TimestampReader) -> None:
        """Add one line with its number in the input."""
        timed = stamper.read_again(line)
        layout = stamper.front
        if layout is not None and _is_read_by(layout, timed, line):
            self._add_headed(line, timed, layout, number)
        else:
            self._add_parsed(line, timed, number)

    def _add_headed(self, line: bytes, timed: TimedLine, layout: Layout, number: int) -> None:
        """Add a line with the same header layout as earlier lines."""
        at = layout.shape[0]
        if isinstance(layout, KlogLayout):
            level = _LETTERS.get(line[at])
            words = line[layout.words :]
            site = words[: words.find(b"]") + 1]
        else:
            found = _LEVEL.search(line, at, at + 100)
            level = (Level.WARNING, Level.ERROR, Level.FATAL)[(found.lastindex or 1) - 1] if found else None
            words, site = line[line.find(b'"', at + 6) + 1 :], b""
        level = timed.body.level if timed.body is not None else level
        level = level if level in WORSE else self._unmarked or reported(line)
        if level is not None:
            self._add(line, words, level, site, timed, number)

    def _add_parsed(self, line: bytes, timed: TimedLine, number: int) -> None:
        """Add a line that was parsed in full, or that has no known format."""
        body = timed.body
        if body is None:
            self._add_formless(line, timed, number)
        elif body.format in eventtable.FORMATS:
            if body.level in WORSE:
                source = eventtable.source_of(body)[0] or EVENTS
                timed = timed._replace(process=timed.process._replace(ident=timed.process.ident or source))
                words = body.message.encode("utf-8", "replace")
                self._add(line, words, body.level, body.fields["reason"].encode(), timed, number)
                if self.lines and self.lines[-1] == number and (repeats := eventtable.repeats(body)):
                    self.repeated[len(self.lines) - 1] = repeats
        else:
            level = body.level if body.level in WORSE else self._unmarked or reported(line)
            if level is not None:
                self._add(line, canonical(body), level, body.caller.encode("utf-8", "replace"), timed, number)

    def _add_formless(self, line: bytes, timed: TimedLine, number: int) -> None:
        """Add a line without a format; of several lines at the head of a crash only the first counts."""
        level = plain.level(timed.process.ident, timed.text) or self._unmarked
        if level is Level.FATAL:
            is_new = number - self._crash >= OPENING
            self._crash = number
            level = level if is_new else None
        if level is not None:
            self._add(line, timed.text, level, b"", timed, number)

    def _add(self, line: bytes, words: bytes, level: Level, site: bytes, timed: TimedLine, number: int) -> None:
        ident, hashed = timed.process.ident, hash(words)
        same = (ident, level, site, hashed)
        known = self._same.get(same)
        if known is None:
            if len(self._same) >= MOST_LIKE:
                self._same.clear()
            known = self._same[same] = self._group_and_entry(line, words, same[:3], number)
        group, entry = known
        if self.groups[group].looked_at < LOOKED_AT:
            self.groups[group].add_names(line)
        stamp = self._last = timed.stamp if timed.stamp is not None else self._last
        if self._quota.left <= 0:
            self.beyond[HourBucket(group, entry, stamp // HOUR)] += 1
            return
        self._quota.left -= 1
        self.lines.append(number)
        self.below.append(min(self._below, LONGEST_VALUE))
        self.stamps.append(stamp)
        self.words.append(hashed)
        self.group_of.append(group)
        self.entry_of.append(entry)

    def _group_and_entry(
        self, line: bytes, words: bytes, head: tuple[str, Level, bytes], number: int
    ) -> tuple[int, int]:
        """Return the group of a line and the entry that it fits; 0 means none."""
        similar = self._similar.get((*head, words.translate(None, _DIGITS)))
        group, entries = similar or self._new_similar(line, words, head, number)
        return group, next((number for number, one in entries if one.fits(line) or one.fits(words)), 0)

    def _new_similar(self, line: bytes, words: bytes, head: tuple[str, Level, bytes], number: int) -> _Similar:
        """Return the group and entries for a line that differs in more than digits; ids are ignored here."""
        same = (*head, _ID.sub(b"#", words).translate(None, _DIGITS))
        similar = self._similar.get(same)
        if similar is None:
            if len(self._similar) >= MOST_LIKE:
                self._similar.clear()
            similar = self._similar[same] = self._classify(line, *head[:2], number)
        return similar

    def _classify(self, line: bytes, ident: str, level: Level, number: int) -> _Similar:
        """Return the group of a line, and the entries that may fit it and lines that differ in digits only."""
        body = body_of(line)
        folded = fold_message(body)
        words = (
            folded.clause
            if folded.clause and body.caller and body.format != eventtable.NAME
            else f"{folded.message}: {folded.clause}"
        )
        if not ident and _COREDNS.match(body.message):
            ident = COREDNS
        bare = line.translate(None, _DIGITS)
        entries = tuple((number, entry) for number, entry, anchor in self._entries if anchor in bare)
        sample = line
        is_whole = body.format in _ONE_LINE_FORMATS and not line.rstrip().endswith(b":")
        is_whole = is_whole or (line.startswith(b"{") and line.endswith(b"}"))
        is_torn = body.format == "plain" and peel(line).stamp is not None  # if the next line has no time of its own
        if (is_torn or not is_whole) and b"\n" not in line:
            below = list(below_head(*self._rest))
            below = list(takewhile(_has_no_head, below)) if is_torn else below
            sample, self._below = b"\n".join([line, *below]), len(below)
        return self._group(GroupKey(ident, level, body.caller, words), sample, number), entries

    def _group(self, key: GroupKey, sample: bytes, number: int) -> int:
        group = self._group_numbers.get(key)
        if group is None:
            if len(self.groups) > MOST_GROUPS:
                return REST
            group = self._group_numbers[key] = len(self.groups)
            self.groups.append(LineGroup(key, number, sample[:LONGEST_SAMPLE]))
        return group


def _is_read_by(layout: Layout, timed: TimedLine, line: bytes) -> bool:
    """Return whether this layout was used to read the line, or can read it."""
    if timed.body is None:
        return timed.process is layout.process
    return timed.process == layout.process and layout.stamp(line) is not None


def _has_no_head(line: bytes) -> bool:
    """Return whether a line below a record has neither a time nor a level."""
    return peel(line).stamp is None and plain.level("", line) is None


def body_of(line: bytes) -> Body:
    """Return the parsed body of a line; a crash is returned as it is. The caller of an event is its reason."""
    peeled = peel(line)
    body = read_body(peeled.body)
    if body is None:
        return Body("plain", message=peeled.body.decode("utf-8", "replace"))
    if body.format in eventtable.FORMATS:
        return body._replace(format=eventtable.NAME, caller=body.fields["reason"], fields=EMPTY)
    return _event_in(body) or body


def _event_in(body: Body) -> Body | None:
    """Return the event of type Warning that a component logged, in either format of client-go."""
    if body.fields.get("type") == "Warning" and "reason" in body.fields:
        reason, message = body.fields["reason"], body.fields.get("message", body.message)
        return body._replace(format=eventtable.NAME, caller=reason, message=message, fields=EMPTY)
    found = _EVENT.search(body.message)
    return found and body._replace(format=eventtable.NAME, caller=found[1], message=found[2])
