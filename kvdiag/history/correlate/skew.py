"""Clocks of nodes that differ: by how much, and lines that disagree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from kvdiag.base.clock import MINUTE
from kvdiag.model.event import Event
from kvdiag.model.timeline import Disagreement, Skew

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


APART = 5 * MINUTE  # a call of a driver ends in a kubelet's timeout of two to four minutes
ACTS: Mapping[str, str] = {
    "volume.stage.succeeded": "stage",
    "csi.nodestage.succeeded": "stage",
    "volume.publish.succeeded": "publish",
    "csi.nodepublish.succeeded": "publish",
    "volume.unpublish.succeeded": "unpublish",
    "csi.nodeunpublish.succeeded": "unpublish",
    "volume.unstage.succeeded": "unstage",
    "csi.nodeunstage.succeeded": "unstage",
    "volume.attach.succeeded": "attach",
    "attacher.attached": "attach",
    "csi.controllerpublish.succeeded": "attach",
    "volume.detach.succeeded": "detach",
    "attacher.detached": "detach",
    "csi.controllerunpublish.succeeded": "detach",
}
"""Kinds of several programs for one operation of a volume, by kind."""

Spans = Mapping[str, tuple[int, int]]  # the first and last moment of each log


def disagreements(volumes: Iterable[Sequence[Event]], events: Iterable[Event]) -> Mapping[str, Disagreement]:
    """Return the largest disagreement of each log, by its name; `events` are those of all logs."""
    acts = [by_log for by_log in _acts(volumes) if len(by_log) > 1]
    spans = _spans(events) if acts else {}
    widest: dict[str, Disagreement] = {}
    for tellers in acts:
        for some, others in combinations(tellers.values(), 2):
            for one, other in zip(some, others, strict=True) if len(some) == len(others) else ():
                if abs(one.time - other.time) > APART and _were_written(one, other, spans):
                    for event, against in ((one, other), (other, one)):
                        found = Disagreement(event.origin, against.origin, abs(one.time - other.time))
                        known = widest.setdefault(event.origin.source, found)
                        widest[event.origin.source] = max(known, found, key=lambda candidate: candidate.apart)
    return widest


def _acts(volumes: Iterable[Sequence[Event]]) -> Iterator[Mapping[tuple[str, str], Sequence[Event]]]:
    """Yield for each operation of each volume on each node the events by log, in the order of lines."""
    for events in volumes:
        acts: dict[tuple[str, str], dict[tuple[str, str], list[Event]]] = defaultdict(lambda: defaultdict(list))
        for event in events:
            act = ACTS.get(event.kind)
            if act is not None:
                acts[act, event.ref("node") or event.node][event.origin.source, event.kind].append(event)
        for by_log in acts.values():
            for lines in by_log.values():
                lines.sort(key=lambda event: event.origin)
            yield by_log


def _spans(events: Iterable[Event]) -> Spans:
    spans: dict[str, tuple[int, int]] = {}
    for event in events:
        begins, ends = spans.get(event.origin.source, (event.time, event.time))
        spans[event.origin.source] = min(begins, event.time), max(ends, event.ends)
    return spans


def _were_written(one: Event, other: Event, spans: Spans) -> bool:
    """Return whether one log was being written when the other reported the operation."""
    return any(
        spans[log.origin.source][0] <= event.time <= spans[log.origin.source][1]
        for event, log in ((one, other), (other, one))
    )
