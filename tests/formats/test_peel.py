"""Carriers in front of log lines."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import SECOND, from_datetime
from kvdiag.formats.carriers.peel import Peeled, chatter, peel
from kvdiag.formats.timestamps import syslog_minute

KLOG = b'I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD" source="api"'
LOGRUS = b'time="2024-07-15T03:49:34.123456789Z" level=info msg=serving...'
AT = from_datetime(datetime(2024, 7, 15, 3, 49, 34, tzinfo=UTC))
FRAME = from_datetime(datetime(2000, 7, 15, 3, 49, 34, tzinfo=UTC))


@pytest.mark.parametrize(
    "line",
    [KLOG, LOGRUS, b'{"ts":1721015373850.919,"msg":"x"}', b"just text: and more", b"2024/17/15 03:49:34 x", b""],
)
def test_a_line_without_carrier(line: bytes) -> None:
    """A line without a carrier is its own body, without its line end."""
    assert peel(line) == Peeled(line)
    assert peel(line + b"\r\n") == Peeled(line)


@pytest.mark.parametrize(
    ("prefix", "stamp", "node", "ident", "pid", "carrier"),
    [
        (b"Jul 15 03:49:34 node-1 kubelet[1432]: ", FRAME, "node-1", "kubelet", 1432, "journal-short"),
        (b"Jul 15 03:49:34.256007 node-1 kubelet[1432]: ", FRAME + 256007, "node-1", "kubelet", 1432, "journal-short"),
        (b"Jul 15 03:49:34 kubelet[1432]: ", FRAME, "", "kubelet", 1432, "journal-short"),
        (b"Jul 15 03:49:34  containerd[7]: ", FRAME, "", "containerd", 7, "journal-short"),
        (b"Jul 15 03:49:34 node-1 kubelet: ", FRAME, "node-1", "kubelet", None, "journal-short"),
        (
            b"Jul 15 03:49:34 node-1 microk8s.daemon-kubelite[9]: ",
            FRAME,
            "node-1",
            "microk8s.daemon-kubelite",
            9,
            "journal-short",
        ),
        (b"Jul 15 03:49:34 node-1 kubelet.service[9]: ", FRAME, "node-1", "kubelet", 9, "journal-short"),
        (b"Jul 15 03:49:34 node-1 /usr/bin/kubelet[9]: ", FRAME, "node-1", "kubelet", 9, "journal-short"),
        (b"Jul 15 03:49:34 fd00::1 kubelet[9]: ", FRAME, "fd00::1", "kubelet", 9, "journal-short"),
        ("7月 15 03:49:34 node-1 kubelet[9]: ".encode(), FRAME, "node-1", "kubelet", 9, "journal-short"),
        (b"2024/07/15 03:49:34 ", AT, "", "", None, "timestamps"),
        (b"2024/07/15 03:49:34.250000 ", AT + 250000, "", "", None, "timestamps"),
        (b"2024-07-15T03:49:34+0000 node-1 kubelet[9]: ", AT, "node-1", "kubelet", 9, "journal-iso"),
        (b"2024-07-15T05:49:34.25+02:00 node-1 kubelet[9]: ", AT + 250000, "node-1", "kubelet", 9, "journal-iso"),
        (b"Mon 2024-07-15 03:49:34 UTC node-1 kubelet[9]: ", AT, "node-1", "kubelet", 9, "journal-full"),
        (b"Mon 2024-07-15 05:49:34 CEST node-1 kubelet.service[9]: ", AT, "node-1", "kubelet", 9, "journal-full"),
        (b"[  759.689531] node-1 kubelet[9]: ", None, "node-1", "kubelet", 9, "journal-monotonic"),
        (b"[  759.892075 <    0.202544 >] node-1 kubelet[9]: ", None, "node-1", "kubelet", 9, "journal-monotonic"),
        (b"1721015374.256007 node-1 kubelet[9]: ", AT + 256007, "node-1", "kubelet", 9, "journal-unix"),
        (b"2024-07-15T03:49:34.000000+00:00 node-1 kubelet 9 - -  ", AT, "node-1", "kubelet", 9, "syslog-5424"),
        (b"<30>1 2024-07-15T03:49:34+00:00 node-1 kubelet 9 - - ", AT, "node-1", "kubelet", 9, "syslog-5424"),
        (b"2024-07-15T03:49:34.000000000Z stderr F ", AT, "", "", None, "cri"),
        (b"2024-07-15T05:49:34.1+02:00 stdout F ", AT + 100000, "", "", None, "cri"),
        (b"2024-07-15T03:49:34Z ", AT, "", "", None, "timestamps"),
        (b"DEFAULT 2024-07-15T03:49:34Z ", AT, "", "", None, "timestamps"),
        (b"2024-07-15T03:49:34Z - kubelet ", AT, "", "kubelet", None, "timestamps"),
        (b"[pod/csi-0/driver] ", None, "", "driver", None, "pod-prefix"),
        (b"kube-system/csi-0[driver]: ", None, "", "driver", None, "pod-prefix"),
        (b"[csi-attacher-0] ", None, "", "csi-attacher-0", None, "word"),
        (b"??? ", None, "", "", None, "word"),
        (b"kubelet ", None, "", "kubelet", None, "word"),
        (b"csi-0 driver ", None, "", "driver", None, "pod-prefix"),
        (b"kubelet[9]: ", None, "", "kubelet", 9, "named"),
        (b"node-1 kubelet[9]: ", None, "node-1", "kubelet", 9, "named"),
        (b"10.0.0.7: ", None, "10.0.0.7", "", None, "named"),
        (b"4582: ", None, "", "", None, "plain"),
        (b"4582:", None, "", "", None, "plain"),
        (b"    ", None, "", "", None, "plain"),
        (b"12 Jul 15 03:49:34 node-1 kubelet[9]: ", FRAME, "node-1", "kubelet", 9, "journal-short"),
    ],
)
def test_prefixes(prefix: bytes, stamp: int | None, node: str, ident: str, pid: int | None, carrier: str) -> None:
    """Every carrier made of words is taken off, and what it tells is kept."""
    found = peel(prefix + KLOG)
    assert found._replace(stream="") == Peeled(KLOG, stamp, node, ident, pid, carrier)


def test_carriers_nest() -> None:
    """The outermost time with a year wins over an inner one without, the inner sender is kept."""
    found = peel(b"2024-07-15T03:49:34Z stderr F Jul 15 03:49:33 node-1 kubelet[9]: " + KLOG)
    assert found == Peeled(KLOG, AT, "node-1", "kubelet", 9, "cri", partial=False, stream="stderr")
    found = peel(b"Jul 15 03:49:33 node-1 kubelet[9]: 2024-07-15T03:49:34Z stderr F " + KLOG)
    assert (found.stamp, found.carrier) == (AT, "journal-short")


def test_at_most_five_carriers() -> None:
    """A line that is all carriers comes to an end."""
    assert peel(b"2024-07-15T03:49:34Z " * 8 + KLOG).body.startswith(b"2024")


def test_text_under_a_sender() -> None:
    """What a program or the kernel says without a header is the body."""
    assert peel(b"Jul 15 03:49:34 n systemd[1]: Started kubelet.").body == b"Started kubelet."
    assert peel(b"Jul 15 03:49:34 n kernel: [    1.5] x").ident == "kernel"
    assert peel(b"Jul 15 03:49:34 kubelet[9]: foo: bar").body == b"foo: bar"


UP = 337_533_314_332


@pytest.mark.parametrize(
    ("line", "stamp"),
    [
        (b"[337533.314332] oom-kill: x", UP),
        (b"[    1.000007] oom-kill: x", 1_000_007),
        (b"[337533.314332][    T1] oom-kill: x", UP),
        (b"kern  :err   : [337533.314332] oom-kill: x", UP),
        (b"err [337533.314332] oom-kill: x", UP),
        (b"[Sat Apr 27 22:56:09 2019] oom-kill: x", syslog_minute(b"Apr 27 22:56") + 9 * SECOND),
        (b"[Sat Apr  7 22:56:09 2019] oom-kill: x", syslog_minute(b"Apr  7 22:56") + 9 * SECOND),
        (b"[Apr27 22:56] oom-kill: x", syslog_minute(b"Apr 27 22:56")),
        (b"[  +0.125642] oom-kill: x", None),
        (b"[Mo Jun  3 05:16:06 2024] oom-kill: x", syslog_minute(b"Jun  3 05:16") + 6 * SECOND),
        ("[lun. févr. 5 05:16:06 2024] oom-kill: x".encode(), syslog_minute(b"Feb  5 05:16") + 6 * SECOND),
        ("[一 6月  3 05:16:06 2024] oom-kill: x".encode(), syslog_minute(b"Jun  3 05:16") + 6 * SECOND),
        (b"[Sat Apr 27 22:56:09 2019] [  T129] oom-kill: x", syslog_minute(b"Apr 27 22:56") + 9 * SECOND),
        (b"[Apr27 22:56] [    C3] oom-kill: x", syslog_minute(b"Apr 27 22:56")),
        (b"[  +0.125642] [T88870] oom-kill: x", None),
    ],
)
def test_dmesg(line: bytes, stamp: int | None) -> None:
    """Every way in which dmesg writes a time: since boot, as a date, in minutes and by how much later."""
    assert peel(line)._replace(carrier="dmesg") == Peeled(b"oom-kill: x", stamp, ident="kernel", carrier="dmesg")


def test_a_day_behind_one_blank():
    """A web page makes one blank of two, also of those in front of a day of one digit."""
    peeled = peel(b"Jul 5 03:49:34 node-1 kubelet: x")
    assert (peeled.body, peeled.stamp, peeled.ident) == (b"x", syslog_minute(b"Jul  5 03:49") + 34 * SECOND, "kubelet")


def test_the_kernels_own_time_is_the_least() -> None:
    """The time since boot behind a date of syslog or of the journal does not count."""
    at = syslog_minute(b"Jul 15 03:49") + 34 * SECOND
    assert peel(b"Jul 15 03:49:34 n kernel: [337533.314332] oom-kill: x").stamp == at
    assert peel(b"2024-07-15T03:49:34Z n kernel: [337533.314332] oom-kill: x").stamp == AT
    assert peel(b"[  759.689531] n kernel: oom-kill: x").stamp == 759_689_531
    assert peel(b"[  759.689531] n kubelet[1432]: " + KLOG).stamp is None


@pytest.mark.parametrize("line", [KLOG, LOGRUS, b"WARN[0003] it failed", b"INFO[2024-07-15T03:49:34Z] it starts"])
def test_an_indented_log(line: bytes) -> None:
    """A log that was pasted as a block has blanks before each line."""
    assert peel(b"    " + line) == Peeled(line)


@pytest.mark.parametrize("line", [b"2024-07-15T03:49:34Z Error: foo", b"2024-07-15T03:49:34Z some word: foo"])
def test_words_after_a_date_are_no_sender(line: bytes) -> None:
    """After a full date a word with a colon is only a program when it is known as one."""
    assert peel(line).ident == ""


def test_partial_cri_lines() -> None:
    """CRI's P marks a line that goes on."""
    found = peel(b"2024-07-15T03:49:34Z stdout P half")
    assert (found.body, found.partial, found.stream) == (b"half", True, "stdout")
    assert not peel(b"2024-07-15T03:49:34Z stdout F whole").partial


