"""Divide a long log into stretches of some megabytes, which are read one by one, and join what was read.

Only a file of plain lines is divided, where a record begins and nothing is open: no line that a runtime wrote in parts,
no private key. What is read of a log does not depend on how many processes read its stretches.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kvdiag.base.clock import is_unanchored, is_yearless
from kvdiag.base.errors import InputError, skip_faults
from kvdiag.events.line_texts import LineTexts
from kvdiag.events.packed_events import PackedEvents
from kvdiag.events.raw_events import FOLD, Match, RawEvent, RpcLine
from kvdiag.events.timestamp_reader import MOST_WRAPPED
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.formats.bodies import eventtable
from kvdiag.formats.bodies.registry import read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.history.ingest.blocks import BlockRepair, is_plain, stretch_blocks
from kvdiag.history.ingest.log_dates import MOST_DAYS
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.history.ingest.log_reader import (
    DATED_WITHIN,
    BlockListener,
    LineReaders,
    LogRead,
    LogReader,
    Progress,
    begins_record,
    in_order,
    with_progress,
)
from kvdiag.history.ingest.survey import Surveyed
from kvdiag.inputs.files import identity_of, open_file, skip_hole
from kvdiag.inputs.lines import LineMap
from kvdiag.inputs.scan.blocks import SIZE as BLOCK
from kvdiag.inputs.scan.damage import Damage
from kvdiag.inputs.scan.partial_lines import has_parts
from kvdiag.inputs.source import Source
from kvdiag.safe.forms.pem import KeyRedactor

if TYPE_CHECKING:
    from kvdiag.events.rpc_calls import CallPairing

_NEAR = 20_000  # events on each side of a cut that may be copies: where programs write at once, time goes back a little


class Part(NamedTuple):
    """What was read of a log or of a stretch, and the columns of its listener.

    `packed` are the events, instead of those in `read`, if another process has read it. Numbers of lines count from
    line `first_line` of the log.
    """

    read: LogRead
    columns: object | None
    packed: PackedEvents | None = None
    first_line: int = 0


def stretches(source: Source, size: int) -> list[Source]:
    """Return the stretches of a source in order, of about `size` bytes; the source itself if it is read as a whole."""
    if source.path is None or source.given or source.compression or source.evidence or (source.size or 0) < 2 * size:
        return [source]
    try:
        with open_file(source.path) as file:
            cuts = list(_cuts(file, source.size or 0, size)) if is_plain(file.read(BLOCK)) else []
            source = source._replace(identity=identity_of(file))
    except OSError:
        return [source]  # reported when it is read
    edges = (0, *cuts, None)
    return [source._replace(begins=begins or 0, ends=ends) for begins, ends in pairwise(edges)]


def _cuts(file: io.FileIO, whole: int, size: int) -> Iterator[int]:
    """Yield where each stretch but the first begins."""
    last = 0
    for at in range(size, whole - size // 2, size):
        if at < last:
            continue  # in a long record or in a hole
        file.seek(at)
        if (last := skip_hole(file)) > at:
            continue
        data = file.read(BLOCK)
        begin = data.find(b"\n") + 1
        previous = b""
        while begin and (end := data.find(b"\n", begin)) >= 0:
            line = data[begin:end]
            if previous and begins_record(line) and not _is_open(previous):
                last = at + begin
                yield last
                break
            begin, previous = end + 1, line


def _is_open(line: bytes) -> bool:
    """Return whether a line is part of one that continues below, or may be one of a private key."""
    return has_parts(line) or KeyRedactor().may_hold(line + b"\n")


def read_stretch(
    source: Source,
    readers: LineReaders,
    problem: Callable[[InputError], None],
    progress: Progress,
    first_line: int,
    texts: LineTexts | None = None,
) -> Part | None:
    """Read a stretch; `first_line` lines of the log are before it, `texts` are those of the log.

    None if it must be read together with what follows, or if a bug in kvdiag was met, whose line is not known here.
    """
    log = LogReader(source.name, source, readers, LineMap(), texts=texts)
    listener = readers.listeners.detached() if readers.listeners is not None else None
    faults: list[InputError] = []
    repair = BlockRepair()
    blocks = with_progress(stretch_blocks(source, problem, repair, begins_record, first_line), source.name, progress)
    with skip_faults(source.name, faults.append):
        for block in blocks:
            log.add(block, listener)
    if source.ends is None:
        log.end()
    if faults or log.faults or (source.ends is not None and not repair.is_finished):
        return None
    return Part(log.stretch(), listener and listener.part())


class StretchedLog:
    """A log of which one stretch after the other was read."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Begin without stretches; `vocabulary` has the kinds of calls."""
        self._vocabulary = vocabulary
        self._pairing: CallPairing | None = None
        self._parts: list[Part] = []
        self.texts = LineTexts()
        self._raw_events: list[RawEvent] = []
        self._calls: list[RawEvent] = []
        self._polls: dict[Match, RawEvent] = {}  # the last of each
        self._dated: list[LogEvents] = []  # the logs of the stretches in which dates are searched
        self._newest: dict[bool, int] = {}  # the last stamp of those without a year, and of those with one

    @property
    def is_begun(self) -> bool:
        """Return whether a stretch was added."""
        return bool(self._parts)

    @property
    def lines(self) -> int:
        """Return the number of lines."""
        return self._parts[-1].read.log.lines if self._parts else 0

    @property
    def size(self) -> int:
        """Return the number of events."""
        return len(self._raw_events) + len(self._calls)

    def add(self, part: Part) -> bool:
        """Add the next stretch; polls continue, and copies of lines around the cut are dropped.

        Return False if it begins before the one before it ends: then any line of it may be a copy. Also if events
        or calls have no time: that of a line in the stretches before it may count.
        """
        if self._parts and not part.read.survey.lines:
            return True  # the file was cut or removed while it was read
        events = part.read.log.raw_events
        spans = _spans([event[0] for event in events])
        gaps = [begins - self._newest[kind] for kind, (begins, _) in spans.items() if kind in self._newest]
        begun = [begins for begins, _ in spans.values()] + [line.stamp for line in part.read.rpc_lines[:1]]
        if min(gaps, default=0) < -FOLD or any(map(is_unanchored, begun)):
            return False
        copies = _copies(self._raw_events, events, self.texts) if min(gaps, default=1) <= 0 else set[int]()
        counted = _count_polls(self._polls, part.read.polls)
        if counted or copies:
            events = [one for one in events if id(one) not in counted and one.line not in copies]
        self._raw_events += events
        if self.lines < DATED_WITHIN:
            self._dated.append(part.read.log)
        self._newest |= {kind: max(ends, self._newest.get(kind, ends)) for kind, (_, ends) in spans.items()}
        self._add_calls(part.read.rpc_lines)
        read = part.read._replace(log=replace(part.read.log, raw_events=(), texts=LineTexts()), rpc_lines=(), polls=())
        self._parts.append(part._replace(read=read))
        return True

    def _add_calls(self, rpc_lines: Sequence[RpcLine]) -> None:
        """Add the lines of calls of a stretch."""
        if self._pairing is None and rpc_lines:
            from kvdiag.events.rpc_calls import CallPairing  # for gRPC lines: 1 ms

            self._pairing = CallPairing(self._vocabulary)
        if self._pairing is not None:
            self._calls += self._pairing.add(rpc_lines)

    def join(self, listener: BlockListener | None) -> LogRead:
        """Return what was read of the log from its stretches; its `listener` gets their columns."""
        reads = [part.read for part in self._parts]
        for part in self._parts:
            if listener is not None and part.columns is not None:
                listener.extend(part.columns, part.first_line)
        first, last = reads[0].log, reads[-1].log
        damage = Damage()
        for begins, ends in (stretch for read in reads for stretch in read.log.damaged):
            damage.add(begins, ends)
        self._calls += self._pairing.flush() if self._pairing is not None else ()
        log = replace(
            first,
            raw_events=in_order([*self._raw_events, *self._calls]),
            texts=self.texts,
            last=last.last,
            message_year=next((one.message_year for one in self._dated if one.message_year), None),
            mentioned_days=tuple(dict.fromkeys(day for one in self._dated for day in one.mentioned_days))[:MOST_DAYS],
            lines=last.lines,
            wordings=frozenset[int]().union(*(read.log.wordings for read in reads)),
            yearless=any(read.log.yearless for read in reads),
            first_yearless=next((one for read in reads if (one := read.log.first_yearless) is not None), None),
            wrapped=tuple(one for read in reads for one in read.log.wrapped)[:MOST_WRAPPED],
            damaged=tuple(damage.stretches),
        )
        facts = tuple(fact for read in reads for fact in read.facts)
        return LogRead(
            log, _join_surveys([read.survey for read in reads]), sum(read.recognised for read in reads), facts
        )


