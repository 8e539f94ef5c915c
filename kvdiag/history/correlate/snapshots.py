"""What files beside the logs say → events at the end of what the logs say of the same things.

Such a file tells what was true when it was collected, and rarely when that was. It is taken to be true after the last
line that speaks of the same volume or pod, so that it neither lengthens a timeline nor stands in the middle of one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kvdiag.events.snapshots.fact import Snapshot, SnapshotFact
from kvdiag.model.event import Event, Ref
from kvdiag.model.record import Origin

_IDS = frozenset({"sandbox_id", "container_id"})


class _LogNames:
    """What the logs speak of, by which the names in a file are made out."""

    def __init__(self, refs: Iterable[Ref], events: Sequence[Event]) -> None:
        self._ids = sorted({ref.value for ref in refs if ref.kind in _IDS})
        self._uids_by_pod: dict[str, set[str]] = defaultdict(set)
        for event in events:
            if (pod := event.ref("pod")) and (uid := event.ref("pod_uid")):
                self._uids_by_pod[pod].add(uid)

    def resolved(self, fact: SnapshotFact) -> SnapshotFact:
        """Give ids in full where crictl cut them, and for a pod's name its UID, if only one pod had that name."""
        if not any(ref.kind in _IDS for ref in fact.refs):
            return fact
        refs = [Ref(ref.kind, self._whole(ref.value)) if ref.kind in _IDS else ref for ref in fact.refs]
        if not any(ref.kind == "pod_uid" for ref in refs):
            uids = {uid for ref in refs if ref.kind == "pod" for uid in self._uids_by_pod[ref.value]}
            refs = [ref for ref in refs if ref.kind != "pod"]
            refs += [Ref("pod_uid", uid) for uid in uids if len(uids) == 1]
        return fact._replace(refs=tuple(refs))

    def _whole(self, identity: str) -> str:
        """Give the only id that begins so; the same when none or several do."""
        at = bisect_left(self._ids, identity)
        found = {one for one in self._ids[at : at + 2] if one.startswith(identity)}
        return found.pop() if len(found) == 1 else identity


def snapshot_events(snapshots: Sequence[Snapshot], events: Sequence[Event]) -> Iterator[Event]:
    """Give an event for each fact; `events` are those of the logs."""
    if not snapshots:
        return
    last: dict[Ref, int] = {}
    for event in events:
        for ref in event.refs:
            last[ref] = max(event.ends, last.get(ref, 0))
    known = _LogNames(last, events)
    ends = max((event.ends for event in events), default=0)
    for file in snapshots:
        for fact in map(known.resolved, file.facts):
            time = max((last[ref] for ref in fact.refs if ref in last and ref.kind != "node"), default=ends)
            yield Event(
                time=time,
                kind=fact.kind,
                component="",
                refs=fact.refs,
                attrs=fact.attrs,
                origin=Origin(file.source, fact.line),
                node=fact.node,
                logged=fact.text.encode("utf-8", "replace"),
                ends=time,
            )