def journal(**fields: object) -> bytes:
    """An entry as journalctl -o json prints it."""
    entry = {"__REALTIME_TIMESTAMP": str(AT), "_HOSTNAME": "node-1", "SYSLOG_IDENTIFIER": "kubelet", "_PID": "9"}
    return json.dumps(entry | fields).encode()


@pytest.mark.parametrize(
    ("message", "body"),
    [
        ("text", b"text"),
        ("ünï\n", "ünï".encode()),
        ([73, 27, 91, 51], b"I\x1b[3"),
        (["first", "second"], b"first"),
        (None, b""),
        ([], b""),
        (5, b""),
    ],
)
@pytest.mark.parametrize("lead", [b"", b"data: ", b"\x1e"])
def test_journal_json(message: object, body: bytes, lead: bytes) -> None:
    """MESSAGE may be text, bytes, repeated or missing, and the object may be led by SSE or RS."""
    assert peel(lead + journal(MESSAGE=message)) == Peeled(body, AT, "node-1", "kubelet", 9, "journal-json")


def test_journal_json_with_odd_fields() -> None:
    """Without identifier the command's name stands in; a bad number is left out."""
    found = peel(journal(MESSAGE="x", SYSLOG_IDENTIFIER=None, _COMM=["dockerd"], _PID="x", __REALTIME_TIMESTAMP=5))
    assert (found.ident, found.pid, found.stamp) == ("dockerd", None, None)
    assert peel(journal(MESSAGE="x", _PID="1" * 5000)).pid is None


