"""Carriers that are text before a line: journalctl's text modes, syslog, CRI log files, kubectl, grep.

    Jul 15 03:49:34 minikube kubelet[1432]: I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD"
    2024-07-15T03:49:34.052729123Z stderr F I0715 03:49:34.052729       1 server.go:101] GRPC call: /csi.v1.Node/x

Each reader takes a line whose first byte fits, and returns the rest, or None for another format.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kvdiag.base.clock import SECOND, uptime_stamp
from kvdiag.base.regex import lazy_regex
from kvdiag.formats.carriers import openings
from kvdiag.formats.carriers.carrier import ANSI, KERNEL, LOGGER, Peeled, program
from kvdiag.formats.timestamps import rfc3339, syslog_minute, within_minute, yearless

# An empty host name leaves two spaces; `--no-hostname` leaves the program alone.
_SENDER = rb"(?:(\S*[^\s:]|) {1,2})?([^\s:\[\]]+)(?:\[(\d{1,10})\])?:(?: |$)"
_SYSLOG = lazy_regex(rb"((?:[A-Za-z]{3}|\d{1,2}[\x80-\xff]{2,6}) [ \d]?\d \d\d:\d\d):(\d\d)(?:\.(\d{1,9}))? ")
_LOCAL = lazy_regex(rb"(" + openings.MONTH + rb" [ \d]?\d \d\d:\d\d):(\d\d)(?:\.(\d{1,9}))? ")
_ISO = lazy_regex(rb"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})? ?(?:Z|UTC|[+-]\d\d:?\d\d))[ \t]+")
# Without a zone, which is taken for UTC: as rsyslog may be set to write; only before a sender.
_ISO_LOCAL = lazy_regex(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?) (?=\S+ [^\s:\[\]]+(?:\[\d{1,10}\])?: )")
_GO = lazy_regex(rb"(\d{4})/(\d\d)/(\d\d) (\d\d:\d\d:\d\d(?:\.\d{6})?) (?=\S)")
_CRI = lazy_regex(rb"(stdout|stderr) ([FP])(?::\S*)?(?: |$)")
_EVENT = lazy_regex(openings.DATED_EVENT)
_RFC5424 = lazy_regex(rb"(\S+) (\S+) (\d{1,10}|-) \S+ (?:-|\[[^\]]*\]) +")
_FULL = lazy_regex(rb"\S{2,12} (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?) ([A-Z]{1,5}|[+-]\d\d(?::?\d\d)?) ")
_UNIX = lazy_regex(rb"(\d{9,10})\.(\d{6}) (?=\S)")
_CALLER = rb"\[ {0,8}[TC]\d{1,7}\]"  # thread or CPU (CONFIG_PRINTK_CALLER); util-linux puts a blank before it
_UPTIME = rb"\[ {0,8}(\d{1,9})\.(\d{6})(?: < {0,8}\d{1,9}\.\d{6} >)?\](?: ?" + _CALLER + rb")? "
_BOOT = lazy_regex(_UPTIME)
# dmesg -T, in any language, and -H, where a line between two minutes tells only how much later it is.
_CTIME = lazy_regex(rb"\[\S{2,12} (" + openings.MONTH + rb" [ \d]?\d \d\d:\d\d):(\d\d) \d{4}\] (?:" + _CALLER + rb" )?")
_MINUTE = lazy_regex(rb"\[([A-Z][a-z]{2})([ \d]\d \d\d:\d\d)\] (?:" + _CALLER + rb" )?")
_LATER = lazy_regex(rb"\[ {1,8}\+\d{1,6}\.\d{6}\] (?:" + _CALLER + rb" )?")
_DECODED = lazy_regex(rb"[a-z]{2,8}(?: {0,4}:[a-z]{2,7} {0,4}:)? {1,2}(?=" + _UPTIME + rb")")
_DECODED_TIME = lazy_regex(
    rb"(kern|user|daemon|auth|syslog|cron|local[0-7]) {0,6}:[a-z]{2,7} {0,4}: "
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{1,9}[+-]\d\d:?\d\d|\[\S{2,12} [^\]\n]{16,32}\]) "
)
_KMSG = lazy_regex(rb"(\d{1,3}),\d{1,12},(\d{1,15}),[^;\n]{1,60};")
_KERN = 8  # priorities below it are the kernel's own
_CONSOLE = lazy_regex(
    rb"\[(?:\x1b\[[0-9;]{0,20}m)?(?:  OK  |FAILED|DEPEND| TIME | SKIP | INFO )(?:\x1b\[[0-9;]{0,20}m)?\] "
)
_SENT = lazy_regex(_SENDER)
_NAMED = lazy_regex(
    rb"(?:(\S{1,80}) )?([^\s:\[\]{]{1,80})(?:\[(\d{1,10})\])?: (?=" + openings.HEAD + rb"|" + openings.CERTAIN + rb")"
)
_WORDS = lazy_regex(rb"(?:[^\s={]{1,80}[ \t]{1,4}){0,2}([^\s={]{1,80})[ \t]{1,4}(?=" + openings.CERTAIN + rb")")
_NUMBER = lazy_regex(
    rb"\d{1,9}(?:(?: ?[:|] ?| (?:- )?)(?="
    + openings.LINE
    + rb")|-(?="
    + openings.HEAD
    + rb"|"
    + openings.CARRIER
    + rb"))"
)
_INDENT = lazy_regex(rb"[ \t]++(?=" + openings.LINE + rb")")
_BRACKET = lazy_regex(rb"\[(?:[^\]\s]{1,200} )?([^\]\s]{1,200})\] (?=" + openings.LINE + rb")")
_KAIL = lazy_regex(rb"[a-z\d.-]{1,63}/[a-z\d.-]{1,253}\[([a-z\d.-]{1,63})\]: (?=" + openings.LINE + rb")")
_POD = lazy_regex(rb"\[pod/[^\]\s/]{1,253}/([^\]\s]{1,80})\] ")
_EXPORT = lazy_regex(rb"(?:DEFAULT|DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL) (?=\d{4}-\d\d-\d\dT)")
_PRIORITY = lazy_regex(rb"<\d{1,3}>(?:1 )?")
_PROGRAM = lazy_regex(rb"[a-z][\w.\-]*$")
# Programs without `[pid]`; otherwise `word: ` after a full date may be part of the message.
_PIDLESS = frozenset((b"kernel", b"systemd", b"kubelet", b"containerd", b"dockerd", b"crio", b"k3s", b"audit"))
_ZONES = {
    b"CET": b"+01",
    b"CEST": b"+02",
    b"EST": b"-05",
    b"EDT": b"-04",
    b"PST": b"-08",
    b"PDT": b"-07",
} | dict.fromkeys((b"UTC", b"GMT", b"Z"), b"Z")


def syslog(body: bytes) -> Peeled | None:
    """Read `Jul 15 03:49:34[.256007] host program[pid]: `: journalctl short, short-precise, and classic rsyslog."""
    return _dated_short(body, _SYSLOG.match(body))


def local(body: bytes) -> Peeled | None:
    """Read `nov. 20 20:39:21 host program[pid]: `: as `syslog`, with the month of a locale."""
    return _dated_short(body, _LOCAL.match(body))


def _dated_short(body: bytes, found: re.Match[bytes] | None) -> Peeled | None:
    if found is None:
        return None
    minute, seconds, fraction = found.groups()
    begins = syslog_minute(minute)
    if begins is None:
        return None
    stamp = begins + within_minute(seconds, fraction)
    return _sent(body, found.end(), stamp, "journal-short") or Peeled(
        body[found.end() :].lstrip(b" "), stamp, carrier="journal-short"
    )


def dated(body: bytes) -> Peeled | None:
    """Read RFC 3339 before the line: CRI log files, journalctl short-iso, rsyslog, `kubectl logs --timestamps`."""
    found = _ISO.match(body)
    if found is None:
        local = _ISO_LOCAL.match(body)
        stamp = rfc3339(local.group(1)) if local else None
        return _sent(body, local.end(), stamp, "journal-iso") if local and stamp is not None else None
    stamp, ends = rfc3339(found.group(1)), found.end()
    if b"," in found.group(1):  # as dmesg writes it
        return Peeled(body[ends:], stamp, ident=KERNEL, carrier="dmesg")
    cri = _CRI.match(body, ends)
    if cri:
        stream, tag = cri.groups()
        return Peeled(body[cri.end() :], stamp, carrier="cri", partial=tag == b"P", stream=stream.decode())
    if _EVENT.match(body, ends):
        return Peeled(body)  # the times are those of the row
    sent = _sent(body, ends, stamp, "journal-iso", strict=True)
    return sent or _rfc5424(body, ends, stamp) or Peeled(body[ends:], stamp, carrier="timestamps")


def slashed(body: bytes) -> Peeled | None:
    """Read `2020/08/19 09:28:31 `: Go's package log. It prints no zone; in a container that is UTC."""
    found = _GO.match(body)
    stamp = rfc3339(b"%b-%b-%bT%b" % found.groups()) if found else None
    return Peeled(body[found.end() :], stamp, carrier="timestamps") if found and stamp is not None else None


