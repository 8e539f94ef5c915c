"""A volume that goes from node to node: who had it staged, and how far the nodes' clocks are apart."""

from __future__ import annotations

import pytest

from kvdiag.base.clock import MINUTE, SECOND
from kvdiag.history.correlate.handover import handovers
from kvdiag.history.correlate.skew import offset, skews
from kvdiag.model.event import Event, Ref
from kvdiag.model.record import Origin
from kvdiag.model.timeline import Skew

NOON = 1_720_008_000_000_000
KINDS = {
    "stage": "volume.stage.succeeded",
    "publish": "volume.publish.succeeded",
    "unpublish": "volume.unpublish.succeeded",
    "unstage": "volume.unstage.succeeded",
    "release": "volume.released",
    "verify": "volume.verify.succeeded",
    "detach": "volume.detach.started",
    "attach": "volume.attach.succeeded",
    "refuse": "volume.multi-attach",
    "force": "volume.detach.forced",
    "taint": "volume.detach.out-of-service",
    "ask": "csi.nodestage.succeeded",
}
CONTROLLER = {"detach", "attach", "refuse", "force", "taint"}


def events(text: str, driver: str = "", mode: str = "") -> list[Event]:
    """`a:stage@0 b:publish@5:pod2 a:detach@9`: node, what, second, and the pod where it is not `pod1`.

    What the controller says of a node comes from its own log, with no node as its speaker.
    """
    made = []
    for number, word in enumerate(text.split(), start=1):
        node, what, pod = (*word.split(":"), "pod1")[:3]
        step, _, second = what.partition("@")
        time = NOON + round(float(second) * SECOND)
        refs = (Ref("node", node),) if step in CONTROLLER else (Ref("pod_uid", pod),)
        speaker = "" if step in CONTROLLER else node
        refs += (Ref("driver", driver),) if driver else ()
        attrs = {"access_mode": mode} if mode and step == "ask" else {}
        made.append(Event(time, KINDS[step], "", refs, attrs, Origin("log", number), speaker, (b"",), time))
    return sorted(made, key=lambda event: event.time)


@pytest.mark.parametrize(
    ("told", "handed"),
    [
        ("a:stage@0 a:publish@1 a:unpublish@60 a:unstage@61 b:stage@90", ["clean a>b"]),
        ("a:stage@0 a:publish@1 a:unpublish@60 b:stage@90", ["overlap a>b", "left a>b"]),
        ("a:stage@0 a:publish@1 a:unpublish@60 b:stage@90 a:unstage@96", ["overlap a>b", "left a>b"]),
        ("a:stage@0 a:publish@1 a:unpublish@60 b:stage@90 a:unstage@94", []),
        ("a:stage@0 a:publish@1 a:unpublish@60 a:release@61 b:stage@90", ["clean a>b"]),
        ("a:stage@0 a:publish@1 b:stage@90", []),
        ("a:stage@0 a:publish@1 a:publish@2:pod2 a:unpublish@60 b:stage@90", []),
        ("a:stage@0 b:stage@90", []),
        ("a:stage@0 a:publish@0.5 a:unpublish@1 b:stage@1.9", []),
        ("a:stage@0 a:publish@1 a:unpublish@60 a:unstage@61 a:stage@90", []),
        ("a:stage@0 a:publish@1 a:unpublish@60 a:unstage@61 b:stage@90 c:stage@99", ["clean a>b"]),
        (
            "a:stage@0 a:publish@1 a:unpublish@2 a:unstage@3 b:stage@9 b:publish@10 b:unpublish@11 a:stage@20",
            ["clean a>b", "overlap b>a", "left b>a"],
        ),
    ],
)
def test_who_had_it(told: str, handed: list[str]) -> None:
    """A volume in use on both nodes is shared, one that is only left staged on the first overlaps."""
    found = handovers(events(told), {})
    kinds = [f"{e.kind.rpartition('.')[2]} {e.attrs['from_node']}>{e.attrs['to_node']}" for e in found]
    assert kinds == handed


LEFT = "a:stage@0 a:publish@1 a:unpublish@60 b:stage@90"
USED = "a:stage@0 a:publish@1 b:stage@90"
FORCED, TAINTED, REFUSED = (f"{USED} a:{step}@80" for step in ("force", "taint", "refuse"))
ASKED = "a:ask@0 a:publish@1 b:ask@90"