def test_docker_json() -> None:
    """The json-file of docker carries text, time and stream; without a line end the line goes on."""
    line = b'{"log":"' + KLOG.replace(b'"', b'\\"') + b'\\n","stream":"stderr","time":"2024-07-15T03:49:34Z"}'
    assert peel(line) == Peeled(KLOG, AT, carrier="docker-json", stream="stderr")
    assert peel(b'{"log":"half","stream":"stdout","time":"2024-07-15T03:49:34Z"}').partial


def test_json_log_lines_are_no_carriers() -> None:
    """A JSON log line is a body, and a damaged envelope stays as it is."""
    for line in (b'{"level":"info","msg":"x"}', b'{"log":"cut', b'{"MESSAGE":"cut', b"{}"):
        assert peel(line).body == line


def test_colours_are_taken_off() -> None:
    """A line that begins with a colour is read without any."""
    assert peel(b"\x1b[36mINFO\x1b[0m[0001] x").body == b"INFO[0001] x"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b"-- Logs begin at Mon 2024-07-15 03:49:34 UTC. --", "begin"),
        (b"-- Journal begins at Mon 2024-07-15 03:49:34 UTC. --", "begin"),
        (b"-- Boot a1b2c3d4e5f60718293a4b5c6d7e8f90 --", "boot"),
        (b"-- Reboot --", "boot"),
        (b"-- No entries --", "no-entries"),
        (b"-- something else --", None),
        (KLOG, None),
    ],
)
def test_chatter_of_journalctl(line: bytes, name: str | None) -> None:
    """What journalctl says itself is told apart by name."""
    assert chatter(line) == name


PIECES = [
    b"Jul 15 03:49:34 ",
    b"2024-07-15T03:49:34Z ",
    b"stderr F ",
    b"node-1 ",
    b"kubelet[9]: ",
    b'{"log":"',
    b'{"MESSAGE":',
    b"[1.5] ",
    b"<30>",
    b"\x1b[31m",
    KLOG,
]


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=12), max_size=8).map(b"".join))
def test_any_bytes(line: bytes) -> None:
    """No input raises, and nothing is added to a line made of words."""
    assert len(peel(line).body) <= len(line) or b"{" in line
    chatter(line)


@pytest.mark.parametrize("piece", [b"a ", b"a: ", b"[", b"1", b"a[1]: ", b" ", b"Jul ", b"<1>", b"word", b"{"])
def test_long_hostile_lines_are_peeled_in_linear_time(piece: bytes) -> None:
    """Half a megabyte of one piece repeated comes back."""
    assert peel(piece * (500_000 // len(piece))).carrier
    assert peel(b"Jul 15 03:49:34 " + piece * (500_000 // len(piece))).carrier
