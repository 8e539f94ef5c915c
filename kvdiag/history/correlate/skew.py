"""Bound the skew of nodes' clocks to the controller's, by the required order of operations on a volume.

A node unstages before the controller detaches, and the controller attaches before the node verifies that:

    unstaged (node) ≤ detach started (controller)        attach succeeded (controller) ≤ attach verified (node)

Each pair bounds the offset of the node's clock on one side; the intersection of all bounds is the estimate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kvdiag.base.clock import MINUTE
from kvdiag.model.event import Event
from kvdiag.model.timeline import Skew

PAIRED = 10 * MINUTE  # between the two halves of one hand-over
UNSTAGED = frozenset({"volume.unstage.succeeded"})
VERIFIED = frozenset({"volume.verify.succeeded"})
DETACHING = frozenset({"volume.detach.started"})
ATTACHED = frozenset({"volume.attach.succeeded"})


def skews(volumes: Iterable[Sequence[Event]]) -> Iterator[Skew]:
    """Yield the offset of each node with a hand-over in the controller's log, in microseconds."""
    least: dict[str, list[int]] = defaultdict(list)
    most: dict[str, list[int]] = defaultdict(list)
    for events in volumes:
        for node, node_time, controller in _pairs(events, UNSTAGED, DETACHING):
            least[node].append(node_time - controller)
        for node, node_time, controller in _pairs(events, VERIFIED, ATTACHED):
            most[node].append(node_time - controller)
    for node in sorted(least.keys() | most.keys()):
        low = max(least[node]) if least[node] else None
        high = min(most[node]) if most[node] else None
        if low is None or high is None or low <= high:
            yield Skew(node, low, high)


def _pairs(
    events: Sequence[Event], of_node: frozenset[str], of_controller: frozenset[str]
) -> Iterator[tuple[str, int, int]]:
    """Yield (node, its time, the controller's time) of the nearest such events about one node."""
    controllers: Mapping[str, list[int]] = defaultdict(list)
    for event in events:
        if event.kind in of_controller:
            controllers[event.ref("node")].append(event.time)
    for event in events:
        near = [time for time in controllers.get(event.node, ()) if abs(time - event.time) <= PAIRED]
        if event.kind in of_node and near:
            yield event.node, event.time, min(near, key=lambda time: abs(time - event.time))


def offset(skew: Skew | None) -> int:
    """Return the smallest offset of a node's clock that all hand-overs allow; 0 if they allow it."""
    if skew is None:
        return 0
    if skew.low is not None and skew.low > 0:
        return skew.low
    return min(0, skew.high) if skew.high is not None else 0
