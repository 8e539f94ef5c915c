"""How far the clocks of nodes may be from the controller's, from the order in which a volume must be handed over.

A node unstages before the controller detaches, and the controller has attached before the node says that it saw it:

    unstaged (node) ≤ detach started (controller)        attach succeeded (controller) ≤ attach verified (node)

Each pair bounds the offset of the node's clock on one side; what all pairs leave is the estimate.
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
    """The offset of each node that took part in a hand-over the controller's log shows; in microseconds."""
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
    """(node, its time, the controller's time) of the nearest such events about one node."""
    controllers: Mapping[str, list[int]] = defaultdict(list)
    for event in events:
        if event.kind in of_controller:
            controllers[event.ref("node")].append(event.time)
    for event in events:
        near = [time for time in controllers.get(event.node, ()) if abs(time - event.time) <= PAIRED]
        if event.kind in of_node and near:
            yield event.node, event.time, min(near, key=lambda time: abs(time - event.time))


def offset(skew: Skew | None) -> int:
    """The smallest offset of a node's clock that all hand-overs allow; 0 when they allow that."""
    if skew is None:
        return 0
    if skew.low is not None and skew.low > 0:
        return skew.low
    return min(0, skew.high) if skew.high is not None else 0