def full(body: bytes) -> Peeled | None:
    """Read `Mon 2024-07-15 03:49:34 UTC host program[pid]: `: journalctl short-full and with-unit."""
    found = _FULL.match(body)
    if found is None:
        return None
    stamp = zoned(*found.groups())
    sent = _sent(body, found.end(), stamp, "journal-full")
    if sent is None and body.startswith(b'{"', found.end()):
        return Peeled(body[found.end() :], stamp, carrier="journal-full")
    return sent


def zoned(clock: bytes, zone: bytes) -> int | None:
    """Return microseconds of `2024-07-15 03:49:34.25` in a zone; year-less if the name (CST, IST) is ambiguous."""
    offset = zone if zone[:1] in b"+-" else _ZONES.get(zone)
    stamp = rfc3339(clock + (offset or b"Z"))
    return yearless(stamp) if stamp is not None and offset is None else stamp


def unix(body: bytes) -> Peeled | None:
    """Read `1721015374.256007 host program[pid]: `: journalctl short-unix."""
    found = _UNIX.match(body)
    if found is None:
        return None
    stamp = int(found.group(1)) * SECOND + int(found.group(2))
    return _sent(body, found.end(), stamp, "journal-unix")


def since_boot(body: bytes) -> Peeled | None:
    """Read `[  759.689531] host program[pid]: ` (journalctl short-monotonic) or a kernel line of dmesg.

    The time since boot is used for the kernel's lines; a program's lines have their own time.
    """
    found = _BOOT.match(body)
    if found is None:
        return None
    uptime = uptime_stamp(int(found.group(1)) * SECOND + int(found.group(2)))
    sent = _sent(body, found.end(), None, "journal-monotonic", strict=True)
    if sent is None:
        return Peeled(body[found.end() :], uptime, ident=KERNEL, carrier="dmesg")
    return sent._replace(stamp=uptime) if sent.ident == KERNEL else sent


