r"""Carriers that are JSON objects of log collectors: docker, Loki, CloudWatch, Google Cloud and Talos.

    {"timestamp":1795206361779,"message":"E1120 20:39:21.779765    6175 kubelet.go:2200] \"Pod is terminated\""}
    {"jsonPayload":{"MESSAGE":"E1120 …","_HOSTNAME":"worker-1","SYSLOG_IDENTIFIER":"kubelet"},"timestamp":"2026-…"}

Applications also log objects with a `message`: an object is a carrier only if it has no keys except those of
collectors, or if it contains a log line; and never if it has a level or a caller.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.carriers import openings
from kvdiag.formats.carriers.carrier import Peeled, bytes_field, epoch_stamp, parse_number, program, text_field
from kvdiag.formats.timestamps import rfc3339

KEYS = lazy_regex(rb'"(?:log|line|message|textPayload|jsonPayload|talos-(?:service|time))" ?:')
_LINE = lazy_regex(openings.LINE)
_TEXTS = ("line", "message", "log")
_TIMES = ("timestamp", "time", "@timestamp", "ts", "date")
_LOG_KEYS = frozenset(("level", "msg", "severity", "caller", "logger", "lvl", "involvedObject"))  # the last: an event
_SHAPE = frozenset((
    *("timestamp", "time", "@timestamp", "ts", "tsNs", "date", "id", "fields", "labels", "stream"),
    *("ingestionTime", "eventId", "logStreamName", "logGroup", "owner", "@ptr", "@log", "@logStream"),
    *("namespace", "podName", "containerName", "nodeName", "kubernetes", "host", "tag", "attrs"),
))  # fmt: skip
_LABELS = ("fields", "labels", "stream", "kubernetes", "attrs")
_NODES = ("nodeName", "node_name", "node", "nodename", "hostname", "host", "_HOSTNAME")
_IDENTS = ("containerName", "container_name", "container", "unit", "syslog_identifier", "SYSLOG_IDENTIFIER", "app")
# Labels that only container output has.
_CONTAINER = ("container_name", "containerName", "container", "container_id")
_PODS = ("podName", "pod_name", "pod", *_CONTAINER)
# The file that a collector read, as a path or a tag: that of a container's output.
_PATHS = ("filename", "file", "path", "source", "tag", "logStreamName", "@logStream")
_OF_CONTAINER = lazy_regex(r"var[./](?:log[./](?:pods|containers)[./]|lib/docker/containers/)")


def read(entry: Mapping[str, object]) -> Peeled | None:
    """Read an object of any collector; None if it is itself a log line."""
    return _talos(entry) or _google(entry) or _from_collector(entry)


def docker(entry: Mapping[str, object]) -> Peeled | None:
    """Read `{"log":…,"stream":"stderr","time":…}`; text without a line end continues in the next object."""
    log = entry.get("log")
    if not isinstance(log, str):
        return None
    return Peeled(
        bytes_field(log),
        stamp=rfc3339(text_field(entry.get("time")).encode("utf-8", "replace")),
        carrier="docker-json",
        partial=not log.endswith("\n"),
        stream=text_field(entry.get("stream")),
    )


def _talos(entry: Mapping[str, object]) -> Peeled | None:
    if not isinstance(entry.get("msg"), str) or not ("talos-service" in entry or "talos-time" in entry):
        return None
    ident = program(text_field(entry.get("talos-service")))
    return Peeled(bytes_field(entry["msg"]), _time(entry.get("talos-time")), ident=ident, carrier="talos-json")


def _google(entry: Mapping[str, object]) -> Peeled | None:
    payload, text = entry.get("jsonPayload"), entry.get("textPayload")
    if isinstance(payload, dict):
        text = payload.get("MESSAGE", payload.get("message"))
    else:
        payload = {}
    if not isinstance(text, str | list):
        return None
    resource = entry.get("resource")
    labels = _mapping(resource.get("labels")) if isinstance(resource, dict) else {}
    return Peeled(
        bytes_field(text),
        _time(entry.get("timestamp")),
        _first(payload, ("_HOSTNAME",)) or _first(labels, ("node_name",)),
        program(_first(payload, ("SYSLOG_IDENTIFIER", "_COMM")) or _first(labels, ("container_name",))),
        parse_number(text_field(payload.get("_PID"))),
        "container-json" if _first(labels, _CONTAINER) else "cloud-json",
    )


def _from_collector(entry: Mapping[str, object]) -> Peeled | None:
    key = next((key for key in _TEXTS if isinstance(entry.get(key), str)), None)
    if key is None or _LOG_KEYS & entry.keys():
        return None
    if key == "log" and entry.get("stream") in {"stdout", "stderr"}:
        return docker(entry)
    body = bytes_field(entry[key])
    times = [name for name in _TIMES if name in entry]
    if not (times and entry.keys() - {key} <= _SHAPE) and not _LINE.match(body):
        return None
    label_maps = [entry, *(_mapping(entry[name]) for name in _LABELS if name in entry)]
    label_maps.append(_mapping(_mapping(entry.get("log")).get("file")))  # of Filebeat
    node = next(filter(None, (_first(labels, _NODES) for labels in label_maps)), "")
    ident = next(filter(None, (_first(labels, _IDENTS) for labels in label_maps)), "")
    stamp = _time(entry[times[0]]) if times else None
    is_pods = any(
        _first(labels, _PODS)
        or any(map(_mapping, map(labels.get, ("pod", "container"))))
        or any(_OF_CONTAINER.search(text_field(labels.get(name))) for name in _PATHS)
        for labels in label_maps
    )
    return Peeled(body, stamp, node, program(ident), carrier="container-json" if is_pods else "collector-json")


def _time(value: object) -> int | None:
    """Return microseconds since 1970 of a date or a number, which may be a text."""
    if isinstance(value, str):
        number = parse_number(value[:-3]) if len(value) > 17 else parse_number(value)
        return rfc3339(value.encode("utf-8", "replace")) if number is None else epoch_stamp(number)
    return epoch_stamp(value) if isinstance(value, int) else None


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _first(labels: Mapping[str, object], names: tuple[str, ...]) -> str:
    for name in names:
        if name in labels and (text := text_field(labels[name])):
            return text
    return ""
