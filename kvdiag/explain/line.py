"""One line of a log taken apart: what carried it, in which format, the record it is, and the events it tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kvdiag.base.clock import PRINTED, format_duration, is_age, is_since_boot, is_yearless, rfc3339, to_datetime
from kvdiag.base.errors import InputError, UnexpectedError, skip_faults
from kvdiag.events.raw_events import EventMatch
from kvdiag.events.recognise import UNKNOWN_AUTHOR, Recogniser
from kvdiag.events.rpc_calls import calls
from kvdiag.events.timestamp_reader import resolve
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.history.ingest.blocks import Input, read_blocks
from kvdiag.history.ingest.records import RawRecord, read_records
from kvdiag.inputs.lines import LineMap
from kvdiag.inputs.scan.blocks import Block
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.inputs.scan.protocol import Scanner
from kvdiag.model.event import Event
from kvdiag.model.record import Body, Origin
from kvdiag.safe.forms.pem import without_keys

SOURCE = "line"
Change = Callable[[list[bytes]], list[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A record with its carrier and format, when it was written as far as it says so, and its events."""

    number: int
    raw: bytes
    carrier: str
    format: str
    component: str
    node: str
    time: str
    body: Body
    events: tuple[Event, ...]


class LineReader:
    """Reads single lines; the literals are prepared once for all of them."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """The vocabulary that names what lines say."""
        self._vocabulary = vocabulary
        self._scanner: Scanner = make_scanner(vocabulary.literals)

    def read(self, source: Input, problem: Callable[[InputError], None], change: Change = list) -> Iterator[Line]:
        """Each record of an input, its lines changed by `change` before they are taken apart; a blank line is none.

        `change` gets the lines as they come, as many as were written at once.

        The lines were taken out of a log, so one that holds nothing but a piece of a key is told as such.
        """
        line_map = LineMap()
        whole = without_keys(read_blocks(source, problem, line_map), alone=True)
        for raw in read_records(_changed(whole, change), line_map):
            if raw.raw.strip():
                recogniser = Recogniser(self._vocabulary, is_named=True)
                with skip_faults(source.name, problem, raw.line):
                    yield self._line(raw, recogniser)
                for fault in recogniser.faults:
                    problem(UnexpectedError(source.name, fault, raw.line))

    def _line(self, raw: RawRecord, recogniser: Recogniser) -> Line:
        stamp = resolve(raw.peeled, raw.body)
        events = tuple(self._events(raw, stamp or 0, recogniser))
        author = UNKNOWN_AUTHOR.author_of_line(raw.peeled.ident, raw.body.caller)
        named = [event.component for event in events if event.component]
        component = author if author in named or not named else named[0]  # a line may relay the error of another
        return Line(
            number=raw.line,
            raw=raw.raw,
            carrier=raw.peeled.carrier,
            format=raw.body.format,
            component=component,
            node=raw.peeled.node,
            time=_time(stamp),
            body=raw.body,
            events=events,
        )

    def _events(self, raw: RawRecord, stamp: int, recogniser: Recogniser) -> Iterator[Event]:
        data = raw.raw.rstrip(b"\n") + b"\n"
        recogniser.feed(data, 0, self._scanner.scan(data))
        raw_events = [*recogniser.raw_events, *calls(recogniser.rpc_lines, self._vocabulary)]
        for raw_event in raw_events:
            yield _event(raw_event.match, raw, stamp)


def _changed(blocks: Iterable[Block], change: Change) -> Iterator[Block]:
    for block in blocks:
        yield block._replace(data=b"\n".join(change(block.data.split(b"\n"))))


def _event(meaning: EventMatch, raw: RawRecord, stamp: int) -> Event:
    entry = meaning.entry
    component = entry.component or meaning.attrs.get("program", "")
    return Event(
        time=stamp,
        kind=entry.kind,
        component=UNKNOWN_AUTHOR.author_of_words(component, raw.peeled.ident, raw.body.caller, is_call=entry.is_call),
        refs=meaning.refs,
        attrs=meaning.attrs,
        origin=Origin(SOURCE, raw.line),
        node=raw.peeled.node,
        texts=(raw.raw,),
        ends=stamp,
    )


def _time(stamp: int | None) -> str:
    if stamp is None:
        return ""
    if is_age(stamp):
        return f"{format_duration(PRINTED - stamp)} before it was printed"
    if is_since_boot(stamp):
        return f"{format_duration(stamp)} since boot"
    moment = to_datetime(stamp)
    if is_yearless(stamp):
        return moment.strftime("%m-%d %H:%M:%S.%f") + " (no year and no zone in the line)"
    return rfc3339(moment)
