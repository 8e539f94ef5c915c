"""A volume that leaves one node and comes to another: clean, or staged on both at once.

Made from the logs of two nodes: `volume.handover.clean` when the first had unstaged it before the second staged it,
`volume.handover.overlap` when it was no longer used on the first (all its pods unpublished) but still staged there,
with `volume.handover.left` for that first node. A volume that stays in use on both is shared, as ReadWriteMany volumes
are, and no hand-over.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from kvdiag.clock import CLOCKS_DIFFER, SECOND, say_duration
from kvdiag.correlate.skew import offset
from kvdiag.model.event import Event
from kvdiag.model.timeline import Skew

STAGED = frozenset({"volume.stage.succeeded", "csi.nodestage.succeeded"})
UNSTAGED = frozenset({"volume.unstage.succeeded", "csi.nodeunstage.succeeded", "volume.released"})
PUBLISHED = frozenset({"volume.publish.succeeded", "csi.nodepublish.succeeded"})
UNPUBLISHED = frozenset({"volume.unpublish.succeeded", "csi.nodeunpublish.succeeded"})
OVERLAP, LEFT, CLEAN = "volume.handover.overlap", "volume.handover.left", "volume.handover.clean"
HANDED_OVER = frozenset({OVERLAP, LEFT, CLEAN})
TOLERANCE = 2 * SECOND  # of clocks that nothing was found out about
TOLD_BY = STAGED | UNSTAGED | PUBLISHED | UNPUBLISHED


class _Place:
    """Where a volume is staged, since when, and by which pods it is used there."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.pods: set[str] = set()
        self.was_used = False


def handovers(events: Sequence[Event], clocks: Mapping[str, Skew]) -> Iterator[Event]:
    """The hand-overs of one volume, from its events in order of time; each stands where the second node staged it."""
    places: dict[str, _Place] = {}
    left: dict[str, int] = {}
    of_nodes = sorted(
        ((event.time - offset(clocks.get(event.node)), event) for event in events if event.node),
        key=lambda pair: pair[0],
    )
    unstaged: dict[str, list[int]] = defaultdict(list)
    for time, event in of_nodes:
        if event.kind in UNSTAGED:
            unstaged[event.node].append(time)
    for time, event in of_nodes:
        node, pod = event.node, event.ref("pod_uid")
        if event.kind in STAGED:
            still = {other: at for other, at in places.items() if not _follows(unstaged[other], time)}
            yield from _arrivals(event, time, still, left)
            places.setdefault(node, _Place(time))
        elif event.kind in PUBLISHED and node in places:
            places[node].pods.add(pod)
            places[node].was_used = True
        elif event.kind in UNPUBLISHED and node in places:
            places[node].pods.discard(pod)
        elif event.kind in UNSTAGED and node in places:
            del places[node]
            left[node] = time


def _follows(times: Sequence[int], time: int) -> bool:
    """Whether one of these, in order, comes so soon after a moment that two machines' clocks may have swapped them."""
    return bisect_left(times, time) < bisect_right(times, time + CLOCKS_DIFFER)


def _arrivals(event: Event, time: int, places: Mapping[str, _Place], left: dict[str, int]) -> Iterator[Event]:
    node = event.node
    if node in places:
        return
    for other, place in places.items():
        if other != node and place.was_used and not place.pods and time - place.since > TOLERANCE:
            yield _event(event, OVERLAP, other, "it was still staged there")
            yield _event(event, LEFT, other, "it was staged on another node")._replace(node=other)
    for other, since in list(left.items()):
        if other != node and not places:
            yield _event(event, CLEAN, other, f"unstaged {say_duration(max(0, time - since))} before")
    left.clear()


def _event(event: Event, kind: str, other: str, reason: str) -> Event:
    attrs = {"from_node": other, "to_node": event.node, "reason": reason}
    return event._replace(kind=kind, attrs=attrs, component="")
