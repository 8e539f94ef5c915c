r"""logrus: containerd, dockerd, CRI-O, k3s and the older Longhorn and vSphere drivers; as text, JSON or on a terminal.

    time="2023-11-11T09:13:01.123456789+08:00" level=info msg="StopPodSandbox for \"cf8d\" returns successfully"
    level=info ts=2023-11-11T09:13:01.123456789Z component=grpc-server msg="finished handling request"

Also logfmt of go-kit and slog, with other keys in any order, and JSON with a `message`.

A value is quoted when it holds anything but `[A-Za-z0-9-._/@^+]`, so `msg=serving...` is bare. containerd puts whole
lines of its shim, escaped, into one message; only the first level of quotes is read.
"""

from __future__ import annotations

import json
import re

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.bodyformat import DIGITS, Format
from kvdiag.formats.bodies.goquote import encodable, unescape, unquote
from kvdiag.formats.bodies.keyvalues import scan
from kvdiag.formats.repair.cutjson import read_cut
from kvdiag.formats.timestamps import rfc3339
from kvdiag.model.record import Body
from kvdiag.model.values import Level

_NAME = "logrus"
LEVELS = {
    "trac": Level.DEBUG,
    "debu": Level.DEBUG,
    "info": Level.INFO,
    "warn": Level.WARNING,
    "erro": Level.ERROR,
    "fata": Level.FATAL,
    "pani": Level.FATAL,
    "dpan": Level.FATAL,
    "emer": Level.FATAL,
    "crit": Level.ERROR,
    "err": Level.ERROR,
    "seve": Level.ERROR,
}
_HEAD = lazy_regex(
    rb'(?:(?:time|ts)=(?:"([^"]*)"|(\S+))[ \t]+(?:caller=\S{1,200}[ \t]+)?|([\d\-T:.Z+]{1,35}"[ \t]))?'
    rb"(?:level|lvl)=([a-zA-Z]+)(?:[ \t]+|$)"
)
_SURE = (
    rb'time=(?:"|\d)|ts=\d{4}-|(?:[\d\-T:.Z+]{1,35}" )?(?:level|lvl)=[a-z]+ (?:msg|ts|time)='
    rb"|(?:\x1b\[\d+m)?(?:TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)(?:\x1b\[0m)?\["
)
_STARTS = re.compile(_SURE + rb'|(?=\{"[\w.@]+":)(?s:.)*?"(?:msg|@?level|severity)" ?:')
_MESSAGES, _TIMES = ("msg", "message", "@message"), ("time", "ts", "timestamp", "@timestamp")
_LEVELS = ("level", "severity", "@level", "lvl", "levelname")
_NUMBERS = {"40": "warn", "50": "error", "60": "fatal"}  # of programs of Node.js
_TERMINAL = lazy_regex(rb"(TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)\[([^\]]{1,40})\] ?")
_ANSI = lazy_regex(rb"\x1b\[[0-9;]{0,20}m")
# Longhorn before 1.3 and some rsyslog setups leave inner quotes unescaped: the closing one is followed by a pair or
# by nothing.
_CLOSING = lazy_regex(rb'"(?=[ \t]*$|[ \t]{1,8}[A-Za-z_][\w.\-]{0,200}=)')
_PADDED = lazy_regex(rb"[ \t](?=[A-Za-z_][\w.\-]{0,200}=)")
_WIDTH = 44


def read(body: bytes) -> Body | None:
    """Return a line in any of the three forms; None for any other."""
    if body.startswith(b"{"):
        return _read_json(body)
    # logrus escapes line breaks, so the following lines do not belong to it.
    body = body.partition(b"\n")[0]
    found = _HEAD.match(body)
    if found is None:
        return _read_terminal(body)
    quoted_time, bare_time, rest_of_time, level = found.groups()
    parsed = _read_text(body, found.end(), rfc3339(quoted_time or bare_time or b""), level)
    return parsed if rest_of_time is None else parsed._replace(truncated=True)


