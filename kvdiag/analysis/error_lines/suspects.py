r"""Find the lines of a block that may be of level warning or worse, without parsing any line.

    W1120 20:39:21.779765    6175 …      time="2026-11-20T20:39:21.779Z" level=warning …      {"level":"error",…

Nearly all blocks contain one format only and are searched once, at 1 ns per byte; others are searched for each format.
A line found may turn out to have another level, but no line of these levels is missed. Some lines of level info report
a failure too: events of type Warning, errors of gRPC calls in a sidecar's log, and a node that becomes NotReady.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies import plain
from kvdiag.formats.carriers.peel import peel

_MASK = bytes.maketrans(b"0123456789WF", b"0000000000EE")
_KLOG = b"E0000 00:00:00"  # header of level W, E or F in a masked block
_KLOG_INFO = b"I0000 00:00:00"
_LOGRUS_HEAD = b'time="20'
_WORDS = rb"(?i:warn|erro|fata|pani|dpan|crit|emer|severe)"
_LOGRUS = re.compile(rb'l="?' + _WORDS)  # level=, lvl=
# Each begins with a literal, which is found at 0.3 ns per byte; any other beginning takes twenty times as long.
_OTHERS = tuple(
    map(
        lazy_regex,
        (
            *(name + rb'\\*"\s*:\s*\\*"' + _WORDS for name in (b"evel", b"everity", b"lvl", b"levelname")),
            rb'"level":[456]0\b',
            *(word + rb"(?<=[\[< \t\n:|]" + word + rb")" for word in (b"ERR", b"FATAL", b"PANIC", b"CRIT", b"EMERG")),
            *(word + rb"(?<=[\[< \t\n:|]" + word + rb")" for word in (b"SEVERE", b"WARN")),
            rb"\[(?:err|warn|crit|emerg|alert|fatal|panic|Err|Warn|WRN)",
            rb"<(?:err|warn|nwarn|crit|emerg|alert|fatal|panic)",
            rb"\x1b\[(?<=(?:WARN|ERRO|FATA|PANI)\x1b\[)",  # logrus on a terminal, in colours
            rb"\n(?:[WEF][ \d]|" + _WORDS + rb"\w{0,4}[ \t]|SIG[A-Z]{3,4}: )",
            rb"\n(?:unexpected fault address |runtime: (?:out of memory|goroutine stack)|runtime/cgo: )",
            rb"\t" + _WORDS + rb"\w{0,4}[ \t]",
            rb"\.go:\d{1,6}[ \t]",  # zap on a terminal, its tabs turned into blanks
            rb": (?:SIG[A-Z]{3,4}: |[WEF] )",
            *(rb"panic: ", rb"fatal error: ", rb" \| (?<= [WEC] \| )", rb"Warning[ \t]+[A-Z]\w+[ \t]"),
            *(word + rb": (?<=[\n\"][A-Za-z]" + word + rb": )" for word in (b"rror", b"atal", b"ritical", b"arning")),
            *(
                word + rb": (?<=[\]:ZF0-9] [A-Za-z]" + word + rb": )"
                for word in (b"rror", b"atal", b"ritical", b"arning")
            ),
            *(rb"rror from server \(", rb'"type": ?"Warning"', rb"NodeNotReady[\" \t]"),
        ),
    )
)
_MESSAGE, _LEVEL = b'"msg', b'evel"'
_VERBOSITY = (b'"v":', rb'"v\":')
# Failures reported by lines of level info. The last is of sidecars, which print `<nil>` for a call that succeeded.
_REPORTS = (
    *(b'type="Warning"', b"type: 'Warning'", b"rror: rpc error: code = ", b"rror rpc error: code = "),
    *(b"failed to attach: rpc error: code = ", b"failed to detach: rpc error: code = "),  # of the external-attacher
    *(b"Node became not ready", b"NodeNotReady"),  # of kubelet and of the controllers
)
_REPORTS_JSON = (b'"type":"Warning"', rb"type=\"Warning\"", rb"type: \'Warning\'")
_RESPONSE, _ERROR = b'"GRPC response"', b'err="rpc error: code = '
# Programs whose lines have no level, as named by the journal, syslog and JSON; and words of their failures.
_KERNEL_MARKS = (b"kernel: ", b'"kernel"', b"\n[")
_SYSTEMD_MARKS = (b"systemd", b"dbus-daemon")
_KERNEL_WORDS = (
    *(b"table overflow", b"unregister_netdevice: w", b"general protection fault", b"LOCKUP", b"soft lockup", b" stall"),
    *(
        b"oom-k",
        b"allocation failure",
        b"allocate memory on",
        b"hostbyte",
        b"offline device",
        b"EXT4-fs ",
    ),
    *(b"BTRFS ", b"borting journal", b"borted journal", b"readonly", b"read-only", b"device-mapper: ", b"nvme"),
    *(b"task abort", b"rejecting I/O to ", b"exception Emask", b"transmit queue ", b"has not responded", b"hung"),
    *(b"nfs: server ", b"segfault at ", b"Hardware Error", b"severity=", b"WARNING: CPU"),
)
_SYSTEMD_WORDS = (
    *(b"Failed ", b"failed state", b"repeated too quickly", b"Dependency failed", b"Watchdog timeout", b"imed out"),
    *(b"Freezing execution", b"process exited, code=", b"OOM killer"),
)
_ANYWHERE = (
    *(b"table full, dropping packet", b"Kernel panic - not ", b"Oops", b"BUG", b"NVRM: Xid ", b"I/O error", b"XFS ("),
    *(b"ut of memory: Kill", b" blocked ", b"rejected by pids controller", b"nable to handle kernel "),
    *(b"NETDEV WATCHDOG: ", b"commands to complete", b"COMRESET failed", b"EDAC ", b"Memory failure: 0x"),
    *(b"hardware memory ", b"block allocation failed for", b"This should not happen!!", b"file-max limit ", b"TCP: "),
    *(b"SysRq : ", b"sysrq: ", b" error, dev "),
)


def suspects(data: bytes, lines: int) -> list[tuple[int, int]]:
    """Return begin and end of each line in a block that may be of level warning or worse, in order."""
    if not data.strip():
        return []  # blank lines are slow: a pattern that begins with a newline would try each
    masked = data.translate(_MASK)
    places = [*_all(masked, _KLOG), *_reports(data)]
    klog = masked.count(_KLOG) + masked.count(_KLOG_INFO)  # headers, bare or behind a carrier
    if klog < lines:
        is_known = klog + data.count(_LOGRUS_HEAD) >= lines
        places = [*places, *_starts(_LOGRUS, data), *(() if is_known else _rest(data))]
    found = (data.rfind(b"\n", 0, place) + 1 for place in places)
    return [(begin, _end(data, begin)) for begin in sorted(set(found))]


def reports_failure(line: bytes) -> bool:
    """Return whether a line of level info reports a failure."""
    return next(_reports(line), None) is not None


def _reports(data: bytes) -> Iterator[int]:
    for words in _REPORTS:
        yield from _all(data, words)
    if b"Warning" in data:
        for words in _REPORTS_JSON:
            yield from _all(data, words)
    if _RESPONSE in data:
        for at in _all(data, _ERROR):
            if _RESPONSE in data[data.rfind(b"\n", 0, at) + 1 : at]:
                yield at


def _all(data: bytes, words: bytes) -> Iterator[int]:
    """Yield every position of these bytes."""
    at = data.find(words)
    while at >= 0:
        yield at
        at = data.find(words, at + len(words))


def _starts(pattern: re.Pattern[bytes], data: bytes) -> Iterator[int]:
    return (found.start() + (data[found.start()] == ord("\n")) for found in pattern.finditer(data))


def _rest(data: bytes) -> Iterator[int]:
    """Yield positions of all other formats. The first line of a block has no newline before it."""
    first = data[: _end(data, 0)]
    if any(pattern.search(b"\n" + first) for pattern in _OTHERS):
        yield 0
    for pattern in _OTHERS:
        yield from _starts(pattern, data)
    if _MESSAGE in data:
        yield from _unlevelled(data)
    yield from _without_level(data)


def _without_level(data: bytes) -> Iterator[int]:
    """Yield failures of the kernel, systemd and D-Bus, whose lines have no level."""
    words = [*_ANYWHERE]
    if any(name in data for name in _KERNEL_MARKS) or data.startswith(b"["):
        words += _KERNEL_WORDS
    if any(name in data for name in _SYSTEMD_MARKS):
        words += _SYSTEMD_WORDS
    for begin in {data.rfind(b"\n", 0, at) + 1 for word in words for at in _all(data, word)}:
        peeled = peel(data[begin : _end(data, begin)])
        if plain.level(peeled.ident, peeled.body) is not None:
            yield begin


def _unlevelled(data: bytes) -> Iterator[int]:
    """Yield errors of klog in JSON: they have neither a level nor a verbosity."""
    at = 0
    for line in data.split(b"\n"):
        if _MESSAGE in line and _LEVEL not in line and not any(mark in line for mark in _VERBOSITY):
            yield at
        at += len(line) + 1


def _end(data: bytes, begin: int) -> int:
    end = data.find(b"\n", begin)
    return len(data) if end < 0 else end
