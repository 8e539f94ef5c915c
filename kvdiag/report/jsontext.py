"""Values as JSON text, redacted and escaped, and the lines of `parse` and `events`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO, TypeVar

from kvdiag.base.clock import rfc3339
from kvdiag.model.event import NAMELESS, Event
from kvdiag.model.record import LogRecord
from kvdiag.safe.clean import json_safe
from kvdiag.safe.secrets import redacted, redacted_value

T = TypeVar("T")


def json_text(value: object, *, redact: bool) -> str:
    """Return one JSON document on one line, with a newline at the end."""
    shown = _redacted(value, "") if redact else value
    return json_safe(json.dumps(shown, ensure_ascii=False)) + "\n"


class Lines(Iterator[T]):
    """Values of which each is a document of its own, on a line of its own."""

    def __init__(self, values: Iterator[T]) -> None:
        """They are asked for one by one."""
        self._values = values

    def __next__(self) -> T:
        return next(self._values)


def write_document(value: object, stream: TextIO, *, redact: bool) -> None:
    """Write a value as one document, or `Lines` as one document a line."""
    if isinstance(value, Lines):
        stream.writelines(json_text(one, redact=redact) for one in value)
    else:
        write_json(value, stream, redact=redact)


def write_json(value: object, stream: TextIO, *, redact: bool) -> None:
    """Write one JSON document with an indent of one. The items of iterators are written one by one to save memory."""
    stream.writelines(json_safe(piece) for piece in _pieces(value, "", 0, redact=redact))
    stream.write("\n")


def _pieces(value: Any, key: str, level: int, *, redact: bool) -> Iterator[str]:  # noqa: ANN401  # JSON's own types
    pad, mark = "\n" + " " * level, ""
    if isinstance(value, dict) and any(isinstance(part, Iterator) for part in value.values()):
        for name, part in value.items():
            shown = json.dumps(redacted(name) if redact else name, ensure_ascii=False)
            yield f"{mark or '{'}{pad} {shown}: "
            yield from _pieces(part, name, level + 1, redact=redact)
            mark = ","
        yield pad + "}"
    elif isinstance(value, Iterator):
        for part in value:
            yield f"{mark or '['}{pad} "
            yield from _pieces(part, key, level + 1, redact=redact)
            mark = ","
        yield pad + "]" if mark else "[]"
    else:
        whole = _redacted(value, key) if redact else value
        yield json.dumps(whole, indent=1, ensure_ascii=False).replace("\n", pad)


def without_secrets(value: object) -> object:
    """Return a copy of the value with secrets redacted in every string."""
    return _redacted(value, "")


def _redacted(value: Any, key: str) -> Any:  # noqa: ANN401  # JSON's own types
    """Redact a string together with its key: `password=…` is a secret, `…` alone is not."""
    if isinstance(value, str):
        return redacted_value(key, value)
    if isinstance(value, dict):
        return {redacted(name): _redacted(part, name) for name, part in value.items()}
    return [_redacted(part, key) for part in value] if isinstance(value, list | tuple) else value


def record_line(record: LogRecord) -> dict[str, Any]:
    """Return a log record as a JSON object."""
    return {
        "source": record.origin.source,
        "line": record.origin.line,
        "time": rfc3339(record.time),
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
        "time": rfc3339(event.time),
        "component": event.component,
        "node": "" if event.node.startswith(NAMELESS) else event.node,
        "refs": [{"kind": ref.kind, "value": ref.value} for ref in event.refs],
        "attrs": dict(event.attrs),
        "source": event.origin.source,
        "line": event.origin.line,
    }
    return fields | ({"count": event.count, "ends": rfc3339(event.ends)} if event.count > 1 else {})
