"""One input → its logs, one for each log it holds, and how they were read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import chain, takewhile
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kvdiag.base.clock import DAY, is_yearless
from kvdiag.base.errors import InputError, UnexpectedError, skip_faults
from kvdiag.base.regex import lazy_regex
from kvdiag.events.raw_events import UNKNOWN_PROCESS, RawEvent, RpcLine
from kvdiag.events.recognise import Recogniser
from kvdiag.events.timestamp_reader import Process
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.formats.authors import Attribution, byline
from kvdiag.formats.bodies.gopanic import is_start
from kvdiag.formats.bodies.klog import preamble
from kvdiag.formats.bodies.registry import classify
from kvdiag.formats.carriers.carrier import KERNEL
from kvdiag.formats.carriers.peel import peel_to_indent
from kvdiag.formats.timestamps import rfc3339
from kvdiag.history.ingest.blocks import Input, read_blocks
from kvdiag.history.ingest.log_events import LogEvents, count_components
from kvdiag.history.ingest.memory_estimate import Load, MemoryEstimate
from kvdiag.history.ingest.survey import Survey, Surveyed
from kvdiag.history.ingest.time_limit import TimeIsUpError
from kvdiag.inputs.layout import section_provenance
from kvdiag.inputs.lines import LineMap
from kvdiag.inputs.scan.blocks import Block
from kvdiag.inputs.scan.damage import Damage, damaged
from kvdiag.inputs.scan.protocol import Scanner
from kvdiag.inputs.scan.sections import classify_section, sections
from kvdiag.model.provenance import NO_PROVENANCE, Provenance

if TYPE_CHECKING:
    from kvdiag.events.snapshots.fact import SnapshotFact

ENDS = 300  # lines at either end of an input in which its first and last time are looked for
PREAMBLE = 8
DATED_WITHIN = 8_000  # lines in which a line that says its own date is looked for
# Both begin with what the regex engine looks for as one literal; that it begins a line is asked afterwards.
_DMESG_DAY = lazy_regex(rb"\[(?<![^\n]\[)[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?P<year>20\d\d)\] ")
_DAY = rb"\b(20\d\d)-([01]\d)-([0-3]\d)(?!\d)"
_JOURNAL = lazy_regex(
    rb"-- (?<![^\n]-- )(?:Logs begin|Journal begins) at [^\n]{0,8}" + _DAY + rb"[^\n]{1,30}, ends? at [^\n]{0,8}" + _DAY
)
_NAMED_DAY = lazy_regex(_DAY)
MOST_DAYS = 32  # that lines of a log name
# `   Active: active (running) since Mon 2023-08-21 15:34:07 CST; 3 months 7 days ago`, as systemctl prints it.
_SINCE = lazy_regex(
    rb" Active: [^\n]{1,60} since [A-Z][a-z]{2} (?P<since>\d{4}-\d\d-\d\d) [^\n;]{1,40}; (?P<ago>[^\n]{1,60}) ago"
)
_SPAN = lazy_regex(rb"(\d{1,3}) ?(year|month|week|day)")
_AGO = {b"year": 365 * DAY, b"month": 30 * DAY, b"week": 7 * DAY, b"day": DAY}
_MESSAGE_DAY = lazy_regex(
    rb"^(?:[^\n]{0,80} )?[IWEF](?P<month>\d\d)(?P<day>\d\d) \d\d:"
    rb"[^\n]{0,1500}?\b(?P<year>20\d\d)-(?P=month)-(?P=day)[ T]\d\d:",
    re.MULTILINE,
)

Progress = Callable[[str, int], None]


class BlockListener(Protocol):
    """Hears each block of a log beside the recogniser; `faults` are its own, each with the first line it cost."""

    faults: dict[str, int]

    def add_block(self, block: Block, line_of: Callable[[int], int]) -> None:
        """The next block; `line_of` gives the line of the input that a line of it stands for, as long as it is read."""


class TextInput(NamedTuple):
    """A log in memory, such as the excerpt in a rule's test."""

    name: str
    data: bytes
    modified: float | None = None
    place: Provenance = NO_PROVENANCE
    is_named: bool = True

    def open(self) -> BytesIO:
        """The bytes."""
        return BytesIO(self.data)


