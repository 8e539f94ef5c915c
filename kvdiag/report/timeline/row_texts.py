"""Texts of timeline rows that all formats share."""

from __future__ import annotations

import os
from collections.abc import Iterable

from kvdiag.base.clock import SECOND, format_clock, format_duration
from kvdiag.formats.bodies.registry import read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.model.event import Event
from kvdiag.model.lifecycle import Phase, TimelineRow
from kvdiag.model.timeline import Entity, Skew

PARTS = ("outer_name", "spec_name", "container_id", "sandbox_id")
SHORTEST = 16  # characters of a name or id, enough to tell objects of one timeline apart
SHOWN_VALUES = ("error", "reason", "grace_period", "exit_code", "exit_status", "version", "update_type", "state")


def row_text(row: TimelineRow) -> str:
    """Return what happened: an illegal transition, the error or values of the line, the number of repeats."""
    event = row.transition.event
    if row.repeats and row.ladder:
        return f"and {row.repeats} more until {format_clock(row.until)}, backoff {' '.join(row.ladder)}"
    parts = [row.transition.violation] if row.transition.violation else []
    parts += [
        event.attrs[name] if name == "error" else f"{name} {event.attrs[name]}"
        for name in SHOWN_VALUES
        if event.attrs.get(name)
    ]
    if row.repeats:
        over = f" until {format_clock(row.until)}" if row.until > event.time else ""
        parts.append(f"and {row.repeats} more{over}")
    return "; ".join(parts)


def event_label(event: Event) -> str:
    """Return what an event is called, as in timelines; a raw line of a rule is a log line."""
    return lifecycles().labels.get(event.kind, "log line" if event.kind.startswith("line.") else event.kind)


def step_name(row: TimelineRow, subject: Entity) -> str:
    """Return the name of the step, with the object if that is not the timeline's subject."""
    event = row.transition.event
    name = row.transition.step or event.kind
    names = [value for kind in PARTS if (value := event.ref(kind))]
    object_name = names[0][:SHORTEST].rstrip("-") if names and names[0] not in subject.ids.values() else ""
    return f"{name} ({object_name})" if object_name and object_name not in name else name


def common_folder(sources: Iterable[str]) -> str:
    """Return the folder that contains all inputs, with a slash at the end; empty for none."""
    folders = {source.rpartition("/")[0] for source in sources}
    has_one = all(folders) and len({folder[:1] == "/" for folder in folders}) == 1  # else there is nothing in common
    common = os.path.commonpath(folders) if has_one else ""
    return f"{common}/" if common else ""


def event_message(event: Event) -> str:
    """Return the message of the event's line without its header."""
    body = read_body(peel(event.logged).body)
    return body.message if body and body.message else event.text


def phase_text(phase: Phase) -> str:
    """Return `stage 3ms`, or since when the phase lasts."""
    if phase.ends is None:
        return f"{phase.name} not finished since {format_clock(phase.begins)}"
    return f"{phase.name} {format_duration(phase.ends - phase.begins)}"


def skew_text(skew: Skew) -> str:
    """Return a sentence on how far the clock of a node is off, as bounded by volumes that moved between nodes."""
    low, high = skew.low, skew.high
    if low is not None and low > 0:
        most = f" and at most {format_duration(high)}" if high is not None else ""
        return f"The clock of {skew.node} runs at least {format_duration(low)}{most} ahead of the controller's."
    if high is not None and high < 0:
        most = f" and at most {format_duration(-low)}" if low is not None else ""
        return f"The clock of {skew.node} runs at least {format_duration(-high)}{most} behind the controller's."
    ahead = f"at most {format_duration(high)} ahead of" if high is not None else "maybe ahead of"
    behind = f"at most {format_duration(-low)} behind" if low is not None else "maybe behind"
    return f"The clock of {skew.node} runs {ahead} or {behind} the controller's."


def gap_text(row: TimelineRow) -> str:
    """Return the gap to the row before as `+3ms`, `+2.1s` or `+1m4s`; empty below 1 ms."""
    if row.gap < 1000:
        return ""
    if SECOND <= row.gap < 60 * SECOND:
        return f"+{row.gap / SECOND:.1f}s"
    return f"+{format_duration(row.gap)}"
