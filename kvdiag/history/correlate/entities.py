"""The subjects of a history, and how a user's name of one is looked up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from kvdiag.events.made_names import attachment_name, staging_path
from kvdiag.events.names import UNNAMED, is_uid
from kvdiag.history.correlate.identity import Identities
from kvdiag.model.event import NAMELESS, NO_NAME, THIS_NODE, Event
from kvdiag.model.timeline import Entity, History, SubjectKey, Timeline
from kvdiag.model.values import SubjectKind

ROOT = "/var/lib/kubelet"
VOLUME_IDS = [
    "volume_handle",
    "driver",
    "unique_name",
    "spec_name",
    "staging_path",
    "attachment",
    "outer_name",
    "pod_uid",
    "target_path",
]


def describe(subject: SubjectKey, events: Sequence[Event], identities: Identities) -> Entity:
    """Return the entity of a subject, from the events of its timeline."""
    kind, key = subject
    match kind:
        case SubjectKind.POD:
            return _pod(key, events, identities)
        case SubjectKind.VOLUME:
            return _volume(key, events, identities)
        case SubjectKind.SANDBOX | SubjectKind.CONTAINER:
            return _runtime_thing(kind, key, events, identities)
        case SubjectKind.DRIVER:
            return Entity(kind=kind, key=key, name=key, ids={"driver": key} | _node(events))
        case SubjectKind.NODE:
            return node_entity(key)


MOST_LINKED = 64  # subjects of one line; a longer list does not show which uses which


def node_entity(key: str) -> Entity:
    """Return the entity of a node; `key` is its name, empty if no log contains it."""
    ids = {"node": key} if key and not key.startswith(NAMELESS) else {}
    return Entity(kind=SubjectKind.NODE, key=key, name=key or THIS_NODE, ids=ids)


def _pod(uid: str, events: Sequence[Event], identities: Identities) -> Entity:
    return Entity(
        kind=SubjectKind.POD,
        key=uid,
        name=identities.name_of(uid) or (NO_NAME if uid.startswith(UNNAMED) else uid),
        ids=_pod_ids(uid, identities) | _node(events) | _unique_ref(events, "sandbox_id"),
    )


def _pod_ids(uid: str, identities: Identities) -> dict[str, str]:
    """Return the pod's UID and name, as far as known."""
    known = is_uid(uid)
    name = identities.name_of(uid) if known else uid
    namespace, _, pod_name = name.rpartition("/")
    ids = {"pod_uid": uid if known else "", "pod": namespace and name, "namespace": namespace, "pod_name": pod_name}
    return {kind: value for kind, value in ids.items() if value and not value.startswith(UNNAMED)}


def _volume(key: str, events: Sequence[Event], identities: Identities) -> Entity:
    values = _values_by_kind(events)
    ids = {name: next(iter(values[name])) for name in VOLUME_IDS if len(values.get(name, ())) == 1}
    if "pod_uid" in ids:
        ids |= _pod_ids(ids["pod_uid"], identities)
    ids |= _node(events)
    drivers = {driver for event in events if (driver := identities.driver_of(event.origin.source))}
    if "driver" not in ids and len(drivers) == 1:
        ids["driver"] = drivers.pop()
    _compute(ids, events)
    name = ids.get("spec_name") or ids.get("volume_handle") or ids.get("outer_name") or key.rpartition("|")[2]
    return Entity(kind=SubjectKind.VOLUME, key=key, name=name, ids=ids)


def _compute(ids: dict[str, str], events: Sequence[Event]) -> None:
    """Add computed names: the staging path (kubelet ≥ 1.24) and the VolumeAttachment."""
    handle, driver = ids.get("volume_handle", ""), ids.get("driver", "")
    if not handle or not driver or handle.startswith("csi-"):
        return
    target = next((event.ref("target_path") for event in events if event.ref("target_path")), "")
    root = target.partition("/pods/")[0] or ROOT
    ids.setdefault("staging_path", staging_path(root, driver, handle))
    if ids.get("node"):
        ids.setdefault("attachment", attachment_name(handle, driver, ids["node"]))


def _runtime_thing(kind: SubjectKind, key: str, events: Sequence[Event], identities: Identities) -> Entity:
    uid = next((uid for event in events if (uid := identities.pod_uid(event))), "")
    ids: Mapping[str, str] = {f"{kind}_id": key} | (_pod_ids(uid, identities) if uid else {}) | _node(events)
    return Entity(kind=kind, key=key, name=key[:13], ids=dict(ids))


def _unique_ref(events: Sequence[Event], name: str) -> dict[str, str]:
    """Return the ref of that kind if all events have the same one; a volume of many pods has no pod."""
    values = {value for event in events if len(event.refs) <= MOST_LINKED and (value := event.ref(name))}
    return {name: values.pop()} if len(values) == 1 else {}


def _values_by_kind(events: Sequence[Event]) -> dict[str, set[str]]:
    """Return the values of the first ref of each kind in each event."""
    values: dict[str, set[str]] = defaultdict(set)
    for refs in {event.refs for event in events}:
        for kind, value in dict(reversed(refs)).items():
            values[kind].add(value)
    return values


def _node(events: Sequence[Event]) -> dict[str, str]:
    nodes = {event.node for event in events if event.node and not event.node.startswith(NAMELESS)}
    return {"node": nodes.pop()} if len(nodes) == 1 else {}


SHORTEST_PREFIX = 4


def look_up(history: History, kind: SubjectKind, ref: str) -> list[Timeline]:
    """Return the subjects of a kind with the name `ref`, else those with a name that begins with it.

    There may be several, since a recreated pod keeps its name. In order of their first event.
    """
    of_kind = [history.timelines[key] for key in history.timelines if key[0] is kind]
    timelines = sorted((one for one in of_kind if one.events), key=lambda one: one.events[0].time)
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
    known = [history.timelines[key] for key in history.timelines if key[0] is kind]
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
