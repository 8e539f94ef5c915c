r"""Rewrite OTLP logs in JSON, as the OpenTelemetry Collector's `file` exporter writes them, to one record a line.

    {"resourceLogs":[{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"worker-1"}}]},"scopeLogs":[
    {"scope":{},"logRecords":[{"timeUnixNano":"1795206361779765000","severityText":"Info","body":{"stringValue":"E1120…

This is one line of the file (shown as two), a batch of records of many sources; pretty-printed it has many lines. The
host is an attribute of the resource, the container of the resource or the record. The collector's journald receiver
puts the fields of an entry into the body. The time of collection is not used as a record's time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.lines import Line, LineRewriter, Lines

_LONGEST = 64 << 20  # bytes of a document; a longer one is passed through as lines
_START = lazy_regex(rb'(?:\xef\xbb\xbf)?\s*\{\s*"resourceLogs"\s*:\s*\[')
_BODY = lazy_regex(rb'"body"\s*:')
_NODES = ("host.name", "k8s.node.name")
_CONTAINERS = ("k8s.container.name", "container.name", "syslog.appname")
_FILES = ("log.file.name", "log.file.path")
_FILE = lazy_regex(r"(?:.*/)?(kubelet|containerd|crio|kube-[a-z-]+)\.log")
_DEEPEST = 32


def detect(head: bytes) -> LineRewriter | None:
    """Return the rewriter if the first bytes are those of such documents."""
    return _records if _START.match(head) else None


def _records(lines: Lines) -> Iterator[Line]:
    held, number = bytearray(), 1
    while piece := lines.piece():
        if not held:
            number = lines.number + (not piece.endswith(b"\n"))
        held += piece
        if _ends(held, piece) or len(held) > _LONGEST:
            yield from _records_of(bytes(held), number)
            held.clear()
    if held:
        yield from _records_of(bytes(held), number)


def _ends(held: bytearray, piece: bytes) -> bool:
    """Return whether a document ends here: with its line, or, if pretty-printed, with a line of only a bracket."""
    is_one_line = len(held) == len(piece) or held.find(b"\n") == len(held) - 1
    return piece.endswith(b"\n") and (piece.startswith(b"}") or (is_one_line and held.rstrip().endswith(b"}")))


def _records_of(document: bytes, number: int) -> Iterator[Line]:
    """Yield the records of a document; the lines of an invalid one."""
    try:
        batch = json.loads(document)
        records = list(_batch_records(batch))
    except (ValueError, TypeError, AttributeError, RecursionError):
        yield from ((number + n, line) for n, line in enumerate(document.rstrip(b"\r\n").split(b"\n")))
        return
    places = _places(document, number, len(records))
    for place, record in zip(places, records, strict=True):
        yield place, json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")


def _places(document: bytes, number: int, count: int) -> list[int]:
    """Return the line of each record: that of its body, if the document has many lines."""
    found = [body.start() for body in _BODY.finditer(document)] if document.count(b"\n") > 1 else []
    if len(found) != count:
        return [number] * count
    places, line, at = [], number, 0
    for body in found:
        line, at = line + document.count(b"\n", at, body), body
        places.append(line)
    return places


def _batch_records(batch: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield each record as a log collector's object, or as a journal entry."""
    for one in batch.get("resourceLogs") or ():
        resource = _attributes(one.get("resource") or {})
        for scope in one.get("scopeLogs") or one.get("instrumentationLibraryLogs") or ():
            for record in scope.get("logRecords") or scope.get("logs") or ():
                yield _record(record, {**resource, **_attributes(record)})


def _record(record: Mapping[str, Any], attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    body, time = _value(record.get("body") or {}), str(record.get("timeUnixNano") or "")
    is_dated = time.isdecimal() and bool(time.strip("0"))
    if isinstance(body, dict) and ("MESSAGE" in body or "__REALTIME_TIMESTAMP" in body):
        return {"__REALTIME_TIMESTAMP": time[:-3], **body} if is_dated else body
    fields: dict[str, Any] = {}
    if is_dated:
        fields["timestamp"] = time
    if node := _first(attributes, _NODES):
        fields["nodeName"] = node
    if container := _first(attributes, _CONTAINERS) or _program(_first(attributes, _FILES)):
        fields["containerName"] = container
    fields["message"] = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return fields


def _attributes(item: Mapping[str, Any]) -> dict[str, Any]:
    return {str(one.get("key")): _value(one.get("value") or {}) for one in item.get("attributes") or ()}


def _value(value: Mapping[str, Any], depth: int = 0) -> Any:  # noqa: ANN401  # JSON's own types
    """Return the content of an AnyValue."""
    if depth > _DEEPEST or not value:
        return ""
    if "kvlistValue" in value:
        pairs = value["kvlistValue"].get("values") or ()
        return {str(one.get("key")): _value(one.get("value") or {}, depth + 1) for one in pairs}
    if "arrayValue" in value:
        return [_value(one, depth + 1) for one in value["arrayValue"].get("values") or ()]
    return next(iter(value.values()))


def _first(attributes: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((attributes[name] for name in names if isinstance(attributes.get(name), str) and attributes[name]), "")


def _program(file: str) -> str:
    found = _FILE.fullmatch(file)
    return found[1] if found else ""
