"""What was listened to, how closely, and where something may have gone unheard."""

from __future__ import annotations

import pytest

from kvdiag.analysis.case import load_patterns, read_history
from kvdiag.base.clock import MINUTE, SECOND
from kvdiag.history.correlate.coverage import HOLE, SourceCoverage, coverages
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options

KUBELET = ("kubelet", "node-a")


def heard(begins, ends, *pids, verbosity=0):
    """Give what was heard in one source; `pids` as (pid, first, last), in seconds."""
    part = SourceCoverage(begins * SECOND, ends * SECOND, verbosity)
    for pid, first, last in pids:
        part.add(first * SECOND, last * SECOND, 0, pid)
    return part


def covered(*parts, suppressed=()):
    """Give the one coverage of kubelet on its node."""
    (coverage,) = coverages({KUBELET: list(parts)}, suppressed)
    return coverage


def gaps(coverage):
    """Give the gaps in seconds."""
    return [(gap.begins // SECOND, gap.ends // SECOND, gap.why) for gap in coverage.gaps]


def test_several_sources_of_one_component():
    """The sources of a component are one coverage, from the first line to the last, at the highest verbosity seen."""
    coverage = covered(heard(100, 200, verbosity=4), heard(0, 100, verbosity=2))
    assert (coverage.component, coverage.node) == KUBELET
    assert (coverage.begins, coverage.ends, coverage.verbosity, coverage.gaps) == (0, 200 * SECOND, 4, ())


def test_an_event_proves_its_verbosity_and_time():
    """What was said raises the verbosity, never lowers it, and widens the time."""
    part = heard(10, 20, verbosity=2)
    part.add(5 * SECOND, 6 * SECOND, 4, None)
    part.add(30 * SECOND, 31 * SECOND, 0, None)
    assert (part.begins, part.ends, part.verbosity) == (5 * SECOND, 31 * SECOND, 4)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([heard(0, 100), heard(100 + HOLE // SECOND, 2000)], []),
        ([heard(0, 100), heard(800, 2000)], [(100, 800, "no kubelet log for 11m40s")]),
        ([heard(800, 2000), heard(0, 100)], [(100, 800, "no kubelet log for 11m40s")]),
        ([heard(0, 1000), heard(10, 20), heard(1100, 1200)], []),
        (
            [heard(0, 10), heard(5000, 5001), heard(9000, 9001)],
            [(10, 5000, "no kubelet log for 1h23m"), (5001, 9000, "no kubelet log for 1h6m")],
        ),
    ],
)
def test_holes_between_sources(parts, told):
    """Where no source of a component reaches, nothing was heard; rotated files touch and leave no hole."""
    assert gaps(covered(*parts)) == told


RESTARTED = "kubelet was restarted"


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([heard(0, 99, (1, 0, 50), (2, 60, 99))], [(50, 60, RESTARTED)]),
        ([heard(0, 99, (2, 60, 99), (1, 0, 50))], [(50, 60, RESTARTED)]),
        ([heard(0, 99, (1, 0, 50), (2, 30, 99))], []),
        ([heard(0, 99, (1, 0, 10), (2, 20, 30), (1, 40, 50))], []),
        ([heard(0, 50, (1, 0, 50)), heard(50, 99, (1, 50, 99))], []),
        ([heard(0, 50, (1, 0, 50)), heard(50, 99, (2, 60, 99))], [(50, 60, RESTARTED)]),
        ([heard(0, 99, (1, 0, 10), (2, 20, 30), (3, 40, 50))], [(10, 20, RESTARTED), (30, 40, RESTARTED)]),
        ([heard(0, 99, (None, 0, 10), (None, 20, 30))], []),
    ],
)
def test_restarts(parts, told):
    """Another process that begins when the one before has ended is a restart; two that take turns are two processes."""
    assert gaps(covered(*parts)) == told


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([heard(0, 100, (7, 0, 100))], [(40, 50, "kubelet was restarted")]),
        ([heard(0, 100, (7, 0, 40), (8, 49, 100))], [(40, 49, "kubelet was restarted")]),
    ],
)
def test_a_start_that_was_told(parts, told):
    """A process that says that it starts is a restart, also under the PID of the one before; it counts once."""
    (coverage,) = coverages({KUBELET: parts}, (), {KUBELET: [(40 * SECOND, 50 * SECOND)]})
    assert gaps(coverage) == told


