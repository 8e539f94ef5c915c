r"""capnslog's lines: of etcd up to 3.3, and of etcd 3.4 without `--logger=zap`.

    2020-03-25 00:06:36.497449 C | etcdmain: listen tcp 192.0.2.7:2380: bind: cannot assign requested address

The package is the caller. The time has no zone; it is read as UTC, which is the zone of a container.
"""

from __future__ import annotations

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.bodyformat import DIGITS, Format
from kvdiag.formats.timestamps import rfc3339
from kvdiag.model.record import Body
from kvdiag.model.values import Level

_NAME = "capnslog"
_HEAD = lazy_regex(rb"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}) ([CEWNIDT]) \| (?:([\w./-]{1,60}): )?")
_LEVELS = {
    b"C": Level.FATAL,
    b"E": Level.ERROR,
    b"W": Level.WARNING,
    b"N": Level.INFO,
    b"I": Level.INFO,
    b"D": Level.DEBUG,
    b"T": Level.DEBUG,
}


def read(body: bytes) -> Body | None:
    """Return an entry; None if it does not begin with a time and a level."""
    found = _HEAD.match(body)
    if found is None:
        return None
    time, level, package = found.groups()
    return Body(
        format=_NAME,
        stamp=rfc3339(time),
        level=_LEVELS[level],
        caller=(package or b"").decode("utf-8", "replace"),
        message=body[found.end() :].decode("utf-8", "replace").rstrip(),
    )


def _starts(body: bytes) -> object:
    return _HEAD.match(body)


FORMAT = Format(_NAME, _starts, read, first=DIGITS)
