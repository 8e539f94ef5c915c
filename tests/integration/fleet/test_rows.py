"""The rows of an analysis: no secret is stored, and only events that other nodes may be judged with."""

from __future__ import annotations

import pytest

from kvdiag.fleet.rows import rows
from kvdiag.fleet.shared import SharedKinds
from kvdiag.fleet.values import Bundle
from kvdiag.model.event import Event, Ref
from kvdiag.model.record import Origin
from kvdiag.model.report import Report
from kvdiag.model.timeline import Entity, History, Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.safe.secrets import redacted
from tests.timelines import GivenTimelines

KINDS = SharedKinds(frozenset({"volume.publish.failed"}), frozenset({"node.ready"}))
VOLUME = (Ref("volume_handle", "vol-1"), Ref("driver", "d"))


def of_volume(*events: Event) -> list[dict]:
    """Give the stored rows of events, of which those that name a handle are of one volume."""
    subject = Entity(SubjectKind.VOLUME, "v", "v", {"volume_handle": "vol-1", "driver": "d"})
    named = tuple(event for event in events if event.ref("volume_handle"))
    timelines = {(SubjectKind.VOLUME, "v"): Timeline(subject, named)}
    history = History(events, GivenTimelines(timelines), (), (), 0, 0)
    return list(rows(Report("x", (), (), ()), history, Bundle("c", "n", "/n", ()), str, KINDS)["events"])


def event(kind: str, *refs: Ref, text: str = "") -> Event:
    """Give an event of kubelet."""
    return Event(0, kind, "kubelet", refs, {}, Origin("kubelet.log", 1), "n", (text.encode(),), 0)


def test_only_events_that_other_nodes_may_be_judged_with():
    """What a rule about volumes uses, what is about the node, and of the rest the first with its names."""
    pod = Ref("pod_uid", "2a0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01")
    told = of_volume(
        event("volume.publish.failed", *VOLUME, pod),
        event("volume.publish.failed", *VOLUME, pod),
        event("volume.publish.started", *VOLUME, pod),
        event("pod.pleg", pod),
        event("pod.pleg", pod),
        event("pod.pleg", Ref("pod_uid", "of another pod")),
        event("node.ready"),
    )
    assert [row["kind"] for row in told] == ["volume.publish.failed"] * 2 + ["pod.pleg", "node.ready"]


@pytest.mark.parametrize("name", ["login", "db-0", "web-7d9f8b6c5-x2x4z"])
@pytest.mark.parametrize(
    "line",
    [
        "docker {} -u joe -p Zx81kQ r.example.com",
        "docker login -u joe -p {} r.example.com",
        "ldapsearch -x -D cn=admin -{} Zx81kQ -b dc=x",
        'E0312 08:00:00.000000 1 x.go:1] "failed" password="{}" pod="shop/{}"',
        'E0312 08:00:00.000000 1 x.go:1] "failed" token="Zx81kQ9c0aLs" pod="shop/{}"',
        'I0312 08:00:00.000000 1 x.go:1] "MountVolume.SetUp succeeded" pod="shop/{}"',
    ],
)
def test_a_name_of_a_pod_hides_no_secret(name, line):
    """A line is stored as it is redacted alone, whatever its pod is called."""
    text = line.replace("{}", name)
    (row,) = of_volume(event("volume.publish.failed", *VOLUME, Ref("pod_name", name), text=text))
    assert row["text"] == redacted(text)
