"""Parse every line of every input for `kvdiag parse`: in full and in one pass, so slower than an analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kvdiag.analysis.log_clocks import KnownLog, LogClocks
from kvdiag.base.clock import is_unanchored, to_datetime
from kvdiag.base.errors import InputError, skip_faults
from kvdiag.events.timestamp_reader import resolve
from kvdiag.formats.authors import Attribution, byline
from kvdiag.formats.bodies import gopanic
from kvdiag.formats.carriers.carrier import KERNEL
from kvdiag.formats.carriers.dmesg import Minutes
from kvdiag.history.correlate.clocks import SourceClock
from kvdiag.history.ingest.blocks import Input, read_blocks
from kvdiag.history.ingest.records import RawRecord, read_records
from kvdiag.inputs.layout import section_provenance
from kvdiag.inputs.lines import LineMap
from kvdiag.inputs.paths import sources
from kvdiag.inputs.scan.sections import classify_section, sections
from kvdiag.model.options import Options
from kvdiag.model.record import LogRecord, Origin


def records(options: Options, problem: Callable[[InputError], None]) -> Iterator[LogRecord]:
    """Yield all records of all inputs in order. Unreadable inputs are passed to `problem`."""
    clocks = LogClocks(options)
    for source in sources(options.paths, problem):
        with skip_faults(source.name, problem):
            yield from source_records(source, problem, clocks)


def source_records(source: Input, problem: Callable[[InputError], None], log_clocks: LogClocks) -> Iterator[LogRecord]:
    """Yield the records of one input. Each log in it has its own clock and components."""
    line_map = LineMap()
    source, known = log_clocks.prepare(source)
    for name, part in sections(read_blocks(source, problem, line_map)):
        log = f"{source.name}/{name}" if name else source.name
        by = byline(log, section_provenance(name, source.place))
        found = known.get(log, KnownLog())
        is_skipped, blocks = classify_section(name, part)
        raws = read_records(() if is_skipped else blocks, line_map)
        yield from _log_records(log, raws, found.clock, Attribution(by, found.component))


def _log_records(log: str, raws: Iterable[RawRecord], clock: SourceClock, by: Attribution) -> Iterator[LogRecord]:
    """Yield each record with its time on the log's clock; None if the time cannot be determined."""
    before: int | None = None
    minutes = Minutes()
    for raw in raws:
        stamp = resolve(raw.peeled, raw.body)
        if raw.peeled.ident == KERNEL:
            stamp = minutes.add(raw.raw) or stamp
        elif stamp is None and raw.body.format == gopanic.NAME:
            stamp = before  # a crash has no time of its own
        before = stamp if stamp is not None else before
        time = clock.utc(stamp, raw.line) if stamp is not None else None
        yield LogRecord(
            origin=Origin(log, raw.line),
            time=None if time is None or is_unanchored(time) else to_datetime(time),
            component=by.author_of_line(raw.peeled.ident, raw.body.caller),
            level=raw.body.level,
            caller=raw.body.caller,
            message=raw.body.message,
            fields=raw.body.fields,
            node=raw.peeled.node,
            truncated=raw.body.truncated,
        )
