"""Which machine a subject follows: a volume by its names and what was seen of it, a pod by its kubelet's version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from kvdiag.base.versions import read_range, read_version
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.history.lifecycles.machine import Machine
from kvdiag.model.event import Event, may_be_same_node
from kvdiag.model.timeline import Entity, SeenVersion

INLINE_HANDLE = 68  # `csi-` and a sha256
CONTROLLERS = ("volume.attach.", "volume.attachment.", "volume.detach.", "attacher.", "csi.controller")
ATTACHES = (*CONTROLLERS, "volume.wait.", "volume.map.wait.", "volume.verify.succeeded")
STATIC = "pod/static"
STATIC_SOURCES = frozenset({"file", "http"})
OF_OBJECT = ("pod.added", "pod.updated", "pod.deleted", "pod.removed", "pod.reconciled", "pod.status.", "pod.mirror.")


def volume_machine(subject: Entity, events: Sequence[Event], skipped: Callable[[Event], bool]) -> Machine:
    """The machine of a volume on one node; `skipped` says whether the staging that an event ended was left out."""
    kinds = {event.kind for event in events}
    controlled = any(kind.startswith(CONTROLLERS) for kind in kinds)
    driver_leads = not any(kind.startswith("volume.") and not kind.startswith(CONTROLLERS) for kind in kinds)
    situations = [] if controlled else ["no-controller"]
    situations += ["driver-alone"] if driver_leads else []
    return lifecycles().machine(f"volume/{_mode(subject, events, kinds, skipped)}", *situations)


def _mode(subject: Entity, events: Sequence[Event], kinds: AbstractSet[str], skipped: Callable[[Event], bool]) -> str:
    ids = subject.ids
    unique, handle = ids.get("unique_name", ""), ids.get("volume_handle", "")
    if unique and "^" not in unique and not unique.startswith("kubernetes.io/csi/"):
        return "local"
    if _is_inline(unique, handle, events):
        return "inline"
    unstaged = _is_unstaged(events, kinds, skipped)
    attaches = any(kind.startswith(ATTACHES) for kind in kinds)
    if not attaches and "volume.verify.started" in kinds and {"volume.stage.succeeded", "volume.map.succeeded"} & kinds:
        return "publish-only" if unstaged else "non-attachable"
    if unstaged:
        return "non-staging"
    if any(kind.startswith("volume.map.") for kind in kinds):
        return "block"
    return "migrated" if _is_migrated(ids) else "filesystem"


def _is_inline(unique: str, handle: str, events: Sequence[Event]) -> bool:
    if "^" in unique:  # on a node, inline volumes are named by pod; `^` before a made-up handle is theirs as well
        handle = unique.partition("^")[2]
    if unique.startswith("kubernetes.io/csi/") and "^" not in unique:
        return True
    made_up = handle.startswith("csi-") and len(handle) == INLINE_HANDLE
    return made_up or any(event.attrs.get("ephemeral") == "true" for event in events)


def _is_unstaged(events: Sequence[Event], kinds: AbstractSet[str], skipped: Callable[[Event], bool]) -> bool:
    """Whether nothing is staged: kubelet says so, or the driver's own log shows the volume published only."""
    if any(kind.startswith("csi.nodestage.") for kind in kinds):
        return False
    if "csi.nodepublish.succeeded" in kinds and "csi.nodepublish.called" in kinds:
        return True
    return any(skipped(event) for event in events if event.kind == "volume.stage.succeeded")


def _is_migrated(ids: Mapping[str, str]) -> bool:
    """In-tree volumes in a CSI driver's hands: their made-up PV is named by the driver, or their place is unknown."""
    driver, spec = ids.get("driver", ""), ids.get("spec_name", "")
    return (bool(driver) and spec.startswith(f"{driver}-")) or "UNSPECIFIED" in ids.get("volume_handle", "")


def pod_machine(
    subject: Entity, events: Sequence[Event], versions: Sequence[SeenVersion], static: AbstractSet[str] = frozenset()
) -> Machine:
    """The machine of a pod: static by its source or UID, else by the kubelet's era; the newest when that is unknown.

    A pod of one of the `static` names (`ns/name`) that nothing ran for is the mirror of that static pod.
    """
    if is_static(subject, events):
        return lifecycles().machine(STATIC)
    if subject.ids.get("pod", "") in static and all(event.kind.startswith(OF_OBJECT) for event in events):
        return lifecycles().machine("pod/mirror")
    return lifecycles().machine(f"pod/{_era(versions, subject.ids.get('node', ''), events)}")


def is_static(subject: Entity, events: Sequence[Event]) -> bool:
    """Whether a pod comes from a file or URL: it was said so, or its UID is the hash of a manifest."""
    has_static_source = any(e.kind == "pod.added" and e.attrs.get("source") in STATIC_SOURCES for e in events)
    return has_static_source or "-" not in subject.ids.get("pod_uid", "-")


def _era(versions: Sequence[SeenVersion], node: str, events: Sequence[Event]) -> str:
    mine = [v for v in versions if v.component == "kubelet" and may_be_same_node(node, v.node)]
    order = {"option": 0, "banner": 1, "file": 2}
    for seen in sorted(mine, key=lambda v: order.get(v.how, 3)):
        read = read_version(seen.version) if seen.version else None
        if read is not None:
            return "1.21" if read.upstream < (1, 22, 0) else "1.22" if read.upstream < (1, 27, 0) else "1.27"
        if seen.span:
            newest = max(interval.high for interval in read_range(seen.span))
            return "1.21" if newest <= (1, 22, 0) else "1.22" if newest <= (1, 27, 0) else "1.27"
    numbered = any(e.attrs.get("update_type", "").isdecimal() for e in events)
    return "1.22" if numbered else "1.27"
