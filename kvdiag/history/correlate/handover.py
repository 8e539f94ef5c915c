"""Detect how a volume moves from one node to another: cleanly, or staged on both at once.

Events from the logs of two nodes: `volume.handover.clean` if the first unstaged it before the second staged it,
`volume.handover.overlap` if it was still staged on the first, with `volume.handover.left` for that first node. The
`state` of an overlap is `exclusive` if only one node may mount the volume. There is no event if any number of nodes may
mount it, according to the access mode of a call or the driver. If that is unknown, a volume that pods of both nodes use
at the same time counts as shared, unless it was force-detached from the first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kvdiag.base.clock import CLOCKS_DIFFER, SECOND, format_duration
from kvdiag.history.correlate.skew import offset
from kvdiag.model.event import Event
from kvdiag.model.timeline import Skew

STAGED = frozenset({"volume.stage.succeeded", "csi.nodestage.succeeded"})
UNSTAGED = frozenset({"volume.unstage.succeeded", "csi.nodeunstage.succeeded", "volume.released"})
PUBLISHED = frozenset({"volume.publish.succeeded", "csi.nodepublish.succeeded"})
UNPUBLISHED = frozenset({"volume.unpublish.succeeded", "csi.nodeunpublish.succeeded"})
OVERLAP, LEFT, CLEAN = "volume.handover.overlap", "volume.handover.left", "volume.handover.clean"
HANDED_OVER = frozenset({OVERLAP, LEFT, CLEAN})
TOLERANCE = 2 * SECOND  # of clocks without known skew
REFUSED = "volume.multi-attach"
FORCED_DETACHES = frozenset({"volume.detach.forced", "volume.detach.out-of-service"})
HANDOVER_EVIDENCE = STAGED | UNSTAGED | PUBLISHED | UNPUBLISHED | FORCED_DETACHES | {REFUSED}
EXCLUSIVE, UNKNOWN = "exclusive", "unknown"
# Drivers of network file systems, which any number of nodes may mount; operators put a prefix before some.
NETWORK_FILE_SYSTEMS = (
    "nfs.csi.k8s.io",
    "smb.csi.k8s.io",
    "cephfs.csi.ceph.com",
    "nfs.csi.ceph.com",
    "efs.csi.aws.com",
    "fsx.csi.aws.com",
    "s3.csi.aws.com",
    "file.csi.azure.com",
    "blob.csi.azure.com",
    "filestore.csi.storage.gke.io",
    "gcsfuse.csi.storage.gke.io",
    "csi.juicefs.com",
    "manila.csi.openstack.org",
    "org.gluster.glusterfs",
)
# Drivers of disks. Some disks may be mounted on several nodes, but read-only. EBS attaches a disk to several nodes only
# raw (io2, volumeMode Block), which kubelet does not stage with MountDevice, and a driver's log has its access mode.
ONE_NODE_DISKS = ("ebs.csi.aws.com", "dobs.csi.digitalocean.com", "csi.hetzner.cloud")
DISKS = (
    *ONE_NODE_DISKS,
    "pd.csi.storage.gke.io",
    "disk.csi.azure.com",
    "cinder.csi.openstack.org",
    "rbd.csi.ceph.com",
)


class _Staging:
    """A volume staged on a node: since when, and the pods that use it there."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.pods: set[str] = set()
        self.was_used = False


class _Sharing:
    """Decides whether several nodes may mount a volume, by its events."""

    def __init__(self, events: Iterable[Event]) -> None:
        """Read the volume's driver, and the access mode in its driver's calls."""
        driver, mode = "", ""
        self._refused = False
        self._force_detached: dict[str, int] = {}
        for event in events:
            driver = driver or event.ref("driver")
            mode = event.attrs.get("access_mode") or mode
            self._refused = self._refused or event.kind == REFUSED
            if event.kind in FORCED_DETACHES:
                self._force_detached[event.ref("node")] = event.time
        self.is_shared = mode == "MULTI" or _is_of(driver, NETWORK_FILE_SYSTEMS)
        self._is_single = mode == "SINGLE"
        self._is_disk, self._is_of_one_node = _is_of(driver, DISKS), _is_of(driver, ONE_NODE_DISKS)

    def state(self, node: str, staging: _Staging) -> str:
        """Return `exclusive` if only one node may mount the volume, which is staged on this one."""
        is_left = self._is_of_one_node and not staging.pods
        is_forced = self._is_disk and self.is_force_detached(node, staging)
        return EXCLUSIVE if self._refused or self._is_single or is_forced or is_left else UNKNOWN

    def is_force_detached(self, node: str, staging: _Staging) -> bool:
        """Return whether the controller force-detached the volume from this node since it was staged there."""
        return self._force_detached.get(node, 0) > staging.since


def _is_of(driver: str, drivers: Iterable[str]) -> bool:
    return any(driver == one or driver.endswith(f".{one}") for one in drivers)


def handovers(events: Sequence[Event], clocks: Mapping[str, Skew]) -> Iterator[Event]:
    """Yield the hand-overs of one volume, from its events in order of time, when the second node staged it."""
    places: dict[str, _Staging] = {}
    left: dict[str, int] = {}
    sharing = _Sharing(events)
    of_nodes = sorted(
        ((event.time - offset(clocks.get(event.node)), event) for event in events if event.node),
        key=lambda pair: pair[0],
    )
    unstaged: dict[str, list[int]] = defaultdict(list)
    for time, event in of_nodes:
        if event.kind in UNSTAGED:
            unstaged[event.node].append(time)
    for time, event in of_nodes:
        node, pod = event.node, event.ref("pod_uid")
        if event.kind in STAGED:
            still = {other: at for other, at in places.items() if not _follows(unstaged[other], time)}
            yield from _arrivals(event, time, still, left, sharing)
            places.setdefault(node, _Staging(time))
        elif event.kind in PUBLISHED and node in places:
            places[node].pods.add(pod)
            places[node].was_used = True
        elif event.kind in UNPUBLISHED and node in places:
            places[node].pods.discard(pod)
        elif event.kind in UNSTAGED and node in places:
            del places[node]
            left[node] = time


def _follows(times: Sequence[int], time: int) -> bool:
    """Return whether one of these times follows so closely that clock skew may have changed the order."""
    return bisect_left(times, time) < bisect_right(times, time + CLOCKS_DIFFER)


def _arrivals(
    event: Event, time: int, places: Mapping[str, _Staging], left: dict[str, int], sharing: _Sharing
) -> Iterator[Event]:
    node = event.node
    if node in places:
        return
    for other, staging in places.items() if not sharing.is_shared else ():
        state = sharing.state(other, staging)
        is_left = staging.was_used and (
            state == EXCLUSIVE or not staging.pods or sharing.is_force_detached(other, staging)
        )
        if other != node and is_left and time - staging.since > TOLERANCE:
            yield _event(event, OVERLAP, other, "it was still staged there", state)
            yield _event(event, LEFT, other, "it was staged on another node", state)._replace(node=other)
    for other, since in list(left.items()):
        if other != node and not places:
            yield _event(event, CLEAN, other, f"unstaged {format_duration(max(0, time - since))} before")
    left.clear()


def _event(event: Event, kind: str, other: str, reason: str, state: str = "") -> Event:
    attrs = {"from_node": other, "to_node": event.node, "reason": reason, "state": state}
    return event._replace(kind=kind, attrs=attrs, component="")
