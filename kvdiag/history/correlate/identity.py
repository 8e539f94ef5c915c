"""Join the names of one subject to one key.

A volume has its handle in the driver's log, by its unique name, PV name and the pod's own name for it in kubelet's,
a hash of the handle in the staging path, and a hash of handle, driver and node as VolumeAttachment. Names of one volume
in one line are joined; the three hashes are computed. `uses` (pod ↔ volume) never joins names.
A pod's name is no identity: it belongs to a UID from a time on, and to another one after the pod was recreated. Only a
pod without a UID in any line, as in an excerpt of a log, is identified by its name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

from kvdiag.events.made_names import attachment_name, inline_handle, staging_hash
from kvdiag.events.names import UNNAMED, unnamed_pod
from kvdiag.events.snapshots.fact import SNAPSHOT_KINDS
from kvdiag.model.event import Event, Ref

VOLUME_KINDS = frozenset(
    ["unique_name", "volume_handle", "spec_name", "outer_name", "target_path", "staging_path", "attachment"]
)
BINDS_FORWARD = frozenset({"pod.added"})  # this line is before the first one with the pod's UID
NAMES_DRIVER = frozenset({"csi.driver.banner", "csi.driver.answered", "csi.getplugininfo.succeeded"})
FORWARD = 5_000_000  # microseconds
INLINE_LENGTH = 68
PLEG = "pod.pleg"  # its only varying value is the sandbox or container

Key = tuple[str, ...]
Refs = tuple[Ref, ...]
K = TypeVar("K", Key, str)


class Lease(NamedTuple):
    """A pod name that belongs to a UID from a time on; microseconds UTC."""

    begins: int
    pod_uid: str


class UnionFind(Generic[K]):
    """A union-find, such as of the keys of volumes; the smallest key of each set represents it."""

    def __init__(self) -> None:
        self._above: dict[K, K] = {}

    def root(self, key: K) -> K:
        """Return the key that represents all keys joined with this one."""
        above = self._above.setdefault(key, key)
        while above != self._above[above]:
            self._above[key] = self._above[above]
            above = self._above[above]
        return above

    def join(self, keys: Iterable[K]) -> None:
        """Join keys of one object."""
        roots = sorted({self.root(key) for key in keys})
        for root in roots[1:]:
            self._above[root] = roots[0]

    def keys(self) -> list[K]:
        """Return all keys."""
        return list(self._above)


class Identities:
    """Learns from all events, then resolves the pod, volume, sandbox and container of each."""

    def __init__(self, events: Iterable[Event]) -> None:
        """Learn from the events of all sources, in order of time."""
        self.volumes = UnionFind[Key]()
        self._leases: dict[str, list[Lease]] = {}
        self._full: dict[str, str] = {}  # the only pod of this name in any namespace
        self._owner: dict[str, str] = {}
        self._drivers: dict[str, str] = {}
        self._sandboxes: set[str] = set()
        self._keys_of: dict[Refs, tuple[Key, ...]] = {}
        self._learn(events)

    def pod_uid(self, event: Event) -> str:
        """Return the UID of an event's pod: in the line, or by the owner of its sandbox, or by its name then."""
        uid = event.ref("pod_uid")
        if uid:
            return uid
        for kind in ("container_id", "sandbox_id"):
            owner = self._owner.get(event.ref(kind))
            if owner:
                return owner
        name = event.ref("pod") or self._full.get(event.ref("pod_name"), event.ref("pod_name"))
        if name == UNNAMED:
            return unnamed_pod(event.origin.source)
        return self.holder(name, event.time, forward=event.kind in BINDS_FORWARD) if name else ""

    def holder(self, pod: str, time: int, *, forward: bool = False) -> str:
        """Return the UID of `ns/name` at that time, else the first known UID; the name if there is none."""
        leases = self._leases.get(pod, ())
        if not leases:
            return pod
        at = bisect_right(leases, time, key=lambda lease: lease.begins)
        if forward and at < len(leases) and leases[at].begins - time <= FORWARD:
            return leases[at].pod_uid
        return leases[max(0, at - 1)].pod_uid

    def pods(self, event: Event) -> list[str]:
        """Return all pod UIDs of an event: lines such as `SyncLoop ADD` name several pods."""
        uids = [value for kind, value in event.refs if kind == "pod_uid"]
        if uids:
            return uids if len(uids) == 1 else list(dict.fromkeys(uids))
        forward = event.kind in BINDS_FORWARD
        named = [self.holder(ref.value, event.time, forward=forward) for ref in event.refs if ref.kind == "pod"]
        return [uid for uid in dict.fromkeys(named) if uid] or [uid for uid in (self.pod_uid(event),) if uid]

    @staticmethod
    def is_lasting(refs: Refs) -> bool:
        """Return whether the pods of these refs do not depend on the time."""
        kinds = {kind for kind, _ in refs}
        return "pod_uid" in kinds or kinds.isdisjoint(("pod", "pod_name"))

    def volume(self, event: Event) -> Key | None:
        """Return the key of an event's volume."""
        keys = self._volume_keys(event.refs)
        return self.volumes.root(keys[0]) if keys else None

    def is_sandbox(self, identity: str) -> bool:
        """Return whether an id is a sandbox's: shims and PLEG print the same lines for containers."""
        return identity in self._sandboxes

    def driver_of(self, source: str) -> str:
        """Return the driver of a source, by the name that it logged; empty if it did not."""
        return self._drivers.get(source, "")

    def name_of(self, pod_uid: str) -> str:
        """Return the `ns/name` of a UID, or an empty string."""
        return self._names.get(pod_uid, "")

    def _learn(self, events: Iterable[Event]) -> None:
        self._names: dict[str, str] = {}
        seen: dict[Refs, tuple[str, str]] = {}  # with the pod whose name and UID they say
        pv_names: set[str] = set()
        late: list[Event] = []
        for event in events:
            named = seen.get(event.refs)
            pod, uid = _named_pod(event.refs) if named is None else named
            if pod:
                self._lease(pod, uid, event)
            if event.kind in NAMES_DRIVER and event.ref("driver"):
                self._drivers.setdefault(event.origin.source, event.ref("driver"))
            if named is None or event.kind == PLEG:
                self._learn_owner(event, late)
            if named is not None:
                continue
            seen[event.refs] = (pod, uid)
            self._sandboxes.update(ref.value for ref in event.refs if ref.kind == "sandbox_id")
            keys = self._volume_keys(event.refs)
            if len(keys) > 1:
                self.volumes.join(keys)
            if event.ref("spec_name") and _is_persistent(event.ref("volume_handle")):
                pv_names.add(event.ref("spec_name"))
        for event in late:
            self._learn_owner(event, None)
        short = Counter(name.partition("/")[2] for name in self._leases)
        self._full = {
            short_name: name
            for name in self._leases
            for short_name in (name.partition("/")[2],)
            if short[short_name] == 1
        }
        self._compute(pv_names, {ref.value for refs in seen for ref in refs if ref.kind == "node"})

    def _lease(self, pod: str, uid: str, event: Event) -> None:
        if event.kind in SNAPSHOT_KINDS:  # whose time is not known
            self._names.setdefault(uid, pod)
            return
        leases = self._leases.setdefault(pod, [])
        if not leases or leases[-1].pod_uid != uid:
            leases.append(Lease(event.time, uid))
        self._names[uid] = pod

    def _learn_owner(self, event: Event, late: list[Event] | None) -> None:
        """Learn the pod of sandboxes and containers: of a line that names both, or of their sandbox.

        An event whose pod is not known yet is added to `late`, if given.
        """
        ids = [value for kind, value in event.refs if kind in {"sandbox_id", "container_id"}]
        data = event.attrs.get("data", "") if event.kind == PLEG else ""
        if len(data) >= 12:
            ids.append(data)
        if not ids:
            return
        uid = event.ref("pod_uid") or next((self._owner[i] for i in ids if i in self._owner), "")
        name = event.ref("pod")
        if not uid and (name in self._leases or late is None):
            uid = self.holder(name, event.time)
        if uid:
            self._owner.update((i, uid) for i in ids if i not in self._owner)
        elif late is not None:
            late.append(event)

    def _volume_keys(self, refs: Refs) -> tuple[Key, ...]:
        keys = self._keys_of.get(refs)
        if keys is None:
            keys = self._keys_of[refs] = tuple(_volume_keys(refs)) if any(r.kind in VOLUME_KINDS for r in refs) else ()
            for key in keys:
                self.volumes.root(key)
        return keys

    def _compute(self, pv_names: set[str], nodes: set[str]) -> None:
        """Join names that only a hash or the PV name connects."""
        known = set(self.volumes.keys())
        drivers = Counter(key[2] for key in known if key[0] == "handle" and key[1])
        for key in known:
            match key:
                case ("handle", driver, handle):
                    self._compute_handle(driver, handle, known, nodes, alone=drivers[handle] <= 1)
                case ("at", _, spec) if spec in pv_names:
                    self.volumes.join([key, ("pv", spec)])
                case ("inline", pod_uid, name):
                    self._join_known(key, ("handle", "", inline_handle(pod_uid, name)), known)

    def _compute_handle(self, driver: str, handle: str, known: set[Key], nodes: set[str], *, alone: bool) -> None:
        """Join a handle without its driver if only one driver has this handle."""
        key = ("handle", driver, handle)
        self._join_known(key, ("staged", driver, staging_hash(handle)), known)
        if driver:
            if alone:
                self._join_known(key, ("handle", "", handle), known)
                self._join_known(key, ("staged", "", staging_hash(handle)), known)
            for node in nodes:
                self._join_known(key, ("attachment", attachment_name(handle, driver, node)), known)

    def _join_known(self, key: Key, other: Key, known: set[Key]) -> None:
        if other in known:
            self.volumes.join([key, other])


