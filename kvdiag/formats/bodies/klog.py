"""klog text: the header that kubelet, kube-controller-manager and most CSI sidecars write.

    I0919 11:11:20.322601  190330 kubelet.go:2130] "SyncLoop DELETE" source="api" pods=["default/nginx"]

No year and no zone: the stamp is counted in the year-less frame of `kvdiag.base.clock`. The number after the time is a
PID, not a thread. The message is quoted (structured, followed by key=value) or free text; one file holds both.
The encodings of values are in `keyvalues`.
"""

from __future__ import annotations

import re

from kvdiag.formats.bodies.bodyformat import DIGITS, LOWER, UPPER, Format
from kvdiag.formats.bodies.goquote import unquote
from kvdiag.formats.bodies.keyvalues import scan
from kvdiag.formats.timestamps import klog_minute, within_minute
from kvdiag.model.record import Body
from kvdiag.model.values import Level

_NAME = "klog"
LEVELS = {b"I": Level.INFO, b"W": Level.WARNING, b"E": Level.ERROR, b"F": Level.FATAL}
HEADER = re.compile(
    rb"([IWEF])(\d{4} \d\d:\d\d):(\d\d)(?:\.(\d{1,9}))?[ \t]+(\d{1,10}) (?:[^\s\]]*/)?([^\s/\]:]+:\d+)\](?: |$)"
)
_SURE = rb"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [^\s\]]+:\d+\]"
# A line whose beginning was lost when it was copied: `I reconciler.go:388] "…`, `33.850919    1432 kubelet.go:2168] …`.
_CUT = (
    rb"(?:([IWEF])(?: |(?=\d)))?(?:[\d:.]{1,20}[ \t]{1,8}){0,3}(?:[\w.\-]+/)?([\w.\-]+\.(?:go|s)|\?\?\?):(\d{1,6})\] "
)
_CUT_HEADER = re.compile(_CUT)
_STARTS = re.compile(_SURE + rb"|" + _CUT)
_PREAMBLE = re.compile(
    rb"(?:\xef\xbb\xbf)?(Log file created at|Running on machine|Binary|Log line format|Previous log): (.*)"
)


def read(body: bytes) -> Body | None:
    """Return one klog entry, with its continuation lines; None without a klog header."""
    found = HEADER.match(body)
    if found is None:
        return _read_cut(body)
    letter, minute, seconds, fraction, pid, caller = found.groups()
    begins = klog_minute(minute)
    message, fields, complete = read_message(body[found.end() :])
    return Body(
        format=_NAME,
        stamp=None if begins is None else begins + within_minute(seconds, fraction),
        level=LEVELS[letter],
        caller=caller.decode("ascii", "replace"),
        message=message,
        fields=fields,
        pid=int(pid),
        truncated=not complete,
    )


def preamble(line: bytes) -> tuple[str, str] | None:
    """Return key and value of a line that klog writes at the top of a file; one has the only year in the file."""
    found = _PREAMBLE.match(line)
    if found is None:
        return None
    key, value = found.groups()
    return key.decode(), value.rstrip().decode("utf-8", "replace")


def _read_cut(body: bytes) -> Body | None:
    found = _CUT_HEADER.match(body)
    if found is None:
        return None
    letter, file, line = found.groups()
    message, fields, _ = read_message(body[found.end() :])
    caller = f"{file.decode('ascii', 'replace')}:{int(line)}"
    level = LEVELS.get(letter, Level.INFO)
    return Body(format=_NAME, level=level, caller=caller, message=message, fields=fields, truncated=True)


def read_message(text: bytes) -> tuple[str, dict[str, str], bool]:
    """Return message and fields after a header, and whether they are complete."""
    if text.startswith(b'"'):
        message, end, terminated = unquote(text)
        message = message.rstrip()
        if not terminated:
            return message, {}, False
        # Free text may begin with a quoted name as well: `"nfs" is not mounted`. Only pairs or nothing may follow.
        rest = text[end:]
        if rest[:1] in (b"", b"\n"):
            return message, {}, True
        fields, complete = scan(rest)
        if fields or rest.isspace():
            return message, fields, complete
    return text.decode("utf-8", "replace").rstrip(), {}, True


FORMAT = Format(_NAME, _STARTS.match, read, first=DIGITS + LOWER + UPPER + b"_.-?:", sure=_SURE)