class LogRead(NamedTuple):
    """What an input said, how much of it was understood, and what commands printed between its lines."""

    log: LogEvents
    survey: Surveyed
    recognised: int
    facts: Sequence[SnapshotFact] = ()


def begins_record(line: bytes) -> bool:
    """Whether a line begins a record of a known format; blocks are cut before such a line.

    Not before a crash dump: it has no time of its own but that of the line above. Nor before an indented line: a value
    of many lines may hold any text.
    """
    return classify(line) == "head" and not is_start(line) and peel_to_indent(line) is None


def read_source(
    source: Input,
    vocabulary: Vocabulary,
    scanner: Scanner,
    problem: Callable[[InputError], None],
    progress: Progress,
    hooks: Hooks | None = None,
) -> Iterator[LogRead]:
    """Scan one input from end to end, and give each log in it: most hold one. Always gives one, if of no lines.

    What broke on the way is told to `problem`; what was read until then counts. `hooks` are what else is done with
    each log.
    """
    line_map, hooks = LineMap(), hooks or Hooks()
    has_log = False
    for name, part in sections(
        _with_progress(read_blocks(source, problem, line_map, begins_record), source.name, progress)
    ):
        log = LogReader(f"{source.name}/{name}" if name else source.name, source, vocabulary, scanner, line_map)
        is_passed_over, blocks = classify_section(name, part)
        if is_passed_over:
            log.survey.pass_over(blocks)
        else:
            try:
                _read_blocks(log, blocks, hooks, problem)
            except TimeIsUpError:
                yield log.result()
                raise
        if name and not log.survey.classes["head"]:
            log.survey.count_as_text()
        yield log.result()
        has_log = True
    if not has_log:
        yield LogReader(source.name, source, vocabulary, scanner, line_map).result()


def _read_blocks(log: LogReader, blocks: Iterable[Block], hooks: Hooks, problem: Callable[[InputError], None]) -> None:
    """Read the blocks of one log; a fault of kvdiag costs a line, or what follows in this log, and is a problem."""
    with skip_faults(log.input, problem):
        listener = hooks.make_listener(log.name) if hooks.make_listener is not None else None
        for block in blocks:
            log.add(block, listener)
            if hooks.evict is not None:
                hooks.evict(log)
    log.end()
    for fault, line in log.faults.items():
        problem(UnexpectedError(log.input, fault, line))