def dmesg_dates(body: bytes) -> Peeled | None:
    """Read `[Sat Apr 27 22:56:09 2019] `, `[Apr27 22:56] ` and `[  +0.125642] `: dmesg -T and dmesg -H."""
    clock, minute = _CTIME.match(body), _MINUTE.match(body)
    found = clock or minute or _LATER.match(body)
    if found is None:
        return None
    stamp = None
    if clock or minute:
        begins = syslog_minute(found.group(1) if clock else b" ".join(found.groups()))
        stamp = None if begins is None else begins + (within_minute(clock.group(2), None) if clock else 0)
    return Peeled(body[found.end() :], stamp, ident=KERNEL, carrier="dmesg")


def decoded(body: bytes) -> Peeled | None:
    """Read `kern  :warn  : 2025-01-21T08:46:30,287197+00:00 `: dmesg --decode with absolute times."""
    found = _DECODED_TIME.match(body)
    if found is None:
        return None
    facility, time = found.groups()
    inner = dmesg_dates(time + b" ") if time.startswith(b"[") else None
    stamp = inner.stamp if inner else rfc3339(time)
    return Peeled(body[found.end() :], stamp, ident=KERNEL if facility == b"kern" else "", carrier="dmesg")


def kmsg(body: bytes) -> Peeled | None:
    """Read `6,3964,206764307,-;text`: a record of /dev/kmsg, with priority, number and microseconds since boot."""
    found = _KMSG.match(body)
    if found is None:
        return None
    rest, stamp = body[found.end() :], uptime_stamp(int(found.group(2)))
    if int(found.group(1)) < _KERN:
        return Peeled(rest, stamp, ident=KERNEL, carrier="dmesg")
    sent = _sent(rest, 0, None, "dmesg", strict=True)
    return sent or Peeled(rest, carrier="dmesg")


