r"""Carriers that are JSON objects: journalctl -o json (also -pretty, -seq, -sse) and docker's json-file.

    {"log":"I0715 03:49:34.052729       1 server.go:101] x\n","stream":"stderr","time":"2024-07-15T03:49:34.052729123Z"}

journald writes MESSAGE as a list of bytes when it holds control characters, as null when it is longer than 4096
bytes and `--all` was not given, and a field that occurs twice as a list. The order of keys differs from line to line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from kvdiag.formats.carrier import Peeled, program
from kvdiag.formats.stamps import rfc3339

_JOURNAL = re.compile(rb'"(?:__REALTIME_TIMESTAMP|MESSAGE|__CURSOR)" ?:')
_DOCKER = re.compile(rb'\{"log":"')


def read(body: bytes) -> Peeled | None:
    """Read a journald or docker object; None for any other JSON, which is a log line itself."""
    if _DOCKER.match(body):
        return _docker(_loaded(body))
    if _JOURNAL.search(body):
        return journal_entry(_loaded(body))
    return None


def is_envelope(body: bytes) -> bool:
    """Whether a JSON line is a carrier rather than a log line; looks at its keys only."""
    return bool(_DOCKER.match(body) or _JOURNAL.search(body))


def read_led(body: bytes) -> Peeled | None:
    """Read an object behind `data: ` (json-sse) or a record separator (json-seq)."""
    begins = body.find(b"{")
    return read(body[begins:]) if body.startswith((b"data: {", b"\x1e{")) else None


def _loaded(body: bytes) -> Mapping[str, object] | None:
    try:
        loaded = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return loaded if isinstance(loaded, dict) else None


def _docker(entry: Mapping[str, object] | None) -> Peeled | None:
    log = entry.get("log") if entry else None
    if entry is None or not isinstance(log, str):
        return None
    return Peeled(
        log.rstrip("\r\n").encode("utf-8", "surrogatepass"),
        stamp=rfc3339(_text(entry.get("time")).encode("utf-8", "replace")),
        carrier="docker-json",
        partial=not log.endswith("\n"),
        stream=_text(entry.get("stream")),
    )


def journal_entry(entry: Mapping[str, object] | None) -> Peeled | None:
    """Read the fields of one journal entry, each a text, a list of bytes or a list of repeated values."""
    if entry is None or ("MESSAGE" not in entry and "__REALTIME_TIMESTAMP" not in entry):
        return None
    stamp = _text(entry.get("__REALTIME_TIMESTAMP"))
    pid = _text(entry.get("_PID") or entry.get("SYSLOG_PID"))
    return Peeled(
        _message(entry.get("MESSAGE")),
        stamp=_number(stamp),
        node=_text(entry.get("_HOSTNAME")),
        ident=program(_text(entry.get("SYSLOG_IDENTIFIER") or entry.get("_COMM"))),
        pid=_number(pid),
        carrier="journal-json",
    )


def _message(value: object) -> bytes:
    """MESSAGE as bytes; of a repeated field the first."""
    if isinstance(value, list) and value and not isinstance(value[0], int):
        value = value[0]
    if isinstance(value, list):
        return bytes(item & 0xFF for item in value if isinstance(item, int)).rstrip(b"\r\n")
    return value.rstrip("\r\n").encode("utf-8", "surrogatepass") if isinstance(value, str) else b""


def _number(digits: str) -> int | None:
    """A number of at most seventeen digits: microseconds until the year 5138."""
    return int(digits) if digits.isdecimal() and len(digits) <= 17 else None


def _text(value: object) -> str:
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else ""
