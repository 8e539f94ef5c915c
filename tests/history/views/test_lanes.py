"""The lanes of a history: which there are, how long a state lasts, what is left out where there is no room."""

from __future__ import annotations

from functools import cache

import pytest

from kvdiag.analysis.case import Case
from kvdiag.history.views.lanes import LANE, build_lanes
from kvdiag.model.options import Options
from kvdiag.model.timeline import History
from kvdiag.model.values import SubjectKind
from tests.conftest import SAMPLES


@cache
def history(name: str = "hostpath-driver-lost-state") -> History:
    """Give the history of a sample."""
    return Case(Options(paths=(str(SAMPLES / name),))).read().history


def test_each_subject_has_a_lane_and_each_runtime():
    """Every subject that the logs tell of is there, and what the runtime said, by node."""
    lanes = build_lanes(history()).lanes
    subjects = {(str(kind), key) for (kind, key), timeline in history().timelines.items() if timeline.events}
    assert {(lane.kind, lane.key) for lane in lanes} == subjects | {("runtime", "containerd")}
    assert [lane.node for lane in lanes] == sorted(lane.node for lane in lanes)


def test_states_follow_one_another():
    """A bar begins where the one before ends, and none shows that nothing is known yet."""
    for lane in build_lanes(history()).lanes:
        if lane.kind != "runtime":
            assert all(one.ends == other.begins for one, other in zip(lane.bars, lane.bars[1:], strict=False))
            assert "ABSENT" not in {bar.state for bar in lane.bars}


def test_what_is_left_lasts_to_the_end_of_the_logs():
    """A driver that serves does so until its logs end; a pod that is gone ends with its last event."""
    lanes = {lane.name: lane for lane in build_lanes(history()).lanes if lane.kind in {"driver", "pod"}}
    ends = max(one.ends for one in history().coverage if one.node == "worker-1")
    assert lanes["hostpath.csi.k8s.io"].bars[-1].ends == ends
    assert lanes["default/db-0"].bars[-1].ends == lanes["default/db-0"].marks[-1].event.ends < ends


@pytest.mark.parametrize("most", [0, 1, 40, 200])
def test_no_more_than_there_is_room_for(most):
    """Lanes, bars and marks are no more than were asked for; what is left out is counted."""
    every, some = build_lanes(history()), build_lanes(history(), most=most)
    assert sum(LANE + len(lane.bars) + len(lane.marks) for lane in some.lanes) <= most
    assert len(some.lanes) + some.unlisted == len(every.lanes)
    assert some.unlisted or some.cut


def test_what_matters_comes_first():
    """The subject of a finding has its lane however little room there is."""
    key = next(key for key in history().timelines if key[0] is SubjectKind.CONTAINER)
    lanes = build_lanes(history(), {key}, most=80).lanes
    assert key[1] in {lane.key for lane in lanes}


def test_one_node():
    """Of one node its lanes are shown, and those of no node."""
    assert {lane.node for lane in build_lanes(history(), node="worker-1").lanes} == {"worker-1"}


def test_some_subjects():
    """Lanes of a pod are its own and those of what it uses; its node and runtime tell of no other pod."""
    killed = history("containerd-killed")
    pod = next(key for key, one in killed.timelines.items() if one.subject.name == "default/p1")
    only = {pod, *killed.timelines.linked_to(pod)}
    every, some = build_lanes(killed), build_lanes(killed, only=only)
    assert {(lane.kind, lane.key) for lane in some.lanes if lane.kind not in {"node", "runtime"}} == {
        (str(kind), key) for kind, key in only
    }
    marks = [sum(len(lane.marks) for lane in lanes.lanes if lane.kind == "runtime") for lanes in (every, some)]
    others = {one.subject.ids.get("pod_uid") for one in killed.timelines.values()} - {pod[1], None}
    said = [mark.event for lane in some.lanes if lane.kind in {"node", "runtime"} for mark in lane.marks]
    assert 0 < marks[1] < marks[0]
    assert not [event for event in said if event.ref("pod_uid") in others]