def _join_surveys(surveys: Sequence[Surveyed]) -> Surveyed:
    """Return the survey of the whole log; its format is that of the stretch with most records."""
    return max(surveys, key=lambda one: one.records)._replace(
        lines=sum(one.lines for one in surveys),
        records=sum(one.records for one in surveys),
        unread=sum(one.unread for one in surveys),
        truncated=sum(one.truncated for one in surveys),
        node=next((one.node for one in surveys if one.node), ""),
        sampled=any(one.sampled for one in surveys),
    )


def _spans(stamps: Sequence[int]) -> dict[bool, tuple[int, int]]:
    """Return the first and last of the stamps without a year (True), and of those with one."""
    if not stamps:
        return {}
    first, last = min(stamps), max(stamps)
    if is_yearless(first) == is_yearless(last):
        return {is_yearless(first): (first, last)}
    kinds = {kind: [stamp for stamp in stamps if is_yearless(stamp) is kind] for kind in (True, False)}
    return {kind: (min(some), max(some)) for kind, some in kinds.items()}


def _copies(before: Sequence[RawEvent], part: Sequence[RawEvent], texts: Sequence[bytes]) -> set[int]:
    """Return the lines at the begin of a stretch that are equal to one at the end of the stretches before it.

    Rows of a table of events have only minutes or seconds: equal ones are different events.
    """
    known = {texts[event.text_at] for event in before[-_NEAR:]}
    equal = {event.line: text for event in part[:_NEAR] if (text := texts[event.text_at]) in known}
    return {line for line, text in equal.items() if not _is_row(text)}


def _is_row(text: bytes) -> bool:
    body = read_body(peel(text).body)
    return body is not None and body.format in eventtable.FORMATS


def _count_polls(polls: dict[Match, RawEvent], begun: Sequence[tuple[Match, RawEvent]]) -> set[int]:
    """Add the first polls of a stretch to the same ones before it, if these are close; return their ids.

    `polls` are the last of each; then they are those of this stretch.
    """
    counted: set[int] = set()
    met: set[Match] = set()
    for found, event in begun:
        before = polls.get(found) if found not in met else None
        met.add(found)
        if before is not None and _continues(before, event):
            counted.add(id(event))
        else:
            polls[found] = event
    return counted


def _continues(before: RawEvent, event: RawEvent) -> bool:
    """Return whether a poll continues with this event, whose repeats are then added to it."""
    if before.more is None or event.more is None or before.process != event.process:
        return False
    count, ends = before.more
    if not 0 <= event.stamp - ends <= FOLD:
        return False
    before.more[:] = count + event.more[0] - (event.stamp == ends), event.more[1]
    return True
