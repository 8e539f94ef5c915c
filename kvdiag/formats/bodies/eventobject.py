"""Cluster events as objects: items of `kubectl get events -o json`, and lines of event exporters.

    {"involvedObject":{"kind":"Pod","namespace":"shop","name":"web-0"},"reason":"FailedMount","count":13,"message":"…"}

Those of the API group events.k8s.io have `regarding` and `note`. A watch and some exporters wrap the event in another
object: `{"verb":"ADDED","event":{…}}`, `{"type":"ADDED","object":{…}}`. Source: the types of Kubernetes' API,
core/v1 and events.k8s.io/v1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.bodyformat import Format
from kvdiag.formats.bodies.eventtable import AS_OBJECT, level_of
from kvdiag.formats.bodies.goquote import encodable
from kvdiag.formats.timestamps import rfc3339
from kvdiag.model.record import Body
from kvdiag.model.values import EMPTY

_EVENT_KEY = lazy_regex(rb'"(?:involvedObject|regarding)"\s*:\s*\{')
_AROUND = ("event", "object")
_LAST = ("lastTimestamp", "deprecatedLastTimestamp", "eventTime", "firstTimestamp", "deprecatedFirstTimestamp")
_FIRST = ("firstTimestamp", "deprecatedFirstTimestamp", "eventTime")

Plain = Mapping[str, object]


def read(body: bytes) -> Body | None:
    """Return one event with the fields of a row of kubectl, and its time; None for any other line."""
    if not body.startswith(b"{") or not _EVENT_KEY.search(body):
        return None
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    return _body(next((inner for key in _AROUND if (inner := _inner(event, key))), event))


def _body(event: Plain) -> Body | None:
    about = _inner(event, "involvedObject") or _inner(event, "regarding")
    message, reason = _text(event, "message", "note"), _text(event, "reason")
    if not (about and message and reason):
        return None
    source, series = _inner(event, "source") or _inner(event, "deprecatedSource"), _inner(event, "series")
    component = _text(source, "component") or _text(event, "reportingComponent", "reportingController")
    host = _text(source, "host")
    fields = {
        "namespace": _text(about, "namespace"),
        "object": f"{_text(about, 'kind').lower()}/{_text(about, 'name')}",
        "type": _text(event, "type") or "Normal",
        "reason": reason,
        "source": f"{component}, {host}" if host else component,
        "count": str(event.get("count") or event.get("deprecatedCount") or series.get("count") or ""),
        "first": _text(event, *_FIRST),
    }
    return Body(
        format=AS_OBJECT,
        stamp=rfc3339((_text(series, "lastObservedTime") or _text(event, *_LAST)).encode()),
        level=level_of(fields["type"], reason),
        message=message.rstrip(),
        fields={key: value for key, value in fields.items() if value},
    )


def _inner(event: Plain, key: str) -> Plain:
    value = event.get(key)
    return value if isinstance(value, dict) else EMPTY


def _text(event: Plain, *keys: str) -> str:
    """Return the value of the first of the keys that is a text."""
    return next((encodable(value) for key in keys if isinstance(value := event.get(key), str) and value), "")


def _starts(body: bytes) -> object:
    return _EVENT_KEY.search(body)


FORMAT = Format(AS_OBJECT, _starts, read, first=b"{")
