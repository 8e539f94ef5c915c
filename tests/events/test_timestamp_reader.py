"""A layout that was learned gives the same time, words and process as reading a line in full."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import from_datetime, is_yearless, to_datetime
from kvdiag.events.timestamp_reader import MOST_LAYOUTS, TimestampReader, resolve
from kvdiag.formats.bodies.registry import read_body
from kvdiag.formats.carriers.peel import peel

SAMPLES = Path(__file__).parents[2] / "sample-logs"


def at(*parts):
    """Microseconds of a moment in UTC."""
    return from_datetime(datetime(*parts, tzinfo=UTC))


def in_full(line):
    """Give stamp, words and process of a line from a stamper that has learned nothing."""
    return TimestampReader().read(line)[:3]


def klog(time, pid=1432, day="0715"):
    """Give a klog line."""
    return f'I{day} {time} {pid:>7} kubelet.go:2168] "SyncLoop ADD" source="api" pods=["shop/web-0"]'.encode()


def journal(time, *, pid=1432, host="worker-1", day="Jul 15", inner=None):
    """Give the same in the journal."""
    return f"{day} {time[:8]} {host} kubelet[{pid}]: ".encode() + (inner or klog(time, pid))


def logrus(time):
    """Give a line of containerd."""
    return f'time="{time}" level=info msg="StopPodSandbox for \\"3f2a9c3f2a9c\\" returns successfully"'.encode()


@pytest.mark.parametrize(
    ("line", "stamp", "node", "ident", "pid"),
    [
        (klog("03:49:33.850919"), at(2000, 7, 15, 3, 49, 33, 850_919), "", "", 1432),
        (journal("03:49:33.850919"), at(2000, 7, 15, 3, 49, 33, 850_919), "worker-1", "kubelet", 1432),
        (logrus("2024-07-15T03:49:34.060000123Z"), at(2024, 7, 15, 3, 49, 34, 60_000), "", "", None),
        (logrus("2024-07-15T11:49:34.06+08:00"), at(2024, 7, 15, 3, 49, 34, 60_000), "", "", None),
        (
            b"2024-07-15T03:49:33.9Z worker-1 kubelet[1432]: " + klog("03:49:33.850919"),
            at(2024, 7, 15, 3, 49, 33, 850_919),
            "worker-1",
            "kubelet",
            1432,
        ),
        (
            b"2024-07-15T11:49:33.9+08:00 worker-1 kubelet[1432]: " + klog("11:49:33.850919"),
            at(2024, 7, 15, 3, 49, 33, 850_919),
            "worker-1",
            "kubelet",
            1432,
        ),
        (
            b"2025-01-01T00:00:00.1Z worker-1 kubelet[1432]: " + klog("23:59:59.900000", day="1231"),
            at(2024, 12, 31, 23, 59, 59, 900_000),
            "worker-1",
            "kubelet",
            1432,
        ),
        (
            b"2024-12-31T23:59:59.9Z worker-1 kubelet[1432]: " + klog("00:00:00.100000", day="0101"),
            at(2025, 1, 1, 0, 0, 0, 100_000),
            "worker-1",
            "kubelet",
            1432,
        ),
        (b"no log at all", None, "", "", None),
    ],
)
def test_a_line_in_full(line, stamp, node, ident, pid):
    """Precision comes from the inner time, year and zone from the carrier when only it has them."""
    said = TimestampReader().read(line)
    assert (said.stamp, said.process.node, said.process.ident, said.process.pid) == (stamp, node, ident, pid)


@pytest.mark.parametrize(
    "lines",
    [
        [klog("03:49:33.850919"), klog("03:49:34.000001"), klog("03:50:34.000001"), klog("03:50:59.999999")],
        [klog("03:49:33.850919"), klog("03:49:33.850919", pid=99), klog("03:49:33.850919", pid=190330)],
        [klog("03:49:33.850919"), klog("03:49:33.850919", day="0716"), klog("03:49:33.850919")],
        [journal("03:49:33.850919"), journal("03:49:34.850919"), journal("03:49:34.850919", pid=20)],
        [journal("03:49:33.850919"), journal("03:49:33.850919", host="worker-22")],
        [journal("03:49:33.850919"), journal("03:49:33.850919", host="worker-2", pid=1433)],
        [journal("03:49:33.850919"), klog("03:49:33.850919"), journal("03:49:35.850919")],
        [logrus("2024-07-15T03:49:34.060000123Z"), logrus("2024-07-15T03:49:35.060000123Z")],
        [logrus("2024-07-15T03:49:34.060000123Z"), logrus("2024-07-15T03:49:34.06Z"), logrus("2024-07-15T03:49:34Z")],
        [
            logrus("2024-07-15T03:49:34.06+08:00"),
            logrus("2024-07-15T03:49:34.06Z"),
            logrus("2024-07-15T03:49:34.06-03:30"),
        ],
        [
            logrus("2024-07-15T03:49:34.06Z"),
            klog("03:49:34.850919"),
            logrus("2024-07-15T03:49:35.06Z"),
            klog("03:49:35.850919"),
        ],
        [
            journal("23:59:59.900000", day="Dec 31", inner=klog("23:59:59.900000", day="1231")),
            journal("00:00:00.100000", day="Jan  1", inner=klog("23:59:59.950000", day="1231")),
        ],
        [klog("03:49:33.850919"), klog("03:49:33.850919")[:20], klog("03:49:34.850919")],
        [klog("03:49:33.850919"), klog("03:49:3x.850919"), klog("03:49:33,850919"), klog("03:49:34.850919")],
        [
            logrus("2024-07-15T03:49:34.06Z"),
            logrus("2024-07-15T03:49:3"),
            b'time="2024-07-15T03:49',
            logrus("2024-07-15T03:49:34.x6Z"),
        ],
        [klog("03:49:33.850919", pid=pid) for pid in (*range(1000, 1000 + 2 * MOST_LAYOUTS), 1000, 1001)],
        [b"", b"x", klog("03:49:33.850919"), b"", b"x"],
    ],
)
def test_lines_one_after_the_other(lines):
    """Whatever came before, a line is read as if it were the first: process, host, zone or format may change at any line."""
    stamper = TimestampReader()
    for line in [*lines, *lines]:
        assert stamper.read(line)[:3] == in_full(line), line


def test_two_hosts_whose_processes_have_one_pid():
    """Journals of two nodes in one file are told apart by the host of each line."""
    stamper = TimestampReader()
    lines = [journal("03:49:33.850919"), journal("03:49:33.850919", host="worker-2")]
    assert [stamper.read(line).process.node for line in lines] == ["worker-1", "worker-2"]


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*/*.log*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_sample_logs(path):
    """Every line of the sample logs gives the same through a learned layout as in full."""
    stamper = TimestampReader()
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate((line.rstrip(b"\n") for line in islice(file, 3000)), 1):
            assert stamper.read(line)[:3] == in_full(line), number


times = st.builds(
    "{:02}:{:02}:{:02}.{:06}".format,
    st.integers(0, 23),
    st.integers(0, 59),
    st.integers(0, 59),
    st.integers(0, 999_999),
)
pids = st.sampled_from([1, 77, 1432, 1433, 190330, 9_999_999])
zones = st.sampled_from(["Z", "+08:00", "-03:30"])
lines = st.one_of(
    st.builds(klog, times, pids, st.sampled_from(["0715", "1231", "0101", "0229"])),
    st.builds(lambda time, pid: journal(time, pid=pid), times, pids),
    st.builds(
        lambda time, zone, digits: logrus(f"2024-07-15T{time[: 9 + digits]}{zone}"), times, zones, st.integers(1, 6)
    ),
    st.builds(lambda time, pid: b"2024-07-15T" + time.encode() + b"Z stderr F " + klog(time, pid), times, pids),
    st.builds(lambda time, cut: klog(time)[:cut], times, st.integers(0, 28) | st.integers(46, 60)),
)


@given(st.lists(lines, max_size=30))
def test_generated_lines(some):
    """However lines of all layouts are mixed, the fast reading and the full one agree."""
    stamper = TimestampReader()
    for line in some:
        assert stamper.read(line)[:3] == in_full(line), line


def test_klog_without_a_year_is_known_as_such():
    """A source has year-less lines when klog's time stands alone, and not when the carrier says the year."""
    for line, yearless in (
        (klog("03:49:33.850919"), True),
        (logrus("2024-07-15T03:49:34Z"), False),
        (b"2024-07-15T03:49:34Z stderr F " + klog("03:49:33.850919"), False),
    ):
        stamper = TimestampReader()
        stamper.read(line)
        assert (stamper.first_yearless is not None) is yearless