class LogReader:
    """One log as it is read, block by block."""

    def __init__(self, name: str, source: Input, vocabulary: Vocabulary, scanner: Scanner, line_map: LineMap) -> None:
        """`name` is what the log is called in reports; `line_map` has the lines of the input where it was rewritten."""
        self.name, self._source, self._vocabulary, self._line_map = name, source, vocabulary, line_map
        self._scanner = scanner
        self._place = section_provenance(name.removeprefix(source.name), source.place)
        by = Attribution(byline(name, self._place))
        self._recogniser = Recogniser(vocabulary, is_named=source.is_named, by=by)
        self.survey = Survey(is_bare=by.by.program == KERNEL, line_of=line_map.input_line)
        self._first: int | None = None
        self._tail: Block | None = None
        self._year: int | None = None
        self._message_year: int | None = None
        self._first_process = UNKNOWN_PROCESS
        self._journal: tuple[int, int] | None = None
        self._mentioned_days: dict[int, None] = {}
        self._begins = self._ends = 0
        self.faults: dict[str, int] = {}  # of kvdiag itself, each with the first line of the input that it cost
        self._evicted = Counter[str]()
        self._damage = Damage()
        self._weight, self._weighed = MemoryEstimate(), (0, 0)  # and of how many events and lines of calls it is

    @property
    def input(self) -> str:
        """The name of the input that the log is in."""
        return self._source.name

    @property
    def size(self) -> int:
        """How many events and lines of calls are kept."""
        return len(self._recogniser.raw_events) + len(self._recogniser.rpc_lines)

    @property
    def load(self) -> Load:
        """What they take; each is weighed once."""
        recogniser = self._recogniser
        self._weight.add(recogniser.raw_events[self._weighed[0] :])
        self._weight.add_rpc_lines(recogniser.rpc_lines[self._weighed[1] :])
        self._weighed = (len(recogniser.raw_events), len(recogniser.rpc_lines))
        return self._weight.load

    def add(self, block: Block, listener: BlockListener | None = None) -> None:
        """Take the next block of the log up."""
        if self._tail is None:
            self._begins = block.first_line
            self._year = _preamble_year(block)
            self._journal = _journal_span(block)
            self._first, self._first_process = _edge(block, self._recogniser, backwards=False)
        self._recogniser.feed(block.data, block.first_line, self._scanner.scan(block.data))
        self.survey.add(block)
        for line in damaged(block):
            self._damage.add(self._line_map.input_line(line))
        if block.first_line - self._begins < DATED_WITHIN:
            self._message_year = self._message_year or _message_year(block)
            self._mentioned_days.update(dict.fromkeys(_mentioned_days(block, MOST_DAYS - len(self._mentioned_days))))
        self._ends = block.first_line + block.lines
        self._tail = block
        for fault, number in self._recogniser.faults.items():
            if fault not in self.faults:
                self.faults[fault] = self._line_map.input_line(number)
        if listener is not None:
            listener.add_block(block, self._line_map.input_line)
            self.faults = {**listener.faults, **self.faults}
        self._line_map.forget(self._ends, self._lines_since(block.first_line))

    def end(self) -> None:
        """No block follows."""
        self.survey.close()

    def result(self) -> LogRead:
        """What was read so far."""
        recogniser = self._recogniser
        raw_events = _placed([*recogniser.raw_events, *_calls(recogniser.rpc_lines, self._vocabulary)], self._line_map)
        raw_events.sort(key=lambda raw_event: raw_event.line)
        first = self._first
        last = _edge(self._tail, recogniser, backwards=True)[0] if self._tail else None
        log = LogEvents(
            source=self.name,
            raw_events=raw_events,
            first=first,
            last=last,
            lines=self._line_map.last or self._ends,
            wordings=frozenset(recogniser.wordings),
            yearless=recogniser.stamper.is_yearless
            or any(is_yearless(edge) for edge in (first, last) if edge is not None),
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
            evicted=self._evicted,
            damaged=tuple(self._damage.stretches),
        )
        return LogRead(log, self.survey.result, recogniser.recognised, self.survey.facts)

    def evict(self, is_kept: Callable[[RawEvent], bool], is_new: Callable[[RpcLine], bool]) -> None:
        """Keep some events, and the lines of calls that are new; the calls of the others are events from now on."""
        recogniser = self._recogniser
        new = [line for line in recogniser.rpc_lines if is_new(line)]
        lines = {line.line for line in new}
        finished = (
            raw_event for raw_event in _calls(recogniser.rpc_lines, self._vocabulary) if raw_event.line not in lines
        )
        events = list(chain(recogniser.raw_events, finished))
        kept = [one for one, placed in zip(events, _placed(events, self._line_map), strict=True) if is_kept(placed)]
        self._evicted += count_components(events) - count_components(kept)
        self._line_map.keep([*(one.line for one in kept), *(line.line for line in new)])
        recogniser.evict(kept, new)
        self._weight, self._weighed = MemoryEstimate(), (0, 0)

    def _lines_since(self, line: int) -> Iterator[int]:
        """The lines after this one that tell something, the last first."""
        recogniser = self._recogniser
        yield from takewhile(lambda number: number > line, (one.line for one in reversed(recogniser.raw_events)))
        yield from takewhile(lambda number: number > line, (one.line for one in reversed(recogniser.rpc_lines)))