def console(body: bytes) -> Peeled | None:
    """Read `[  OK  ] Started …`, with or without colours: systemd on the console at boot."""
    found = _CONSOLE.match(body)
    return Peeled(ANSI.sub(b"", body[found.end() :]), ident="systemd", carrier="console") if found else None


_DAEMON = b".daemon"  # of a snap: `microk8s.daemon-kubelite: `, and no host


def named(body: bytes) -> Peeled | None:
    """Read `kubelet[5992]: ` or `10.0.0.7: ` without a time, as in copied logs and talosctl."""
    found = _NAMED.match(body)
    if found is None:
        return None
    host, name, pid = found.groups()
    if host is None and pid is None and name not in _PIDLESS and _DAEMON not in name:
        return Peeled(body[found.end() :], node=_word(name), carrier="named")
    return _signed(body[found.end() :], None, found.groups(), "named")


def leading_words(body: bytes) -> Peeled | None:
    """Read `??? I1120 …`, `kubelet I1120 …`: one to three words before a klog header (MicroShift, stern)."""
    # The rest has a clock time; text with fewer colons has none, which saves 3 µs.
    found = _WORDS.match(body) if body.count(b":") > 1 else None
    if found is None:
        return None
    word = found.group(1)
    carrier = "word" if len(found.group().split()) == 1 else "pod-prefix"
    return Peeled(body[found.end() :], ident=program(_word(word)) if _PROGRAM.match(word) else "", carrier=carrier)


def bracketed(body: bytes) -> Peeled | None:
    """Read `[pod/csi-0/driver] `, `[csi-0 driver] `: kubectl logs --prefix, kubetail and similar."""
    found = _POD.match(body) or _BRACKET.match(body)
    if found is None:
        return None
    is_pods = body.startswith(b"[pod/") or b" " in found.group()[:-2]
    return Peeled(body[found.end() :], ident=_word(found.group(1)), carrier="pod-prefix" if is_pods else "word")


def kail(body: bytes) -> Peeled | None:
    """Read `kube-system/csi-0[driver]: `, as kail writes it."""
    found = _KAIL.match(body)
    return Peeled(body[found.end() :], ident=_word(found.group(1)), carrier="pod-prefix") if found else None


def bare(body: bytes) -> Peeled | None:
    """Remove prefixes without information: line numbers, indentation, a syslog priority, a severity before a time."""
    for pattern in (_NUMBER, _INDENT, _EXPORT, _PRIORITY, _DECODED):
        found = pattern.match(body)
        if found:
            return Peeled(body[found.end() :])
    return None


def coloured(body: bytes) -> Peeled | None:
    """Remove ANSI colours from the whole line."""
    plain = ANSI.sub(b"", body)
    return Peeled(plain) if plain != body else None


def _sent(body: bytes, at: int, stamp: int | None, carrier: str, *, strict: bool = False) -> Peeled | None:
    """Read `host program[pid]: ` at `at`; if strict, a program without pid must be in _PIDLESS."""
    found = _SENT.match(body, at)
    if found is None:
        return None
    node, ident, pid, known = _sender(found.group())
    if strict and not known:
        return None
    return Peeled(body[found.end() :], stamp, node, ident, pid, carrier)


# A log has few senders: 0.1 µs from the cache instead of 3.
@lru_cache(1024)
def _sender(text: bytes) -> tuple[str, str, int | None, bool]:
    found = _SENT.match(text)
    host, name, pid = found.groups() if found else (b"", b"", None)
    known = pid is not None or name in _PIDLESS
    ident = LOGGER if name == b"kernel" and pid else program(_word(name))  # the kernel has no PID; a process has
    return _word(host or b""), ident, int(pid) if pid else None, known


def _rfc5424(body: bytes, at: int, stamp: int | None) -> Peeled | None:
    found = _RFC5424.match(body, at)
    return _signed(body[found.end() :], stamp, found.groups(), "syslog-5424") if found else None


def _signed(rest: bytes, stamp: int | None, sender: tuple[bytes | None, ...], carrier: str) -> Peeled:
    host, name, pid = sender
    number = int(pid) if pid and pid.isdigit() else None
    return Peeled(rest, stamp, _word(host or b""), program(_word(name or b"")), number, carrier)


def _word(text: bytes) -> str:
    return text.decode("utf-8", "replace")
