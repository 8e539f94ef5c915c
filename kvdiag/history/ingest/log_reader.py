"""Read the logs in one input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kvdiag.base.clock import is_age, is_yearless
from kvdiag.base.errors import InputError, UnexpectedError, skip_faults
from kvdiag.events.line_texts import LineTexts
from kvdiag.events.raw_events import UNKNOWN_PROCESS, Match, RawEvent, RpcLine
from kvdiag.events.recognise import Recogniser
from kvdiag.events.timestamp_reader import Process, TimestampReader
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.formats.authors import Attribution, byline
from kvdiag.formats.bodies.gopanic import is_start
from kvdiag.formats.bodies.registry import classify
from kvdiag.formats.carriers.carrier import KERNEL
from kvdiag.formats.carriers.peel import peel_to_indent
from kvdiag.history.ingest.blocks import Input, read_blocks
from kvdiag.history.ingest.limits import LimitReachedError, TooManyEventsError
from kvdiag.history.ingest.log_dates import MOST_DAYS, journal_span, mentioned_days, message_year, preamble_year
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.history.ingest.survey import WHOLE, Survey, Surveyed
from kvdiag.inputs.layout import section_provenance
from kvdiag.inputs.lines import LineMap
from kvdiag.inputs.scan.blocks import Block
from kvdiag.inputs.scan.damage import Damage, damaged
from kvdiag.inputs.scan.protocol import Scanner
from kvdiag.inputs.scan.sections import classify_section, sections
from kvdiag.inputs.source import Source
from kvdiag.model.record import NO_PROVENANCE, Provenance

if TYPE_CHECKING:
    from kvdiag.events.snapshots.fact import SnapshotFact
    from kvdiag.history.correlate.clocks import SourceClock

MAX_EVENTS = 5_000_000  # events of all logs of a command
ENDS = 300  # lines at either end of an input that are searched for its first and last time
DATED_WITHIN = 8_000  # lines that are searched for one with its own date
DATED_BYTES = 8 << 20  # of a file; stretches behind them are not searched

Progress = Callable[[str, int], None]


class BlockListener(Protocol):
    """Receives each block of a log besides the recogniser; `faults` are bugs in it, by first skipped line."""

    faults: dict[str, int]

    def add_block(self, block: Block, line_of: Callable[[int], int], stamper: TimestampReader) -> None:
        """Add the next block; `line_of` maps its lines to line numbers of the input, until the next block.

        `stamper` has read the lines of the block that have an event.
        """

    def part(self) -> object:
        """Return what was collected, to be sent to another process."""

    def extend(self, part: object, first_line: int) -> None:
        """Add what was collected of the next stretch of the log; `first_line` lines are before it."""


class Listeners(Protocol):
    """Makes listeners."""

    def begin(self, source: str, /) -> BlockListener:
        """Return the listener of the log of this name."""

    def detached(self) -> BlockListener:
        """Return a listener for a part of a log, or for one that another process reads."""


class LineReaders(NamedTuple):
    """What lines are searched for, and who gets the blocks besides."""

    vocabulary: Vocabulary
    scanner: Scanner
    listeners: Listeners | None = None


ListenerFactory = Callable[[str], BlockListener]


class ReadOptions(NamedTuple):
    """How an input is read.

    `make_listener` returns for the name of a log a listener that receives its blocks. `room` is the limit of events of
    the input. With `most_kept` only so many events of a log are kept, which is enough for its clock.
    """

    make_listener: ListenerFactory | None = None
    room: int = MAX_EVENTS
    most_kept: int | None = None


class TextInput(NamedTuple):
    """A log in memory, such as the excerpt in a rule's test."""

    name: str
    data: bytes
    modified: float | None = None
    place: Provenance = NO_PROVENANCE
    is_named: bool = True

    def open(self) -> BytesIO:
        """Open the text as a reader of bytes."""
        return BytesIO(self.data)


class LogRead(NamedTuple):
    """The result of reading a log: its events, the survey of its lines, and facts in output of commands.

    Of a stretch of a log, the lines of calls are not yet events: a call may begin in one stretch and end in another, as
    may the `polls`, which are among the events.
    """

    log: LogEvents
    survey: Surveyed
    recognised: int
    facts: Sequence[SnapshotFact] = ()
    rpc_lines: Sequence[RpcLine] = ()
    polls: Sequence[tuple[Match, RawEvent]] = ()


def begins_record(line: bytes) -> bool:
    """Return whether a line begins a record of a known format; blocks end before such a line.

    Not before a crash dump, whose time is that of the line above. Not before an indented line, since a value of many
    lines may contain any text.
    """
    return classify(line) == "head" and not is_start(line) and peel_to_indent(line) is None