def test_what_the_journal_swallowed():
    """Lines that journald suppressed are a gap of half a minute for every component of that node."""
    suppressed = [("node-a", 100 * SECOND, "journald suppressed 7 lines"), ("node-b", 50 * SECOND, "other")]
    both = {KUBELET: [heard(0, 200)], ("containerd", "node-a"): [heard(0, 200)], ("kubelet", "node-c"): [heard(0, 200)]}
    told = {(c.component, c.node): gaps(c) for c in coverages(both, suppressed)}
    assert told == {
        KUBELET: [(70, 100, "journald suppressed 7 lines")],
        ("containerd", "node-a"): [(70, 100, "journald suppressed 7 lines")],
        ("kubelet", "node-c"): [],
    }


def test_gaps_come_in_order():
    """Gaps of all kinds stand in order of time."""
    parts = [heard(0, 100, (1, 0, 50), (2, 60, 100)), heard(100 + 20 * MINUTE // SECOND, 2000)]
    coverage = covered(*parts, suppressed=[("node-a", 30 * SECOND, "quiet")])
    assert [why for _, _, why in gaps(coverage)] == ["quiet", RESTARTED, "no kubelet log for 20m"]


def test_nothing_heard():
    """Who never spoke has no coverage."""
    assert list(coverages({}, [])) == []


LOG = (
    b'I0312 08:10:01.000000    2201 operation_generator.go:664] "MountVolume.MountDevice succeeded for volume \\"pvc-77aa11cc-0b1d-4f5e-8c9a-2d3e4f5a6b7c\\" (UniqueName: \\"kubernetes.io/csi/csi.example.org^vol-0a1b2c3d4e5f\\") pod \\"web-0\\" (UID: \\"1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01\\") device mount path \\"/var/lib/kubelet/plugins/kubernetes.io/csi/csi.example.org/5f6e/globalmount\\"" pod="shop/web-0"\n'
    b"{}"
    b'I0312 08:16:20.000000    2201 kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/other"]\n'
)


@pytest.mark.parametrize(
    ("between", "told"),
    [
        (b"I0312 08:12:00.000000    2201 kubelet.go:1] fine\n", []),
        ("I0312 08:12:00.000000    2201 kubelet.go:1] größer\n".encode(), []),
        (b"I0312 08:12:00.000000    2201 kub\xe6let.go:1] no\n", ["log: line 2 is unreadable,"]),
        (b"\xff\n" + b"x\n" * 100 + b"\xff\n", ["log: lines 2 to 103 are partly unreadable,"]),
        (b"\xff\n" + b"x\n" * 500 + b"\xff\n", ["log: line 2 is unreadable,", "log: line 503 is unreadable,"]),
    ],
)
def test_lines_that_are_not_legible_are_a_gap(between, told):
    """Between the events around them anything may have been said; so between two that are close together."""
    history = read_history(
        [TextInput("log", LOG.replace(b"{}", between))], load_patterns(Options()), Options(year=2026)
    ).history
    (kubelet,) = [coverage for coverage in history.coverage if coverage.component == "kubelet"]
    assert [gap.why for gap in kubelet.gaps] == told
    assert all((gap.ends - gap.begins) // SECOND == 379 for gap in kubelet.gaps)


def test_a_log_of_which_nothing_is_legible():
    """It covers nothing, and breaks nothing."""
    assert (
        read_history([TextInput("log", b"\xff\xfe\xfd x\n" * 5)], load_patterns(Options()), Options()).history.coverage
        == ()
    )
