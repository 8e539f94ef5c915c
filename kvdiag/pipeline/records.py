"""Every line of every input as a record, for `kvdiag parse`: read in full and in one pass, so slower than analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kvdiag.clock import DAY, is_adrift, is_yearless, to_datetime
from kvdiag.correlate.clocks import SourceClock, set_clocks
from kvdiag.correlate.testimony import Testimony
from kvdiag.errors import InputError
from kvdiag.events.stamper import resolve
from kvdiag.formats.authors import Byline, byline, written
from kvdiag.formats.carrier import KERNEL
from kvdiag.formats.dmesg import Minutes
from kvdiag.formats.klog import preamble
from kvdiag.formats.records import Raw, read_records
from kvdiag.inputs.lines import Numbers
from kvdiag.inputs.paths import sources
from kvdiag.model.record import LogRecord, Origin
from kvdiag.pipeline.opened import Readable, opened
from kvdiag.pipeline.options import Options
from kvdiag.scan.blocks import Block
from kvdiag.scan.sections import looked_into, sections

HALF_YEAR = 180 * DAY


def records(options: Options, problem: Callable[[InputError], None]) -> Iterator[LogRecord]:
    """All records of all inputs in their order. What cannot be read goes to `problem`."""
    for source in sources(options.paths, problem):
        yield from source_records(source, options, problem)


def source_records(source: Readable, options: Options, problem: Callable[[InputError], None]) -> Iterator[LogRecord]:
    """The records of one input. Each log in it has a clock and components of its own."""
    numbers = Numbers()
    for name, part in sections(opened(source, problem, numbers)):
        called = f"{source.name}/{name}" if name else source.name
        log = Log(called, source.modified, byline(called, source.place.container))
        is_passed_over, blocks = looked_into(name, part)
        yield from _log_records(log, _lines(() if is_passed_over else blocks, numbers), options)


class Log(NamedTuple):
    """One log of an input: what it is called, when the input was modified (seconds since 1970), whose it is."""

    name: str
    modified: float | None
    by: Byline


def _log_records(log: Log, lines: Iterable[tuple[int, bytes]], options: Options) -> Iterator[LogRecord]:
    """The year of year-less lines is that of the first, moved on at each New Year."""
    calendar: _Calendar | None = None
    known: set[str] = set()
    minutes = Minutes()
    for raw in read_records(lines):
        stamp = _dated(resolve(raw.peeled, raw.body))
        if raw.peeled.ident == KERNEL:
            stamp = minutes.take(raw.raw) or stamp
        written_by = written(raw.peeled.ident, raw.body.caller, log.by)
        known.update((written_by,) if written_by else ())
        if calendar is None and stamp is not None:
            calendar = _Calendar(log, stamp, raw, options)
        time = calendar.utc(stamp, raw.line) if calendar is not None and stamp is not None else None
        yield LogRecord(
            origin=Origin(log.name, raw.line),
            time=None if time is None else to_datetime(time),
            # A line that tells no author is of the only one met so far, else of the one the log is called after.
            component=written_by or (next(iter(known)) if len(known) == 1 else log.by.program),
            level=raw.body.level,
            caller=raw.body.caller,
            message=raw.body.message,
            fields=raw.body.fields,
            node=raw.peeled.node,
            truncated=raw.body.truncated,
        )


def _dated(stamp: int | None) -> int | None:
    """A stamp that is a date; one that counts from boot becomes one only when the whole log is known."""
    return None if stamp is None or is_adrift(stamp) else stamp


class _Calendar:
    """A source's clock that learns of New Year while it reads."""

    def __init__(self, log: Log, first: int, raw: Raw, options: Options) -> None:
        said = preamble(raw.raw)
        testimony = Testimony(
            source=log.name,
            sightings=(),
            first=first,
            last=first,
            lines=0,
            yearless=is_yearless(first),
            preamble_year=int(said[1][:4]) if said and said[1][:4].isdecimal() else None,
            modified=log.modified,
        )
        self._clock = set_clocks([testimony], year=options.year, zone=options.zone)[log.name]
        self._before = first

    def utc(self, stamp: int, line: int) -> int:
        """A stamp of the source in UTC."""
        if is_yearless(stamp):
            if abs(stamp - self._before) > HALF_YEAR:
                years = self._clock.turns[-1][1] if self._clock.turns else 0
                turn = (line, years + (1 if stamp < self._before else -1))
                self._clock = SourceClock(self._clock.year, self._clock.zone, (*self._clock.turns, turn))
            self._before = stamp
        return self._clock.utc(stamp, line)


def _lines(part: Iterable[Block], numbers: Numbers) -> Iterator[tuple[int, bytes]]:
    for block in part:
        lines = block.data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for number, line in enumerate(lines, start=block.first_line + 1):
            yield numbers.of(number), line
        numbers.forget(block.first_line + block.lines, ())
