"""Find the timeline of a pod, volume or node by any of its names."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from kvdiag.model.timeline import Entity, History, Timeline
from kvdiag.model.values import SubjectKind

SHORTEST_PREFIX = 4


def look_up(history: History, kind: SubjectKind, ref: str) -> list[Timeline]:
    """Return the subjects of a kind with the name `ref`, else those with a name that begins with it.

    There may be several, since a recreated pod keeps its name. In order of their first event.
    """
    timelines = sorted(
        (t for t in history.timelines.values() if t.subject.kind is kind and t.events), key=lambda t: t.events[0].time
    )
    if kind is SubjectKind.NODE:
        timelines.extend(_silent(history, {t.subject.key for t in timelines}))
    exact = [t for t in timelines if ref in _names(t)]
    if exact or len(ref) < SHORTEST_PREFIX:
        return exact
    return [t for t in timelines if any(name.startswith(ref) for name in _names(t))]


def subject_names(history: History, kind: SubjectKind) -> list[str]:
    """Return the sorted names of the subjects of a kind."""
    silent = (
        _silent(history, {key for one, key in history.timelines if one is kind}) if kind is SubjectKind.NODE else ()
    )
    known = [t for t in history.timelines.values() if t.subject.kind is kind]
    return sorted({timeline.subject.name for timeline in (*known, *silent)})


def _silent(history: History, known: AbstractSet[str]) -> Iterator[Timeline]:
    """Yield the nodes that have only events of their pods and volumes."""
    for node in sorted({event.node for event in history.events} - known - {""}):
        yield Timeline(Entity(SubjectKind.NODE, node, node, {"node": node}), ())


def _names(timeline: Timeline) -> Iterator[str]:
    """Yield the names of the subject itself, not those of a volume's pod and node."""
    subject = timeline.subject
    yield subject.key
    yield subject.name
    id_kinds = {
        SubjectKind.POD: ("pod", "pod_uid", "pod_name"),
        SubjectKind.VOLUME: ("volume_handle", "unique_name", "spec_name", "staging_path", "target_path", "attachment"),
        SubjectKind.SANDBOX: ("sandbox_id",),
        SubjectKind.CONTAINER: ("container_id",),
        SubjectKind.DRIVER: ("driver",),
        SubjectKind.NODE: ("node",),
    }
    yield from (subject.ids[name] for name in id_kinds[subject.kind] if name in subject.ids)
