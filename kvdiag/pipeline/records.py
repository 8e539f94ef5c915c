"""Every line of every input as a record, for `kvdiag parse`: read in full and in one pass, so slower than analysis."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator

from kvdiag.clock import DAY, is_yearless, to_datetime
from kvdiag.correlate.clocks import SourceClock, set_clocks
from kvdiag.correlate.testimony import Testimony
from kvdiag.errors import InputError
from kvdiag.events.stamper import resolve
from kvdiag.formats.klog import preamble
from kvdiag.formats.records import Raw, read_records
from kvdiag.inputs.paths import sources
from kvdiag.model.record import LogRecord, Origin
from kvdiag.pipeline.opened import Readable, opened, placed
from kvdiag.pipeline.options import Options

COMPONENTS = {
    "kubelet.go": "kubelet",
    "pod_workers.go": "kubelet",
    "operation_generator.go": "kubelet",
    "reconciler_common.go": "kubelet",
    "nestedpendingoperations.go": "kubelet",
    "csi_handler.go": "csi-attacher",
    "nodeserver.go": "csi-driver",
}
HALF_YEAR = 180 * DAY


def records(options: Options, problem: Callable[[InputError], None]) -> Iterator[LogRecord]:
    """All records of all inputs in their order. What cannot be read goes to `problem`."""
    for source in sources(options.paths, problem):
        yield from source_records(source, options, problem)


def source_records(source: Readable, options: Options, problem: Callable[[InputError], None]) -> Iterator[LogRecord]:
    """The records of one input; the year of year-less lines is that of the first, moved on at each New Year."""
    calendar: _Calendar | None = None
    component = ""
    for raw in read_records(_lines(source, problem)):
        stamp = resolve(raw.peeled, raw.body)
        component = _component(raw) or component
        if calendar is None and stamp is not None:
            calendar = _Calendar(source, stamp, raw, options)
        time = calendar.utc(stamp, raw.line) if calendar is not None and stamp is not None else None
        yield LogRecord(
            origin=Origin(source.name, raw.line),
            time=None if time is None else to_datetime(time),
            component=raw.peeled.ident or component,
            level=raw.body.level,
            caller=raw.body.caller,
            message=raw.body.message,
            fields=raw.body.fields,
            node=raw.peeled.node,
            truncated=raw.body.truncated,
        )


class _Calendar:
    """A source's clock that learns of New Year while it reads."""

    def __init__(self, source: Readable, first: int, raw: Raw, options: Options) -> None:
        said = preamble(raw.raw)
        testimony = Testimony(
            source=source.name,
            sightings=(),
            first=first,
            last=first,
            lines=0,
            yearless=is_yearless(first),
            preamble_year=int(said[1][:4]) if said and said[1][:4].isdecimal() else None,
            modified=source.modified,
        )
        self._clock = set_clocks([testimony], year=options.year, zone=options.zone)[source.name]
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


def _component(raw: Raw) -> str:
    return COMPONENTS.get(raw.body.caller.partition(":")[0].rpartition("/")[2], "")


def _lines(source: Readable, problem: Callable[[InputError], None]) -> Iterator[tuple[int, bytes]]:
    numbers: array[int] = array("I")
    for block in opened(source, problem, numbers):
        lines = block.data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for number, line in enumerate(lines, start=block.first_line + 1):
            yield placed(number, numbers), line