def _named_pod(refs: Refs) -> tuple[str, str]:
    """Return name and UID of the pod, if a line has both of one pod."""
    uid = next((value for kind, value in refs if kind == "pod_uid"), "")
    pods = [value for kind, value in refs if kind == "pod"] if uid else []
    return (pods[0], uid) if len(pods) == 1 else ("", "")


def _volume_keys(refs: Iterable[Ref]) -> Iterable[Key]:
    """Yield the keys of the refs in one line; all are of one volume."""
    names: Mapping[str, str] = {ref.kind: ref.value for ref in refs}
    uid, spec, outer = names.get("pod_uid", ""), names.get("spec_name", ""), names.get("outer_name", "")
    if "unique_name" in names:
        yield ("unique", names["unique_name"])
    yield from _handle_keys(names)
    if uid and spec:
        yield ("at", uid, spec)
    if uid and outer:
        yield from _pod_level_keys(uid, outer, names)
    if spec and not uid and "volume_handle" not in names and spec != outer:
        yield ("pv", spec)
    if hashed := _hash_in(names.get("staging_path", "")):
        yield ("staged", names.get("driver", ""), hashed)
    if "attachment" in names:
        yield ("attachment", names["attachment"])


def _handle_keys(names: Mapping[str, str]) -> Iterable[Key]:
    handle, spec = names.get("volume_handle", ""), names.get("spec_name", "")
    if handle:
        yield ("handle", names.get("driver", ""), handle)
        if spec and _is_persistent(handle):
            yield ("pv", spec)


def _pod_level_keys(uid: str, outer: str, names: Mapping[str, str]) -> Iterable[Key]:
    """Yield the keys of a volume's name in the pod spec; except for persistent volumes it is also the folder's name."""
    yield ("outer", uid, outer)
    unique = names.get("unique_name", "")
    if unique and "volume_handle" not in names:
        yield ("at", uid, outer)
        if unique.startswith("kubernetes.io/csi/"):
            yield ("inline", uid, outer)


def _is_persistent(handle: str) -> bool:
    """Return whether a handle is a persistent volume's; kubelet generates `csi-` and a sha256 for inline ones."""
    return bool(handle) and not (handle.startswith("csi-") and len(handle) == INLINE_LENGTH)


def _hash_in(path: str) -> str:
    return next((part for part in path.split("/") if len(part) == 64 and part.isalnum()), "")
