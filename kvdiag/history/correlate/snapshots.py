"""Convert facts in snapshots (files collected with the logs) to events.

A snapshot shows the state when it was collected, and rarely that time. Its events get the time of the last line about
the same volume or pod, so that they neither extend a timeline nor are in the middle of one.
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
    """The ids in the logs, with which names in a snapshot are completed."""

    def __init__(self, refs: Iterable[Ref], events: Sequence[Event]) -> None:
        self._ids = sorted({ref.value for ref in refs if ref.kind in _IDS})
        self._uids_by_pod: dict[str, set[str]] = defaultdict(set)
        for event in events:
            if (pod := event.ref("pod")) and (uid := event.ref("pod_uid")):
                self._uids_by_pod[pod].add(uid)

    def resolved(self, fact: SnapshotFact) -> SnapshotFact:
        """Return the fact with ids that crictl shortened in full, and a pod's UID if only one pod had the name."""
        if not any(ref.kind in _IDS for ref in fact.refs):
            return fact
        refs = [Ref(ref.kind, self._whole(ref.value)) if ref.kind in _IDS else ref for ref in fact.refs]
        if not any(ref.kind == "pod_uid" for ref in refs):
            uids = {uid for ref in refs if ref.kind == "pod" for uid in self._uids_by_pod[ref.value]}
            refs = [ref for ref in refs if ref.kind != "pod"]
            refs += [Ref("pod_uid", uid) for uid in uids if len(uids) == 1]
        return fact._replace(refs=tuple(refs))

    def _whole(self, identity: str) -> str:
        """Return the only id with this prefix; the prefix if none or several match."""
        at = bisect_left(self._ids, identity)
        found = {one for one in self._ids[at : at + 2] if one.startswith(identity)}
        return found.pop() if len(found) == 1 else identity


def snapshot_events(snapshots: Sequence[Snapshot], events: Sequence[Event]) -> Iterator[Event]:
    """Yield an event for each fact; `events` are those of the logs."""
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
                texts=(fact.text.encode("utf-8", "replace"),),
                ends=time,
            )