def read_source(
    source: Input,
    vocabulary: Vocabulary,
    scanner: Scanner,
    problem: Callable[[InputError], None],
    progress: Progress,
    how: ReadOptions | None = None,
) -> Iterator[LogRead]:
    """Scan one input, and yield each log in it. Most contain one; an empty input yields one without lines.

    Errors go to `problem`; the lines before them are used. Raise TooManyEventsError when there are more events than
    `how.room`, after the log with them.
    """
    readers, line_map, how = LineReaders(vocabulary, scanner), LineMap(), how or ReadOptions()
    room = how.room
    has_log = False
    for name, part in sections(
        with_progress(read_blocks(source, problem, line_map, begins_record), source.name, progress)
    ):
        log_name = f"{source.name}/{name}" if name else source.name
        log = LogReader(log_name, source, readers, line_map, how.most_kept)
        is_passed_over, blocks = classify_section(name, part)
        if is_passed_over:
            log.survey.pass_over(blocks)
        else:
            try:
                _read_blocks(log, blocks, problem, how._replace(room=room))
            except LimitReachedError:
                yield log.result()
                raise
        if name and not log.survey.classes["head"]:
            log.survey.count_as_text()
        yield log.result()
        room -= log.size
        has_log = True
    if not has_log:
        yield LogReader(source.name, source, readers, line_map).result()


def _read_blocks(
    log: LogReader,
    blocks: Iterable[Block],
    problem: Callable[[InputError], None],
    how: ReadOptions,
) -> None:
    """Read the blocks of one log; a bug in kvdiag skips a line or the rest of this log, and is reported."""
    with skip_faults(log.input, problem):
        listener = how.make_listener(log.name) if how.make_listener is not None else None
        for block in blocks:
            log.add(block, listener)
            if log.size > how.room:
                raise TooManyEventsError
    log.end()
    for fault, line in log.faults.items():
        problem(UnexpectedError(log.input, fault, line))


class LogReader:
    """One log as it is read, block by block."""

    def __init__(
        self,
        name: str,
        source: Input,
        readers: LineReaders,
        line_map: LineMap,
        most_kept: int | None = None,
        texts: LineTexts | None = None,
    ) -> None:
        """`name` is the log's name in reports; `line_map` has the line numbers of a rewritten input.

        With `most_kept` only so many events and lines of calls are kept. `texts` are those of the log above a stretch.
        """
        self.name, self._source, self._line_map, self._most_kept = name, source, line_map, most_kept
        self._vocabulary, self._scanner, _ = readers
        self._place = section_provenance(name.removeprefix(source.name), source.place)
        by = Attribution(byline(name, self._place))
        self._recogniser = Recogniser(readers.vocabulary, is_named=source.is_named, by=by, texts=texts)
        begins = source.begins if isinstance(source, Source) else 0
        self._is_dated = begins < DATED_BYTES
        whole = 1 if begins else WHOLE
        self.survey = Survey(is_bare=by.by.program == KERNEL, line_of=line_map.input_line, whole=whole)
        self._first: int | None = None
        self._tail: Block | None = None
        self._year: int | None = None
        self._message_year: int | None = None
        self._first_process = UNKNOWN_PROCESS
        self._journal: tuple[int, int] | None = None
        self._mentioned_days: dict[int, None] = {}
        self._begins = self._ends = 0
        self.faults: dict[str, int] = {}  # bugs in kvdiag, each with the first skipped line of the input
        self._damage = Damage()

    @property
    def input(self) -> str:
        """Return the name of the log's input."""
        return self._source.name

    @property
    def size(self) -> int:
        """Return the number of events and lines of calls in memory."""
        return len(self._recogniser.raw_events) + len(self._recogniser.rpc_lines)

    def add(self, block: Block, listener: BlockListener | None = None) -> None:
        """Read the next block of the log."""
        if self._tail is None:
            self._begins = block.first_line
            self._year = preamble_year(block)
            self._journal = journal_span(block)
            self._first, self._first_process = _edge(block, self._recogniser, backwards=False)
        self._recogniser.feed(block.data, block.first_line, self._scanner.scan(block.data))
        if self._most_kept is not None:
            self._recogniser.retain(
                self._recogniser.raw_events[: self._most_kept], self._recogniser.rpc_lines[: self._most_kept]
            )
        self.survey.add(block)
        for line in damaged(block):
            self._damage.add(self._line_map.input_line(line))
        if self._is_dated and block.first_line - self._begins < DATED_WITHIN:
            self._message_year = self._message_year or message_year(block)
            self._mentioned_days.update(dict.fromkeys(mentioned_days(block, MOST_DAYS - len(self._mentioned_days))))
        self._ends = block.first_line + block.lines
        self._tail = block
        for fault, number in self._recogniser.faults.items():
            if fault not in self.faults:
                self.faults[fault] = self._line_map.input_line(number)
        if listener is not None:
            listener.add_block(block, self._line_map.input_line, self._recogniser.stamper)
            self.faults = {**listener.faults, **self.faults}
        self._line_map.forget(self._ends, self._lines_since(block.first_line))

    def end(self) -> None:
        """Finish the survey after the last block."""
        self.survey.close()

    def result(self) -> LogRead:
        """Return the events and the survey of the blocks read so far."""
        recogniser = self._recogniser
        raw_events = [*recogniser.raw_events, *_calls(recogniser.rpc_lines, self._vocabulary)]
        return self._result(in_order(_placed(raw_events, self._line_map)))

    def stretch(self) -> LogRead:
        """Return the same of a stretch of a log."""
        recogniser = self._recogniser
        read = self._result(recogniser.raw_events)
        return read._replace(rpc_lines=recogniser.rpc_lines, polls=recogniser.polls)

    def _result(self, raw_events: list[RawEvent]) -> LogRead:
        recogniser, first = self._recogniser, self._first
        last = _edge(self._tail, recogniser, backwards=True)[0] if self._tail else None
        log = LogEvents(
            source=self.name,
            raw_events=raw_events,
            texts=recogniser.texts.copy(),
            first=first,
            last=last,
            lines=self._line_map.last or self._ends,
            wordings=frozenset(recogniser.wordings),
            yearless=recogniser.stamper.is_yearless
            or any(is_yearless(edge) for edge in (first, last) if edge is not None),
            first_yearless=recogniser.stamper.first_yearless,
            preamble_year=self._year,
            journal_span=self._journal,
            message_year=self._message_year,
            mentioned_days=tuple(self._mentioned_days),
            input=self._source.name,
            is_named=self._source.is_named,
            process=self._first_process,
            wrapped=tuple(recogniser.stamper.wrapped),
            modified=self._source.modified,
            place=self._place,
            damaged=tuple(self._damage.stretches),
        )
        return LogRead(log, self.survey.result, recogniser.recognised, self.survey.facts)

    def drop_before(self, cut: int, clock: SourceClock) -> None:
        """Drop events and lines of calls that ended before `cut` (microseconds UTC): a followed log has no end."""
        recogniser, line_of = self._recogniser, self._line_map.input_line
        events = [one for one in recogniser.raw_events if clock.utc(one.ends, line_of(one.line)) >= cut]
        rpc_lines = [one for one in recogniser.rpc_lines if clock.utc(one.stamp, line_of(one.line)) >= cut]
        recogniser.retain(events, rpc_lines)
        self._line_map.keep([*(one.line for one in events), *(one.line for one in rpc_lines)])

    def _lines_since(self, line: int) -> Iterator[int]:
        """Yield the lines after this one that have an event or a call, the last first."""
        recogniser = self._recogniser
        yield from takewhile(lambda number: number > line, (one.line for one in reversed(recogniser.raw_events)))
        yield from takewhile(lambda number: number > line, (one.line for one in reversed(recogniser.rpc_lines)))


