"""What a row says, in the words all forms of a timeline share."""

from __future__ import annotations

from kvdiag.clock import SECOND, say_duration, to_datetime
from kvdiag.formats.peel import peel
from kvdiag.formats.records import read_body
from kvdiag.model.event import Event
from kvdiag.model.lifecycle import Row

TOLD = ("error", "reason", "backoff", "grace_period", "exit_code", "exit_status", "version", "update_type", "state")


def says(row: Row) -> str:
    """What happened: the violated edge, the error or values of the line, how often it was repeated."""
    event = row.passage.event
    said = [row.passage.says] if row.passage.says else []
    said += [
        f"{event.attrs[name]}" if name == "error" else f"{name} {event.attrs[name]}"
        for name in TOLD
        if event.attrs.get(name)
    ]
    if row.repeats:
        over = f" until {clock(row.until)}" if row.until > event.time else ""
        said.append(f"and {row.repeats} more{over}" + (f", backoff {' '.join(row.ladder)}" if row.ladder else ""))
    return "; ".join(said)


def step(row: Row) -> str:
    """What a person calls the step; a foreign event is told by its kind."""
    return row.passage.step or row.passage.event.kind


def words(event: Event) -> str:
    """The line's own message."""
    body = read_body(peel(event.text.encode()).body)
    return body.message if body and body.message else event.text


def clock(stamp: int) -> str:
    """`20:39:21.779`."""
    return to_datetime(stamp).strftime("%H:%M:%S.%f")[:-3]


def gap(row: Row) -> str:
    """`+3ms`, `+2.1s`, `+1m4s`; empty for nothing worth telling."""
    if row.gap < 1000:
        return ""
    if SECOND <= row.gap < 60 * SECOND:
        return f"+{row.gap / SECOND:.1f}s"
    return f"+{say_duration(row.gap)}"
