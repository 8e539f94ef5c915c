"""Lines of the kernel as Talos and `dmesg -H` print them."""

from datetime import UTC, datetime

import pytest

from kvdiag.analysis.log_clocks import LogClocks
from kvdiag.analysis.parse import source_records
from kvdiag.base.clock import SECOND, from_datetime
from kvdiag.formats.carriers.dmesg import Minutes
from kvdiag.formats.carriers.peel import peel
from kvdiag.formats.timestamps import syslog_minute
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options

AT = from_datetime(datetime(2026, 2, 9, 3, 6, 56, 960000, tzinfo=UTC))
FRAME = from_datetime(datetime(2000, 9, 4, 20, 11, tzinfo=UTC))
HUMAN = """\
[  +0.250000] before any minute
[Sep 4 20:11] acpi PNP0A03:00: fail to add MMCONFIG information
[  +0.026711] * Found PM-Timer Bug on the chipset. Due to workarounds for a bug,
              * this clock source is slow. Consider trying other clock sources
[  +1.500000] platform eisa.0: Cannot allocate resource for EISA slot 1
[ +57.900000] hrtimer: interrupt took 7463337 ns
[  +2.000000] the minute has not ended, or this line would tell the next
[Sep 4 20:13] kauditd_printk_skb: 4 callbacks suppressed
"""


@pytest.mark.parametrize(
    ("line", "stamp", "node", "ident", "words"),
    [
        (b"kern:    info: [2026-02-09T03:06:56.96Z]: eth0: renamed", AT, "", "kernel", b"eth0: renamed"),
        (b"kern: warning: [2026-02-09T03:06:56.96Z]: a", AT, "", "kernel", b"a"),
        (b"user: warning: [2026-02-09T03:06:56.96Z]: [talos] b", AT, "", "machined", b"[talos] b"),
        (b"daemon:    info: [2026-02-09T03:06:56.96Z]: c", AT, "", "", b"c"),
        (b"local0:     err: [2026-02-09T03:06:56.96Z]: d", AT, "", "", b"d"),
        (b"10.5.0.3: kern:    info: [2026-02-09T03:06:56.96Z]: e", AT, "10.5.0.3", "kernel", b"e"),
        (b"worker-1: kern:     err: [2026-02-09T03:06:56.96Z]: f", AT, "worker-1", "kernel", b"f"),
        (b" user: warning: [2026-02-09T03:06:56.96Z]: [talos] h", AT, "", "machined", b"[talos] h"),
        (b"kind:    info: [2026-02-09T03:06:56.96Z]: g", None, "", "", b"kind:    info: [2026-02-09T03:06:56.96Z]: g"),
        (b"kern: info: nothing", None, "", "", b"kern: info: nothing"),
    ],
)
def test_the_ring_as_talos_prints_it(line, stamp, node, ident, words):
    """Facility, priority and date are a carrier; what the facility kern says is the kernel's."""
    peeled = peel(line)
    assert (peeled.stamp, peeled.node, peeled.ident, peeled.body) == (stamp, node, ident, words)


AUDITED = from_datetime(datetime(2022, 10, 10, 16, 56, 13, 105000, tzinfo=UTC))


@pytest.mark.parametrize(
    ("line", "stamp", "node", "ident", "words"),
    [
        (
            b"type=AVC msg=audit(1665420973.105:11631): avc:  denied  { a }",
            AUDITED,
            "",
            "audit",
            b"avc:  denied  { a }",
        ),
        (b"node=worker-1 type=SECCOMP msg=audit(1665420973.105:7): auid=1", AUDITED, "worker-1", "audit", b"auid=1"),
        (
            b"type=EXECVE msg=audit(1665420973.105:7): argc=1",
            None,
            "",
            "",
            b"type=EXECVE msg=audit(1665420973.105:7): argc=1",
        ),
        (b"type=AVC avc:  denied  { a }", None, "", "", b"type=AVC avc:  denied  { a }"),
    ],
)
def test_the_log_of_auditd(line, stamp, node, ident, words):
    """A record of the kernel in the log of auditd has its time; what programs do stays as it is, to be redacted."""
    peeled = peel(line)
    assert (peeled.stamp, peeled.node, peeled.ident, peeled.body) == (stamp, node, ident, words)


@pytest.mark.parametrize(
    ("line", "stamp", "ident", "words"),
    [
        (b"kern  :warn  : 2026-02-09T03:06:56,960000+00:00 a", AT, "kernel", b"a"),
        (b"daemon:info  : 2026-02-09T04:06:56,960000+01:00 a", AT, "", b"a"),
        (b"kern  :err   : [Mon Feb  9 03:06:56 2026] a", syslog_minute(b"Feb  9 03:06") + 56 * SECOND, "kernel", b"a"),
        (b"2026-02-09T03:06:56,960000+00:00 a", AT, "kernel", b"a"),
        (b"6,3964,206764307,-;a", 206764307, "kernel", b"a"),
        (b"30,3965,206764309,-;systemd[1]: a", None, "systemd", b"a"),
        (b"kern  :warn  : a", None, "", b"kern  :warn  : a"),
    ],
)
def test_times_that_are_no_uptimes(line, stamp, ident, words):
    """Dmesg writes dates as --time-format says, with a comma in ISO 8601; /dev/kmsg has records of its own."""
    peeled = peel(line)
    assert (peeled.stamp, peeled.ident, peeled.body) == (stamp, ident, words)


def test_seconds_since_the_line_above():
    """Each line is as much later as it tells, and no later than its minute; above the first minute there is no time."""
    lines, minutes = HUMAN.encode().splitlines(), Minutes()
    seconds = [
        None if stamp is None else (stamp - FRAME) / 1_000_000 for stamp in (minutes.stamp(lines, n) for n in range(8))
    ]
    assert seconds == [None, None, 0.026711, None, 1.526711, 59.426711, 59.999999, None]
    assert Minutes().stamp(lines, 5) == minutes.stamp(lines, 5)


def test_a_record_has_the_time_of_its_line():
    """`kvdiag parse` gives the same sums."""
    read = source_records(TextInput("dmesg", HUMAN.encode()), [].append, LogClocks(Options(paths=(), year=2025)))
    told = [record.time and f"{record.time:%Y %H:%M:%S.%f}" for record in read]
    assert told[:3] == [None, "2025 20:11:00.000000", "2025 20:11:00.026711"]
    assert told[-1] == "2025 20:13:00.000000"
