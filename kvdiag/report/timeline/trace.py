"""Write timelines as a Chrome trace for chrome://tracing and Perfetto: a lane per component, phases as spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from kvdiag.model.lifecycle import TimelineView
from kvdiag.report import RenderOptions
from kvdiag.report.jsontext import json_text
from kvdiag.report.timeline.row_texts import row_text, step_name
from kvdiag.safe.clean import clean

TraceSpan = tuple[int, int, str]  # begin, end, name


def write(views: Sequence[TimelineView], stream: TextIO, options: RenderOptions) -> None:
    """Write the object form of the trace event format; timestamps are microseconds since 1970."""
    events = [event for number, view in enumerate(views, 1) for event in _events(number, view, options)]
    stream.write(json_text({"traceEvents": events, "displayTimeUnit": "ms"}, redact=options.redact))


def _events(process: int, view: TimelineView, options: RenderOptions) -> Iterator[dict[str, Any]]:
    name = clean(f"{view.life.subject.kind} {view.life.subject.name}", redact=options.redact)
    yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": name}}
    ends = max((row.until for row in view.rows), default=view.life.since)
    phases = _nested([(phase.begins, phase.ends or ends, phase.name) for phase in view.phases])
    components = dict.fromkeys(row.transition.event.component for row in view.rows)
    lane = {component: number for number, component in enumerate(components, 1 + len(phases))}
    lanes = ["state", *(f"phases {n}" for n in range(1, 1 + len(phases))), *components]
    for number, lane_name in enumerate(lanes):
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": number, "args": {"name": lane_name or "?"}}
    yield from _states(process, view)
    for number, spans in enumerate(phases, 1):
        yield from (_span(process, number, span) for span in spans)
    for row in view.rows:
        event = row.transition.event
        args = {
            "says": clean(row_text(row), redact=options.redact),
            "at": str(event.origin),
            "state": row.transition.state,
        }
        yield {
            "ph": "i",
            "s": "t",
            "name": clean(step_name(row, view.life.subject), redact=options.redact),
            "pid": process,
            "tid": lane[event.component],
            "ts": event.time,
            "args": args,
        }


def _states(process: int, view: TimelineView) -> Iterator[dict[str, Any]]:
    """Yield each state as a span, from the row that entered it to the row that left it."""
    transitions = [row.transition for row in view.rows if not row.foreign]
    begins, state = (transitions[0].event.time, transitions[0].state) if transitions else (0, "")
    for transition in transitions[1:]:
        if transition.state != state:
            yield _span(process, 0, (begins, transition.event.time, state))
            begins, state = transition.event.time, transition.state
    if transitions:
        yield _span(process, 0, (begins, max(row.until for row in view.rows), state))


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
