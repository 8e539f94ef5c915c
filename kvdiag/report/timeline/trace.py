"""Write timelines as a Chrome trace for chrome://tracing and Perfetto: a lane per component, phases as spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from kvdiag.report import RenderOptions
from kvdiag.report.jsontext import json_text
from kvdiag.report.timeline.timeline_text import RowText, TimelineText

TraceSpan = tuple[int, int, str]  # begin, end, name


def write(timelines: Sequence[TimelineText], stream: TextIO, options: RenderOptions) -> None:
    """Write the object form of the trace event format; timestamps are microseconds since 1970."""
    events = [event for number, timeline in enumerate(timelines, 1) for event in _events(number, timeline)]
    stream.write(json_text({"traceEvents": events, "displayTimeUnit": "ms"}, redact=options.redact))


def _events(process: int, timeline: TimelineText) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": timeline.heading}}
    rows = list(timeline.rows)
    ends = max((row.until for row in rows), default=timeline.since)
    phases = _nested([(span.begins, span.ends or ends, span.name) for span in timeline.spans])
    components = dict.fromkeys(row.component for row in rows)
    lane = {component: number for number, component in enumerate(components, 1 + len(phases))}
    lanes = ["state", *(f"phases {n}" for n in range(1, 1 + len(phases))), *components]
    for number, lane_name in enumerate(lanes):
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": number, "args": {"name": lane_name or "?"}}
    yield from _states(process, rows)
    for number, spans in enumerate(phases, 1):
        yield from (_span(process, number, span) for span in spans)
    for row in rows:
        yield {
            "ph": "i",
            "s": "t",
            "name": row.step,
            "pid": process,
            "tid": lane[row.component],
            "ts": row.time,
            "args": {"says": row.text, "at": row.origin, "state": row.state},
        }


def _states(process: int, rows: Sequence[RowText]) -> Iterator[dict[str, Any]]:
    """Yield each state as a span, from the row that entered it to the row that left it."""
    own = [row for row in rows if not row.is_foreign]
    begins, state = (own[0].time, own[0].state) if own else (0, "")
    for row in own[1:]:
        if row.state != state:
            yield _span(process, 0, (begins, row.time, state))
            begins, state = row.time, row.state
    if own:
        yield _span(process, 0, (begins, max(row.until for row in rows), state))


def _nested(spans: Iterable[TraceSpan]) -> list[list[TraceSpan]]:
    """Distribute spans over lanes such that spans of a lane are nested or disjoint: viewers draw no others."""
    lanes: list[list[TraceSpan]] = []
    opened: list[list[int]] = []  # by lane the ends of the spans that hold what comes next
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        for ends in opened:
            while ends and ends[-1] <= span[0]:
                ends.pop()
        fits = (number for number, ends in enumerate(opened) if not ends or span[1] <= ends[-1])
        number = next(fits, len(lanes))
        if number == len(lanes):
            lanes.append([])
            opened.append([])
        lanes[number].append(span)
        opened[number].append(span[1])
    return lanes


def _span(process: int, lane: int, span: TraceSpan) -> dict[str, Any]:
    begins, ends, name = span
    return {"ph": "X", "name": name, "pid": process, "tid": lane, "ts": begins, "dur": max(1, ends - begins)}
