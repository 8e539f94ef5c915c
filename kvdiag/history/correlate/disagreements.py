"""Find logs whose clocks disagree: they report the same operation of the same volume, minutes or hours apart.

    kubelet.log  10:02:07  MountVolume.MountDevice succeeded for volume "pvc-1"
    driver.log    8:02:07  NodeStageVolume of the same volume succeeded

The clock of one of them jumped, or is of another machine. Operations are compared only if two logs have the same number
of them, and if at least one was logged while the other log was written, so that logs of other days do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from kvdiag.base.clock import MINUTE
from kvdiag.model.event import Event
from kvdiag.model.timeline import Disagreement

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