@pytest.mark.parametrize(
    ("told", "driver", "mode", "states"),
    [
        (LEFT, "", "", ["unknown"]),
        (LEFT, "disk.example.org", "", ["unknown"]),
        (LEFT, "rook-ceph.cephfs.csi.ceph.com", "", []),
        (LEFT, "nfs.csi.k8s.io", "", []),
        (LEFT, "xnfs.csi.k8s.io", "", ["unknown"]),
        (LEFT, "ebs.csi.aws.com", "", ["exclusive"]),
        (LEFT, "pd.csi.storage.gke.io", "", ["unknown"]),
        (USED, "ebs.csi.aws.com", "", []),
        (FORCED, "ebs.csi.aws.com", "", ["exclusive"]),
        (TAINTED, "rook-ceph.rbd.csi.ceph.com", "", ["exclusive"]),
        (TAINTED, "rook-ceph.cephfs.csi.ceph.com", "", []),
        (TAINTED, "disk.example.org", "", ["unknown"]),
        (f"b:taint@80 {USED}", "ebs.csi.aws.com", "", []),
        ("a:force@-9 a:stage@0 a:publish@1 b:stage@90", "ebs.csi.aws.com", "", []),
        (REFUSED, "disk.example.org", "", ["exclusive"]),
        (REFUSED, "nfs.csi.k8s.io", "", []),
        (ASKED, "disk.example.org", "SINGLE", ["exclusive"]),
        (ASKED, "disk.example.org", "MULTI", []),
        (ASKED.replace("b:ask", "a:unpublish@60 b:ask"), "disk.example.org", "MULTI", []),
        (ASKED, "disk.example.org", "", []),
    ],
)
def test_whether_one_node_alone_may_mount_it(told: str, driver: str, mode: str, states: list[str]) -> None:
    """The access mode, the driver, and what the controller says of the volume tell whether it is shared."""
    found = handovers(events(told, driver, mode), {})
    assert [event.attrs["state"] for event in found if event.kind == "volume.handover.overlap"] == states


def test_the_clocks_are_taken_into_account() -> None:
    """A node whose clock runs ahead seems to unstage after the other staged; with its offset known it does not."""
    told = events("a:stage@0 a:publish@1 a:unpublish@50 a:unstage@99 b:stage@90")
    ahead = {"a": Skew("a", 30 * SECOND, 40 * SECOND)}
    assert [event.kind for event in handovers(told, {})] == ["volume.handover.overlap", "volume.handover.left"]
    assert [event.kind for event in handovers(told, ahead)] == ["volume.handover.clean"]


@pytest.mark.parametrize(
    ("told", "low", "high", "used"),
    [
        ("a:unstage@10 a:detach@11", -1, None, 0),
        ("a:unstage@15 a:detach@11", 4, None, 4),
        ("b:attach@20 b:verify@22", None, 2, 0),
        ("b:attach@20 b:verify@17", None, -3, -3),
        ("a:unstage@15 a:detach@11 a:attach@40 a:verify@50", 4, 10, 4),
        ("a:unstage@15 a:detach@11 a:unstage@106 a:detach@100", 6, None, 6),
    ],
)
def test_how_far_a_clock_is_off(told: str, low: float | None, high: float | None, used: float) -> None:
    """Unstaging comes before the controller detaches, attaching before the node sees it: both bound the offset."""
    (found,) = skews([events(told)])
    bounds = [None if bound is None else bound / SECOND for bound in (found.low, found.high)]
    assert bounds == [low, high]
    assert offset(found) == used * SECOND


@pytest.mark.parametrize(
    "told",
    [
        "",
        "a:unstage@10",
        "a:unstage@10 b:detach@11",
        f"a:unstage@0 a:detach@{11 * MINUTE // SECOND}",
        "a:unstage@20 a:detach@11 a:attach@40 a:verify@41",
    ],
)
def test_nothing_is_known_of_a_clock(told: str) -> None:
    """Halves of other nodes, halves too far apart, and bounds that exclude each other say nothing."""
    assert list(skews([events(told)])) == []
    assert offset(None) == 0
