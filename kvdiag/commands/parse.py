"""Every line of every input as a record, for `kvdiag parse`: read in full and in one pass, so slower than analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kvdiag.clock import is_unanchored, to_datetime
from kvdiag.commands.log_clocks import LogClocks
from kvdiag.correlate.clocks import SourceClock
from kvdiag.errors import InputError
from kvdiag.events.stamper import resolve
from kvdiag.formats.authors import Byline, byline, written
from kvdiag.formats.bodies import gopanic
from kvdiag.formats.carriers.carrier import KERNEL
from kvdiag.formats.carriers.dmesg import Minutes
from kvdiag.ingest.blocks import Input, read_blocks
from kvdiag.ingest.records import Raw, read_records
from kvdiag.inputs.lines import LineMap
from kvdiag.inputs.paths import sources
from kvdiag.model.options import Options
from kvdiag.model.record import LogRecord, Origin
from kvdiag.scan.sections import looked_into, sections


def records(options: Options, problem: Callable[[InputError], None]) -> Iterator[LogRecord]:
    """All records of all inputs in their order. What cannot be read goes to `problem`."""
    clocks = LogClocks(options)
    for source in sources(options.paths, problem):
        yield from source_records(source, problem, clocks)


def source_records(source: Input, problem: Callable[[InputError], None], log_clocks: LogClocks) -> Iterator[LogRecord]:
    """The records of one input. Each log in it has a clock and components of its own."""
    numbers = LineMap()
    source, clocks = log_clocks.of(source)
    for name, part in sections(read_blocks(source, problem, numbers)):
        log = f"{source.name}/{name}" if name else source.name
        by = byline(log, source.place.container)
        is_passed_over, blocks = looked_into(name, part)
        raws = read_records(() if is_passed_over else blocks, numbers)
        yield from _log_records(log, raws, clocks.get(log, SourceClock()), by)


def _log_records(log: str, raws: Iterable[Raw], clock: SourceClock, by: Byline) -> Iterator[LogRecord]:
    """Each record with its time on the log's clock; None where nothing tells when its times count from."""
    known: set[str] = set()
    before: int | None = None
    minutes = Minutes()
    for raw in raws:
        stamp = resolve(raw.peeled, raw.body)
        if raw.peeled.ident == KERNEL:
            stamp = minutes.take(raw.raw) or stamp
        elif stamp is None and raw.body.format == gopanic.FORMAT:
            stamp = before  # a crash has no time of its own
        before = stamp if stamp is not None else before
        written_by = written(raw.peeled.ident, raw.body.caller, by)
        known.update((written_by,) if written_by else ())
        time = clock.utc(stamp, raw.line) if stamp is not None else None
        yield LogRecord(
            origin=Origin(log, raw.line),
            time=None if time is None or is_unanchored(time) else to_datetime(time),
            # A line that tells no author is of the only one met so far, else of the one the log is called after.
            component=written_by or (next(iter(known)) if len(known) == 1 else by.program),
            level=raw.body.level,
            caller=raw.body.caller,
            message=raw.body.message,
            fields=raw.body.fields,
            node=raw.peeled.node,
            truncated=raw.body.truncated,
        )
