"""Convert records and events to plain JSON values, one object per line."""

from __future__ import annotations

from typing import Any

from kvdiag.base.clock import to_datetime
from kvdiag.model.event import NAMELESS, Event
from kvdiag.model.record import LogRecord


def record_line(record: LogRecord) -> dict[str, Any]:
    """Return a log record as a JSON object."""
    return {
        "source": record.origin.source,
        "line": record.origin.line,
        "time": None if record.time is None else record.time.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "component": record.component,
        "level": str(record.level),
        "caller": record.caller,
        "message": record.message,
        "fields": dict(record.fields),
        "node": record.node,
        "truncated": record.truncated,
    }


def event_line(event: Event) -> dict[str, Any]:
    """Return an event as a JSON object; `count` and `ends` only if repeats were folded."""
    fields: dict[str, Any] = {
        "kind": event.kind,
        "time": _time(event.time),
        "component": event.component,
        "node": "" if event.node.startswith(NAMELESS) else event.node,
        "refs": [{"kind": ref.kind, "value": ref.value} for ref in event.refs],
        "attrs": dict(event.attrs),
        "source": event.origin.source,
        "line": event.origin.line,
    }
    return fields | ({"count": event.count, "ends": _time(event.ends)} if event.count > 1 else {})


def _time(stamp: int) -> str:
    return to_datetime(stamp).isoformat(timespec="microseconds").replace("+00:00", "Z")