@pytest.mark.parametrize(
    ("outer", "inner", "resolved"),
    [
        ("2024-07-15T03:49:34Z", "0715 03:49:33.850919", at(2024, 7, 15, 3, 49, 33, 850_919)),
        ("2024-07-15T03:49:34Z", "0715 11:49:33.850919", at(2024, 7, 15, 3, 49, 33, 850_919)),
        ("2024-07-15T20:49:34Z", "0716 04:49:33.850919", at(2024, 7, 15, 20, 49, 33, 850_919)),
        ("2024-07-15T03:49:34Z", "0715 00:19:33.850919", at(2024, 7, 15, 3, 49, 33, 850_919)),
        ("2024-01-01T00:00:00Z", "1231 23:59:59.000000", at(2023, 12, 31, 23, 59, 59)),
    ],
)
def test_the_carrier_gives_year_and_zone(outer, inner, resolved):
    """The inner time is taken to the carrier's by whole years and quarter hours, and keeps its microseconds."""
    day, time = inner.split()
    peeled = peel(f"{outer} stderr F ".encode() + klog(time, day=day))
    assert resolve(peeled, read_body(peeled.body)) == resolved


def test_a_time_that_no_carrier_knows():
    """Without a year anywhere the time stays year-less."""
    peeled = peel(klog("03:49:33.850919"))
    stamp = resolve(peeled, read_body(peeled.body))
    assert is_yearless(stamp)
    assert to_datetime(stamp).month == 7


def test_a_time_that_the_runtime_wins_over_is_read_in_full_each_time():
    """A container prints a time months before the runtime's: no layout is learned from it, the fraction stays."""
    stamper = TimestampReader()
    line = b"2024-07-15T03:49:34.027371866Z stderr F " + logrus("2024-01-12T03:49:35Z")
    assert [stamper.read(line).stamp for _ in range(3)] == [at(2024, 7, 15, 3, 49, 34, 27_371)] * 3
    assert stamper.front is None


def test_what_was_read_in_full_is_read_again_in_the_block_only():
    """An equal line of the block has the same values; those of the block before are forgotten."""
    stamper = TimestampReader()
    line = b'{"level":"error","msg":"it is stuck","time":"2024-07-15T03:49:34Z"}'
    timed = stamper.read(line)
    assert stamper.read_again(bytes(bytearray(line))) is timed
    stamper.begin()
    again = stamper.read_again(line)
    assert again == timed
    assert again is not timed
