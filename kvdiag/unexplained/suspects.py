r"""Which lines of a block may be of level warning or worse, found without taking any line apart.

    W1120 20:39:21.779765    6175 …      time="2026-11-20T20:39:21.779Z" level=warning …      {"level":"error",…

A block of one notation alone, as nearly all are, is looked through once: 1 ns a byte. Any other is looked through for
each notation there is. What is found may turn out to be of another level; nothing of these levels is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kvdiag.regex import lazy_regex

_MASK = bytes.maketrans(b"0123456789WF", b"0000000000EE")
_KLOG = b"E0000 00:00:00"  # in a masked block: the header of a warning, an error or a fatal one
_KLOG_HEADS = (b"I0000 00:00:00", b"E0000 00:00:00")
_OTHER_HEAD = re.compile(rb"\n(?![IE]0000 00:|\Z)")
_LOGRUS_HEAD = b'\ntime="'
_WORDS = rb"(?i:warn|erro|fata|pani|dpan|crit)"
_LOGRUS = re.compile(rb'l="?' + _WORDS)  # level=, lvl=
_OTHERS = (
    lazy_regex(rb'evel\\*"\s*:\s*\\*"' + _WORDS),
    lazy_regex(rb"\[(?<=(?:WARN|ERRO|FATA|PANI)\[)"),  # logrus on a terminal, without and with colours
    lazy_regex(rb"\x1b\[(?<=(?:WARN|ERRO|FATA|PANI)\x1b\[)"),
    lazy_regex(rb"\n(?:[WEF][ \d]|" + _WORDS + rb"\w{0,4}[ \t]|(?:panic|fatal error): |SIG[A-Z]{3,4}: )"),
    lazy_regex(rb"\n(?:unexpected fault address |runtime: (?:out of memory|goroutine stack)|runtime/cgo: )"),
    lazy_regex(rb"\t" + _WORDS + rb"\w{0,4}[ \t]"),
    lazy_regex(rb"\.go:\d{1,6}[ \t]"),  # zap on a terminal, its tabs turned into blanks
    lazy_regex(rb": (?:panic: |fatal error: |SIG[A-Z]{3,4}: |[WEF] )"),
    lazy_regex(rb" (?:panic|fatal error): | Warning +[A-Z]\w+ "),
)  # fmt: skip
_MESSAGE, _LEVEL = b'"msg', b'evel"'
_VERBOSITY = (b'"v":', rb'"v\":')


def suspects(data: bytes, lines: int) -> list[tuple[int, int]]:
    """Where in a block of so many lines those begin and end that may be of level warning or worse, in order."""
    if not data.strip():
        return []  # blank lines, which a pattern that begins with a line end tries one by one
    masked = data.translate(_MASK)
    places = _klog(masked)
    if not _is_klog_alone(masked):
        is_logrus = data.startswith(_LOGRUS_HEAD[1:]) and data.count(_LOGRUS_HEAD) + 1 == lines
        places = (*places, *_starts(_LOGRUS, data), *(() if is_logrus else _rest(data)))
    found = (data.rfind(b"\n", 0, place) + 1 for place in places)
    return [(begin, _end(data, begin)) for begin in sorted(set(found))]


def _klog(masked: bytes) -> Iterable[int]:
    """Where klog's headers stand, whatever carries them."""
    places = []
    at = masked.find(_KLOG)
    while at >= 0:
        places.append(at)
        at = masked.find(_KLOG, at + len(_KLOG))
    return places


def _is_klog_alone(masked: bytes) -> bool:
    """Whether each line of a masked block begins with a header of klog: 0.5 ns a byte."""
    return masked.startswith(_KLOG_HEADS) and _OTHER_HEAD.search(masked) is None


def _starts(pattern: re.Pattern[bytes], data: bytes) -> Iterator[int]:
    return (found.start() + (data[found.start()] == ord("\n")) for found in pattern.finditer(data))


def _rest(data: bytes) -> Iterator[int]:
    """The places of all other notations; the first line of a block has no line end before it."""
    first = data[: _end(data, 0)]
    if any(pattern.search(b"\n" + first) for pattern in _OTHERS):
        yield 0
    for pattern in _OTHERS:
        yield from _starts(pattern, data)
    if _MESSAGE in data:
        yield from _unlevelled(data)


def _unlevelled(data: bytes) -> Iterator[int]:
    """Errors as klog writes them in JSON: they have no level, and no verbosity either."""
    at = 0
    for line in data.split(b"\n"):
        if _MESSAGE in line and _LEVEL not in line and not any(mark in line for mark in _VERBOSITY):
            yield at
        at += len(line) + 1


def _end(data: bytes, begin: int) -> int:
    end = data.find(b"\n", begin)
    return len(data) if end < 0 else end