def with_progress(blocks: Iterable[Block], name: str, progress: Progress) -> Iterator[Block]:
    """Yield the blocks, and report each to `progress` after it was read."""
    for block in blocks:
        yield block
        progress(name, len(block.data))


def in_order(raw_events: list[RawEvent]) -> list[RawEvent]:
    """Sort events by line."""
    raw_events.sort(key=lambda raw_event: raw_event.line)
    return raw_events


def _calls(rpc_lines: Sequence[RpcLine], vocabulary: Vocabulary) -> Iterable[RawEvent]:
    """Return the events of a log's calls, if there are any."""
    if not rpc_lines:
        return ()
    from kvdiag.events.rpc_calls import calls

    return calls(rpc_lines, vocabulary)


def _placed(raw_events: list[RawEvent], line_map: LineMap) -> list[RawEvent]:
    """Return the raw events with the line numbers of the input, if it was rewritten."""
    if not line_map.last:
        return raw_events
    return [raw_event._replace(line=line_map.input_line(raw_event.line)) for raw_event in raw_events]


def _edge(block: Block, recogniser: Recogniser, *, backwards: bool) -> tuple[int | None, Process]:
    """Return the time and the process of the first or last line of a block with a time; an age if there is no other."""
    data = block.data.strip(b"\n")  # blank lines replace text before a log
    lines = data.split(b"\n", ENDS)[:ENDS] if not backwards else data.rsplit(b"\n", ENDS)[-ENDS:][::-1]
    timed_lines = (recogniser.stamper.read(line) for line in lines if line and classify(line) == "head")
    aged: tuple[int | None, Process] = (None, UNKNOWN_PROCESS)
    for one in timed_lines:
        if one.stamp is not None and not is_age(one.stamp):
            return one.stamp, one.process
        if one.stamp is not None and aged[0] is None:
            aged = (one.stamp, one.process)
    return aged