def level_of(word: str) -> Level:
    """Return the level of `warning`, `WARN` and so on; info for an unknown word."""
    return LEVELS.get(word[:4].lower(), Level.INFO)


def _read_text(body: bytes, at: int, stamp: int | None, level: bytes) -> Body:
    message, complete = "", True
    if body.startswith(b"msg=", at):
        message, at, complete = _message(body, at + 4)
    fields, ended = scan(body[at:])
    if not message:
        message = _pop_first(fields, _MESSAGES)
    if stamp is None:
        stamp = rfc3339(_pop_first(fields, _TIMES).encode("utf-8", "replace"))
    return _body(stamp, level_of(level.decode("ascii", "replace")), message, fields, truncated=not (complete and ended))


def _message(body: bytes, at: int) -> tuple[str, int, bool]:
    """Return the message at `at`, where it ends, and whether it is complete."""
    if body[at : at + 1] != b'"':
        end = body.find(b" ", at)
        end = len(body) if end < 0 else end
        return body[at:end].decode("utf-8", "replace"), end, True
    quoted = unquote(body, at)
    if not quoted.terminated or _CLOSING.match(body, quoted.end - 1):
        return quoted.text.rstrip(), quoted.end, quoted.terminated
    closing = _CLOSING.search(body, quoted.end)
    end = closing.start() if closing else len(body)
    return unescape(body[at + 1 : end]).rstrip(), end + 1, closing is not None


def _read_terminal(body: bytes) -> Body | None:
    plain = _ANSI.sub(b"", body) if body.startswith(b"\x1b") else body
    found = _TERMINAL.match(plain)
    if found is None:
        return None
    word, clock = found.groups()
    text = plain[found.end() :]
    # The message is padded to 44 columns, so that a pair before them belongs to the message itself.
    padded = _PADDED.search(text, _WIDTH - 1)
    message = text[: padded.start()] if padded else text
    fields = scan(text[padded.start() :])[0] if padded else {}
    message_text = message.decode("utf-8", "replace").rstrip()
    return _body(rfc3339(clock), level_of(word.decode()), message_text, fields, truncated=False)


def _read_json(body: bytes) -> Body | None:
    try:
        entry = json.loads(body)
    except (ValueError, RecursionError):
        return _read_cut_json(body)
    if not isinstance(entry, dict) or entry.keys().isdisjoint(("msg", "@message", *_LEVELS)):
        return None
    fields = {
        str(key): encodable(value) if isinstance(value, str) else json.dumps(value) for key, value in entry.items()
    }
    level, time, message = (_pop_first(fields, keys) for keys in (_LEVELS, _TIMES, _MESSAGES))
    level = _NUMBERS.get(level, level)
    return _body(rfc3339(time.encode("utf-8", "replace")), level_of(level), message.rstrip(), fields, truncated=False)


def _pop_first(fields: dict[str, str], keys: tuple[str, ...]) -> str:
    """Remove the first of the keys that exists from the fields, and return its value."""
    return next((fields.pop(key) for key in keys if key in fields), "")


def _read_cut_json(body: bytes) -> Body | None:
    fields = {key: str(value) for key, value in read_cut(body).items()}
    if not fields.keys() & {"level", "msg"}:
        return None
    level, time, message = (_pop_first(fields, keys) for keys in (("level",), _TIMES, _MESSAGES))
    return _body(rfc3339(time.encode("utf-8", "replace")), level_of(level), message, fields, truncated=True)


def _body(stamp: int | None, level: Level, message: str, fields: dict[str, str], *, truncated: bool) -> Body:
    caller = fields.get("file", "").rpartition("/")[2]  # of logrus's ReportCaller; programs name other files so, too
    caller = caller if ".go:" in caller else ""
    return Body(
        format=_NAME, stamp=stamp, level=level, caller=caller, message=message, fields=fields, truncated=truncated
    )


FORMAT = Format(_NAME, _STARTS.match, read, first=DIGITS + b"{-:.+tlTZDIWEFP\x1b", sure=_SURE)
