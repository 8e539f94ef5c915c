"""An absence means something only where somebody watched; each reason for doubt is told."""

from __future__ import annotations

import pytest

from kvdiag.base.clock import MINUTE, SECOND, from_datetime, to_datetime
from kvdiag.model.timeline import Coverage, Gap, History
from kvdiag.model.vocabulary import Entry
from kvdiag.report.phrases import format_doubt
from kvdiag.rules.absence import Window, doubts
from tests.timelines import GivenTimelines

NOON = from_datetime(to_datetime(0).replace(year=2024, month=7, day=3, hour=12))
ENTRIES = {
    kind: Entry(kind=kind, component=component, wordings=(), verbosity=verbosity)
    for kind, component, verbosity in [
        ("volume.unstaged", "kubelet", 0),
        ("pod.worker", "kubelet", 4),
        ("csi.unstage", "csi-driver", 5),
        ("cri.stopped", "containerd", 0),
    ]
}


def watched(component="kubelet", begins=-60, ends=600, *, verbosity=4, gaps=(), node=""):
    """Give a coverage in seconds after noon."""
    return Coverage(
        component=component,
        node=node,
        begins=NOON + begins * SECOND,
        ends=NOON + ends * SECOND,
        verbosity=verbosity,
        gaps=tuple(Gap(NOON + b * SECOND, NOON + e * SECOND, why) for b, e, why in gaps),
    )


def why(kinds, coverage, *, begins=0, ends=10, open_ended=False, node=""):
    """Give the doubts about the absence of kinds in a window of seconds after noon."""
    history = History(
        events=(), timelines=GivenTimelines(), coverage=tuple(coverage), versions=(), begins=NOON, ends=NOON
    )
    window = Window(NOON + begins * SECOND, NOON + ends * SECOND, open_ended)
    return tuple(map(format_doubt, doubts(kinds, window, node, history, ENTRIES)))


RESTART = (2, 3, "kubelet was restarted")
QUIET = (8, 38, "journald suppressed 12 lines")


@pytest.mark.parametrize(
    ("kind", "coverage", "window", "told"),
    [
        ("volume.unstaged", watched(), {}, ()),
        ("volume.unstaged", watched(verbosity=0), {}, ()),
        ("pod.worker", watched(verbosity=4), {}, ()),
        ("pod.worker", watched(verbosity=2), {}, ("needs -v=4: the kubelet log has no line above -v=2",)),
        ("volume.unstaged", watched(begins=0, ends=10), {}, ()),
        (
            "volume.unstaged",
            watched(begins=5),
            {},
            ("the kubelet log begins at 2024-07-03 12:00:05, after 2024-07-03 12:00:00",),
        ),
        (
            "volume.unstaged",
            watched(ends=9),
            {},
            ("the kubelet log ends at 2024-07-03 12:00:09, before 2024-07-03 12:00:10",),
        ),
        ("volume.unstaged", watched(ends=30), {"open_ended": True}, ()),
        (
            "volume.unstaged",
            watched(ends=29),
            {"open_ended": True},
            ("the kubelet log ends 29s after 2024-07-03 12:00:00",),
        ),
        (
            "volume.unstaged",
            watched(ends=-9),
            {"open_ended": True},
            ("the kubelet log ends there, at 2024-07-03 12:00:00",),
        ),
        ("volume.unstaged", watched(gaps=[RESTART]), {}, ("kubelet was restarted at 2024-07-03 12:00:02",)),
        ("volume.unstaged", watched(gaps=[RESTART]), {"begins": 3}, ()),
        ("volume.unstaged", watched(gaps=[RESTART]), {"ends": 2}, ()),
        (
            "pod.worker",
            watched(verbosity=0, gaps=[RESTART, QUIET]),
            {},
            (
                "needs -v=4: the kubelet log has no line above -v=0",
                "kubelet was restarted at 2024-07-03 12:00:02",
                "journald suppressed 12 lines at 2024-07-03 12:00:08",
            ),
        ),
        ("csi.unstage", watched(), {}, ("no full csi-driver log covers 2024-07-03 12:00:00",)),
    ],
)
def test_reasons_for_doubt(kind, coverage, window, told):
    """Too low a verbosity, a log that begins too late or ends too soon, and a gap are each told with their times."""
    assert why([kind], [coverage], **window) == told


@pytest.mark.parametrize(
    ("coverage", "told"),
    [
        ([watched("kubelet"), watched("csi-driver", verbosity=5)], ()),
        ([watched("csi-driver", verbosity=5)], ()),
        ([watched("kubelet")], ()),
        ([watched("kubelet", gaps=[RESTART]), watched("csi-driver", verbosity=5)], ()),
        ([watched("kubelet"), watched("csi-driver", verbosity=0)], ()),
        ([watched("kubelet", gaps=[RESTART])], ("kubelet was restarted at 2024-07-03 12:00:02",)),
        (
            [watched("kubelet", gaps=[RESTART]), watched("csi-driver", verbosity=0, ends=1)],
            ("kubelet was restarted at 2024-07-03 12:00:02",),
        ),
        ([], ("no full kubelet log covers 2024-07-03 12:00:00",)),
    ],
)
def test_any_complete_witness_is_enough(coverage, told):
    """Of several components that would have said so one suffices; else the one with the fewest reasons is told."""
    assert why(["volume.unstaged", "csi.unstage"], coverage) == told


@pytest.mark.parametrize(("node", "certain"), [("node-a", True), ("node-b", False), ("", True)])
def test_only_the_log_of_the_node_is_a_witness(node, certain):
    """A log of another node shows nothing; one that names no node may be any node's."""
    assert (why(["volume.unstaged"], [watched(node="node-a")], node=node) == ()) is certain
    assert why(["volume.unstaged"], [watched()], node=node) == ()


def test_of_two_logs_of_one_component_the_better_counts():
    """A complete log beside a broken one is a witness."""
    assert why(["volume.unstaged"], [watched(begins=5, node="node-a"), watched()], node="node-a") == ()


def test_a_kind_nobody_knows_needs_no_witness():
    """A kind that is in no vocabulary is never seen, and lint says so; it is no doubt."""
    assert why(["no.such"], [watched()]) == ()


def test_the_window_of_a_minute():
    """A doubt stands only when the gap lies inside the window."""
    quiet = watched(gaps=[(-90, -60, "journald suppressed 5 lines")])
    assert why(["volume.unstaged"], [quiet], begins=-MINUTE // SECOND) == ()
    assert why(["volume.unstaged"], [quiet], begins=-61) != ()
