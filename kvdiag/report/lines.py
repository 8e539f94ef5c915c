"""Records and events as JSON objects, one a line."""

from __future__ import annotations

import json
from typing import Any

from kvdiag.clock import to_datetime
from kvdiag.model.event import Event
from kvdiag.model.record import LogRecord
from kvdiag.report.clean import json_safe, redacted


def json_line(said: dict[str, Any]) -> str:
    """One object as one line, safe for a terminal, with its newline."""
    return json_safe(json.dumps(said, ensure_ascii=False)) + "\n"


def record_line(record: LogRecord, *, redact: bool = True) -> dict[str, Any]:
    """source, line, time, component, level, caller, message, fields, node, truncated."""
    show = redacted if redact else str
    return {
        "source": record.origin.source,
        "line": record.origin.line,
        "time": None if record.time is None else record.time.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "component": record.component,
        "level": str(record.level),
        "caller": record.caller,
        "message": show(record.message),
        "fields": {key: _shown(key, value, redact=redact) for key, value in record.fields.items()},
        "node": record.node,
        "truncated": record.truncated,
    }


def event_line(event: Event, *, redact: bool = True) -> dict[str, Any]:
    """kind, time, refs, attrs, source, line; `count` and `ends` where repeats were folded."""
    said: dict[str, Any] = {
        "kind": event.kind,
        "time": _time(event.time),
        "component": event.component,
        "node": event.node,
        "refs": [{"kind": ref.kind, "value": ref.value} for ref in event.refs],
        "attrs": {key: _shown(key, value, redact=redact) for key, value in event.attrs.items()},
        "source": event.origin.source,
        "line": event.origin.line,
    }
    return said | ({"count": event.count, "ends": _time(event.ends)} if event.count > 1 else {})


def _shown(key: str, value: str, *, redact: bool) -> str:
    """A value is judged together with its key: `password=…` is a secret, `…` alone is not."""
    if not redact:
        return value
    label = f"{key}="
    return redacted(label + value)[len(label) :]


def _time(stamp: int) -> str:
    return to_datetime(stamp).isoformat(timespec="microseconds").replace("+00:00", "Z")
