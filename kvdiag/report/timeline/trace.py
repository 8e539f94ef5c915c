"""Timelines as a Chrome trace: opens in chrome://tracing and Perfetto; a lane per component, phases as spans."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from kvdiag.model.lifecycle import Story
from kvdiag.report import Look
from kvdiag.report.clean import clean, json_safe
from kvdiag.report.timeline.words import says, step


def write(stories: Sequence[Story], stream: TextIO, look: Look) -> None:
    """The JSON object form of the trace event format; timestamps are microseconds since 1970."""
    events = [event for number, story in enumerate(stories, 1) for event in _events(number, story, look)]
    stream.write(json_safe(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, ensure_ascii=False)) + "\n")


def _events(process: int, story: Story, look: Look) -> Iterator[dict[str, Any]]:
    name = clean(f"{story.life.subject.kind} {story.life.subject.name}", redact=look.redact)
    yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": name}}
    lanes = dict.fromkeys(["state", "phases", *(row.passage.event.component for row in story.rows)])
    lane = {component: number for number, component in enumerate(lanes)}
    for component, number in lane.items():
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": number, "args": {"name": component or "?"}}
    yield from _states(process, story)
    ends = max((row.until for row in story.rows), default=story.life.since)
    for phase in story.phases:
        lasted = (phase.ends or ends) - phase.begins
        yield {"ph": "X", "name": phase.name, "pid": process, "tid": 1, "ts": phase.begins, "dur": max(1, lasted)}
    for row in story.rows:
        event = row.passage.event
        args = {"says": clean(says(row), redact=look.redact), "at": str(event.origin), "state": row.passage.state}
        yield {
            "ph": "i",
            "s": "t",
            "name": clean(step(row, story.life.subject), redact=look.redact),
            "pid": process,
            "tid": lane[event.component],
            "ts": event.time,
            "args": args,
        }


def _states(process: int, story: Story) -> Iterator[dict[str, Any]]:
    """Each state as a span from the row that reached it to the row that left it."""
    own = [row.passage for row in story.rows if not row.foreign]
    begins, state = (own[0].event.time, own[0].state) if own else (0, "")
    for passage in own[1:]:
        if passage.state != state:
            yield _span(process, state, begins, passage.event.time)
            begins, state = passage.event.time, passage.state
    if own:
        yield _span(process, state, begins, max(row.until for row in story.rows))


def _span(process: int, state: str, begins: int, ends: int) -> dict[str, Any]:
    return {"ph": "X", "name": state, "pid": process, "tid": 0, "ts": begins, "dur": max(1, ends - begins)}
