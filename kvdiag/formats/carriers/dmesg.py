"""Kernel messages as Talos and auditd print them, and as `dmesg -H` does, with a date at the first line of a minute.

    kern:    info: [2026-02-09T03:06:56.962120533Z]: eth0: renamed from tmpf7bd9
    user: warning: [2026-02-09T16:01:05.605Z]: [talos] OOM controller triggered {"component": "controller-runtime"}
    [talos] 2026/02/09 16:01:05 service[kubelet](Waiting): Error running Containerd(kubelet), going to restart forever

Talos (machined's Dmesg) writes facility, priority and a full date; talosctl puts the node in front when it asks
several. Of these lines only those of `kern` are the kernel's own: machined writes into the same ring. On the
console, and in the log of a node that is a container, they have a date of their own or none.

    type=AVC msg=audit(1665420973.105:11631): avc:  denied  { execute } for  pid=87017 comm="(ntainerd)" …

auditd writes seconds since 1970 into its log, perhaps with the node before it (`node=worker-1 `).

    [Sep 4 20:11] acpi PNP0A03:00: fail to add MMCONFIG information
    [  +0.026711] * Found PM-Timer Bug on the chipset

dmesg (util-linux) prints day and minute if the minute differs from that of the line before, else the seconds since
it. In a truncated log, lines before the first minute have no time.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvdiag.base.clock import MINUTE, SECOND
from kvdiag.base.regex import lazy_regex
from kvdiag.formats.carriers.carrier import AUDIT, KERNEL, Peeled, epoch_stamp
from kvdiag.formats.timestamps import rfc3339, syslog_minute

_FACILITIES = rb"kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local[0-7]"
_TALOS = lazy_regex(
    rb" ?(?:(?P<node>[^\s:\[\]]{1,253}): )?(?P<facility>" + _FACILITIES + rb"): {1,5}"
    rb"(?:emerg|alert|crit|err|warning|notice|info|debug): \[(?P<time>\d{4}-\d\d-\d\dT[\d:.]{8,18}Z)\]: "
)
_MINUTE = lazy_regex(rb"\[([A-Z][a-z]{2})([ \d]\d \d\d:\d\d)\] ")
_LATER = lazy_regex(rb"\[ {1,8}\+(\d{1,6})\.(\d{6})\] ")
_AUDITD = lazy_regex(
    rb"(?:node=([\w.-]{1,253}) )?type=(?:AVC|SECCOMP|SELINUX_ERR|ANOM_ABEND) "
    rb"msg=audit\((\d{9,10})\.(\d{3}):\d{1,12}\): ?"
)
_MACHINED = b"[talos] "
_CONSOLE = lazy_regex(rb"\[talos\] (?P<day>\d{4}/\d\d/\d\d) (?P<time>\d\d:\d\d:\d\d) ")
LOOK_BACK = 20_000  # lines that are searched for the minute of a line with only seconds


def talos(body: bytes) -> Peeled | None:
    """Read `kern:    info: [2026-02-09T03:06:56.96Z]: `, with or without the node before it."""
    found = _TALOS.match(body)
    if found is None:
        return None
    ident = KERNEL if found["facility"] == b"kern" else "machined" if body.startswith(_MACHINED, found.end()) else ""
    node = (found["node"] or b"").decode("utf-8", "replace")
    return Peeled(body[found.end() :], rfc3339(found["time"]), node, ident, carrier="talos-dmesg")


def auditd(body: bytes) -> Peeled | None:
    """Read `type=AVC msg=audit(1665420973.105:11631): `: a record of the kernel in the log of auditd."""
    found = _AUDITD.match(body)
    if found is None:
        return None
    node, seconds, fraction = found.groups()
    stamp = epoch_stamp(int(seconds + fraction))
    return Peeled(body[found.end() :], stamp, (node or b"").decode(), ident=AUDIT, carrier="auditd")


def machined(body: bytes) -> Peeled | None:
    """Read `[talos] 2026/02/09 16:01:05 `; the mark stays in the body."""
    found = _CONSOLE.match(body)
    if found is None:
        return None
    stamp = rfc3339(b"%sT%sZ" % (found["day"].replace(b"/", b"-"), found["time"]))
    return Peeled(_MACHINED + body[found.end() :], stamp, ident="machined", carrier="talos-dmesg")


class Minutes:
    """Computes the times of lines of `dmesg -H` from the last minute and the offset in the line."""

    def __init__(self) -> None:
        self._lines: Sequence[bytes] = ()
        self._at = -1
        self._stamp: int | None = None

    def stamp(self, lines: Sequence[bytes], index: int) -> int | None:
        """Return the time of a line with an offset; None for any other, and without a minute above."""
        if not _LATER.match(lines[index]):
            return None
        if lines is not self._lines or index <= self._at:
            self._lines, self._at, self._stamp = lines, max(-1, index - LOOK_BACK), None
        for line in lines[self._at + 1 : index + 1]:
            self.add(line)
        self._at = index
        return self._stamp

    def add(self, line: bytes) -> int | None:
        """Process the next line; return its time if it is one of `dmesg -H`."""
        later = _LATER.match(line)
        if later is None:
            minute = _MINUTE.match(line)
            if minute is None:
                return None
            self._stamp = syslog_minute(b" ".join(minute.groups()))
        elif self._stamp is not None:  # not beyond the minute, even if the sum is
            passed = self._stamp + int(later[1]) * SECOND + int(later[2])
            self._stamp = min(passed, self._stamp - self._stamp % MINUTE + MINUTE - 1)
        return self._stamp
