"""klog as JSON (`--logging-format=json`), and zap's JSON as etcd and the vSphere driver write it.

    {"ts":1721015373850.919,"caller":"kubelet/kubelet.go:2168","msg":"SyncLoop ADD","v":2,"source":"api"}

`ts` counts milliseconds in klog and seconds in zap, or is a date. klog writes no severity: info lines carry `v`, error
lines do not; a line of another program without a level is an error only when it has one in a field. Objects are written
as `{"name":…,"namespace":…}` and become `ns/name`, as in the text format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TypeGuard

from kvdiag.base.clock import calendar_stamp
from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.bodyformat import Format
from kvdiag.formats.bodies.goquote import encodable
from kvdiag.formats.bodies.logrus import level_of
from kvdiag.formats.repair.cutjson import read_cut
from kvdiag.formats.timestamps import rfc3339
from kvdiag.model.record import Body
from kvdiag.model.values import Level

_NAME = "klogjson"
_KLOG_KEY = lazy_regex(rb'"(?:ts|caller)":')
_STARTS = lazy_regex(rb'(?=\{"[\w.@]+":).*?"(?:msg|ts)" ?:', re.DOTALL)
_FIRST_MILLISECONDS = 10_000_000_000
_HEAD_KEYS = frozenset(("ts", "time", "level", "caller", "msg", "v"))


def read(body: bytes) -> Body | None:
    """Return a JSON line that has `ts` or `caller`; None for any other, such as those of logrus."""
    if not body.startswith(b"{") or not _KLOG_KEY.search(body):
        return None
    try:
        entry = json.loads(body)
    except (ValueError, RecursionError):
        return _body(read_cut(body), truncated=True)
    return _body(entry, truncated=False) if isinstance(entry, dict) else None


def _body(entry: Mapping[str, object], *, truncated: bool) -> Body | None:
    message = entry.get("msg")
    if not isinstance(message, str):
        return None
    return Body(
        format=_NAME,
        stamp=_stamp(entry.get("ts", entry.get("time"))),
        level=_level(entry),
        caller=str(entry.get("caller", "")).rpartition("/")[2],
        message=encodable(message).rstrip(),
        fields={key: _rendered(value) for key, value in entry.items() if key not in _HEAD_KEYS},
        truncated=truncated,
    )


def _level(entry: Mapping[str, object]) -> Level:
    level = entry.get("level")
    if isinstance(level, str):
        return level_of(level)
    if "v" in entry:
        return Level.INFO
    is_klogs = isinstance(entry.get("ts"), int | float)
    return Level.ERROR if is_klogs or entry.get("err") or entry.get("error") else Level.INFO


def _stamp(value: object) -> int | None:
    """Return microseconds since 1970 for klog's milliseconds, zap's seconds, or a date."""
    if isinstance(value, str):
        return rfc3339(value.encode("utf-8", "replace"))
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        return None
    return calendar_stamp(round(value * (1_000 if value >= _FIRST_MILLISECONDS else 1_000_000)))


def _rendered(value: object) -> str:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list) and value and all(_is_reference(item) for item in value):
        return f"[{' '.join(_reference(item) for item in value)}]"
    return (
        _reference(value)
        if _is_reference(value)
        else encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    )


def _is_reference(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict) and "name" in value and value.keys() <= {"name", "namespace"}


def _reference(value: Mapping[str, object]) -> str:
    namespace, name = value.get("namespace", ""), value["name"]
    return encodable(f"{namespace}/{name}" if namespace else str(name))


def _starts(body: bytes) -> object:
    return _STARTS.match(body)


FORMAT = Format(_NAME, _starts, read, first=b"{")
