r"""zap's console format: of the vSphere driver if configured, and of programs with controller-runtime.

    2021-04-01T03:16:33.306Z\tINFO\tservice/node.go:404\tNodeUnpublishVolume: called with args {…}\t{"TraceId": "0460b"}

The time is removed as a carrier. Time, level, logger, caller, message and fields are separated by tabs, which may be
blanks in a copy; the stack of an error follows on separate lines. zap's JSON is read in `klogjson`.
"""

from __future__ import annotations

import json
import re

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.bodyformat import Format
from kvdiag.formats.bodies.goquote import encodable
from kvdiag.formats.bodies.logrus import level_of
from kvdiag.model.record import Body

_NAME = "zap"
_LEVEL = rb"(DEBUG|INFO|WARN|ERROR|DPANIC|PANIC|FATAL|debug|info|warn|error|dpanic|panic|fatal)"
_HEAD = lazy_regex(
    _LEVEL
    + rb"(?:[ \t]{1,8}(?:[\w.\-]{1,100}[ \t]{1,8})?([\w./@\-]{1,200}\.go:\d{1,6})[ \t]{1,8}|\t(?:[\w.\-]{1,100}\t)?)"
)
_FIELDS = lazy_regex(rb"[ \t](\{\"[^\"]{1,200}\": ?.*\})\s*$")
# A function in a stack, without the arguments that a crash prints.
FRAME = lazy_regex(
    rb"(?=\S*/|\S*\(\*)[\w.\-]{1,100}(?:/[\w.\-]{1,100})*\.(?:\(\*?\w{1,100}\)\.)?\w{1,100}(?:\.func\d+|\.\d+)*$"
)


def read(body: bytes) -> Body | None:
    """Return an entry without its time, with its stack; None if it has no level and caller."""
    found = _HEAD.match(body)
    if found is None:
        return None
    level, caller = found.groups()
    line, _, stack = body[found.end() :].partition(b"\n")
    message, fields = _parted(line)
    if stack:
        fields["stack"] = stack.decode("utf-8", "replace")
    return Body(
        format=_NAME,
        level=level_of(level.decode()),
        caller=(caller or b"").decode("utf-8", "replace").rpartition("/")[2],
        message=message.decode("utf-8", "replace").rstrip(),
        fields=fields,
    )


def _parted(line: bytes) -> tuple[bytes, dict[str, str]]:
    """Return the message, and the fields at the end of the line."""
    at = line.rfind(b"\t{")
    found = _FIELDS.search(line, at) if at >= 0 else _last_object(line)
    try:
        entry = json.loads(found.group(1)) if found else None
    except (ValueError, RecursionError):
        entry = None
    if found is None or not isinstance(entry, dict):
        return line, {}
    fields = {str(key): encodable(v) if isinstance(v, str) else json.dumps(v) for key, v in entry.items()}
    return line[: found.start()], fields


def _last_object(line: bytes) -> re.Match[bytes] | None:
    """Match the last ` {"` that begins an object to the end of the line: a message may contain braces."""
    at = line.rfind(b' {"')
    return _FIELDS.match(line, at) if at >= 0 else None


def _starts(body: bytes) -> object:
    return _HEAD.match(body)


FORMAT = Format(_NAME, _starts, read, first=b"DIWEPFdiwepf")