ListenerFactory = Callable[[str], BlockListener]


class Hooks(NamedTuple):
    """What is done with a log while it is read.

    `evict` is called after each block, as the log may have grown too long to be kept whole; what `listen` gives for the
    name of a log hears its blocks as well.
    """

    evict: Callable[[LogReader], None] | None = None
    make_listener: ListenerFactory | None = None


def _with_progress(blocks: Iterable[Block], name: str, progress: Progress) -> Iterator[Block]:
    """The blocks, each told to `progress` when it has been read."""
    for block in blocks:
        yield block
        progress(name, len(block.data))


def _calls(rpc_lines: Sequence[RpcLine], vocabulary: Vocabulary) -> Iterable[RawEvent]:
    """The calls of a log, if it tells of any."""
    if not rpc_lines:
        return ()
    from kvdiag.events.rpc_calls import calls

    return calls(rpc_lines, vocabulary)


def _placed(raw_events: list[RawEvent], line_map: LineMap) -> list[RawEvent]:
    """Raw events at the lines of the input, where entries of many lines were read as one."""
    if not line_map.last:
        return raw_events
    return [raw_event._replace(line=line_map.input_line(raw_event.line)) for raw_event in raw_events]


def _edge(block: Block, recogniser: Recogniser, *, backwards: bool) -> tuple[int | None, Process]:
    """The time of the first or last line of a block that has one, and who wrote that line."""
    data = block.data.strip(b"\n")  # blank lines stand for what came before a log
    lines = data.split(b"\n", ENDS)[:ENDS] if not backwards else data.rsplit(b"\n", ENDS)[-ENDS:][::-1]
    timed_lines = (recogniser.stamper.read(line) for line in lines if line and classify(line) == "head")
    return next(((one.stamp, one.process) for one in timed_lines if one.stamp is not None), (None, UNKNOWN_PROCESS))


def _message_year(block: Block) -> int | None:
    """The year in a line that says its own day in full: `I0917 10:02:19.1 … podCreationTimestamp="2024-09-17 …`."""
    return _year_in(_MESSAGE_DAY, block) or _year_in(_DMESG_DAY, block)


def _mentioned_days(block: Block, most: int) -> Iterator[int]:
    """The first days, at most so many, that lines of a block name with their year, and when a status was asked."""
    if most > 0 and (status_day := _status_day(block)) is not None:
        yield status_day
    found: dict[bytes, None] = {}
    for day in _NAMED_DAY.finditer(block.data) if most > 0 else ():
        found[day[0]] = None
        if len(found) >= most:
            break
    yield from (moment for day in found if (moment := rfc3339(day + b"T00:00Z")) is not None)


def _status_day(block: Block) -> int | None:
    """The day on which `systemctl status` was asked: that since which a unit is in its state, and how long that is."""
    found = _SINCE.search(block.data)
    since = rfc3339(found["since"] + b"T00:00Z") if found else None
    if found is None or since is None:
        return None
    return since + sum(int(count) * _AGO[unit] for count, unit in _SPAN.findall(found["ago"]))


def _journal_span(block: Block) -> tuple[int, int] | None:
    """The days on which a journal begins and ends, as its header says: what was asked for lies between them."""
    found = _JOURNAL.search(block.data)
    days = [rfc3339(b"-".join(found.groups()[at : at + 3]) + b"T00:00Z") for at in (0, 3)] if found else []
    return (days[0], days[1]) if days and days[0] is not None and days[1] is not None else None


def _year_in(pattern: re.Pattern[bytes], block: Block) -> int | None:
    found = pattern.search(block.data)
    return int(found["year"]) if found else None


def _preamble_year(block: Block) -> int | None:
    """The year in `Log file created at: 2024/07/15 03:49:33`, the only one a klog file has."""
    for line in block.data.split(b"\n", PREAMBLE)[:PREAMBLE]:
        entry = preamble(line)
        if entry and entry[0] == "Log file created at" and entry[1][:4].isdecimal():
            return int(entry[1][:4])
    return None
