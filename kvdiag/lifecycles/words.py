"""What people call events that lead to no state, wherever they are told."""

from __future__ import annotations

from collections.abc import Mapping

from kvdiag.lifecycles import pod, runtime, volume
from kvdiag.lifecycles.machine import Machine

_MORE: Mapping[str, str] = {
    "pod.updated": "UPDATE",
    "pod.reconciled": "RECONCILE",
    "pod.status.patched": "status sent to the API",
    "pod.delete-delayed": "stays in the API until its worker has finished",
    "pod.resources.waiting": "stays in the API, since something of it is left",
    "pod.resources.reclaimed": "nothing of it is left",
    "pod.worker.started": "worker begins a piece of work",
    "pod.worker.done": "worker ended a piece of work",
    "pod.worker.cancelled": "work at hand cancelled",
    "pod.worker.stopped": "worker is gone",
    "pod.worker.requeued": "worker has more to do",
    "pod.sync.exited": "sync ended",
    "pod.terminating.grace": "grace period set",
    "pod.terminating.states": "how its containers ended",
    "pod.terminating.exited": "stopping the containers ended",
    "pod.finalising.exited": "cleaning up ended",
    "pod.probe.failed": "a probe failed",
    "pod.probe.changed": "its probes say otherwise than before",
    "pod.recreated": "a pod of the same name came under another UID",
    "image.pull.started": "an image is to be fetched",
    "image.pull.succeeded": "an image was fetched",
    "image.pull.failed": "an image could not be fetched",
    "shim.leaked": "a shim was left behind",
    "shim.cleanup.failed": "containerd could not clean up after a shim",
    "container.exec.failed": "a command in a container failed",
    "pod.image.pulling": "an image is to be fetched",
    "pod.image.pulled": "an image was fetched",
    "cri.network.adding": "its network is to be made",
    "cri.network.added": "its network is there",
    "pod.mirror.creating": "a mirror is made for the API",
    "pod.mirror.deleting": "its mirror is to be deleted",
    "pod.mirror.deleted": "its mirror did not match and was deleted",
    "container.unwanted": "a container must go: changed, unhealthy or not in the pod",
    "pod.orphan.volume-cleaned": "a leftover of a volume removed",
    "pod.orphan.mounted": "volumes of the gone pod are still mounted",
    "pod.orphan.containers": "containers of a pod without object are killed",
    "pod.orphan.cpu-reduced": "its CPU shares are reduced until its cgroup can go",
    "pod.orphan.cgroup-removed": "its cgroup is removed",
    "container.pleg": "a container or sandbox changed its state",
    "runtime.status.failed": "the runtime has no answer about a container",
    "shim.cleaning": "containerd cleans up after a shim",
    "sandbox.stopping": "the kubelet stops the sandbox",
    "csi.nodeunpublish.unmounted": "unpublished, says the driver",
    "csi.target.removing": "the kubelet removes the target folder",
    "csi.target.not-mounted": "nothing is mounted at the target",
    "csi.volume-data.saved": "vol_data.json written",
    "csi.volume-data.deleted": "vol_data.json deleted",
    "csi.createvolume.called": "CreateVolume called",
    "csi.createvolume.succeeded": "CreateVolume succeeded",
    "csi.createvolume.failed": "CreateVolume failed",
    "csi.deletevolume.called": "DeleteVolume called",
    "csi.deletevolume.succeeded": "DeleteVolume succeeded",
    "csi.deletevolume.failed": "DeleteVolume failed",
    "volume.stage.skipped": "the driver has no staging",
    "reconstruct.started": "the kubelet looks for volumes on disk",
    "reconstruct.finished": "all volumes on disk looked at",
    "cri.task-exit": "a container's process ended",
    "cri.container.killing": "a container's grace is over: it is killed",
    "cri.container.removed": "a container is removed",
    "cri.sandbox.removed": "the sandbox is removed",
    "cri.sandbox.forced": "the sandbox is stopped by force",
    "sandbox.removing": "garbage collection removes the sandbox",
    "shim.disconnected": "a shim ended",
    "node.registered": "the node is registered",
    "node.ready": "the node is ready",
    "node.not-ready": "the node is not ready",
    "node.shutdown": "the node shuts down",
    "node.booted": "the node was booted",
    "node.rebooted": "the node came back from a reboot",
    "node.eviction.reclaiming": "the node runs out of a resource",
    "runtime.booted": "runtime serves calls",
    "runtime.call.failed": "a call to the runtime failed",
    "runtime.call.reported": "a call to the runtime failed",
    "runtime.restarted": "runtime is started again",
    "runtime.stopping": "runtime is being stopped",
    "journal.suppressed": "journald dropped lines",
    "csi.connection.lost": "a sidecar lost its driver",
    "csi.driver.listening": "a driver takes calls",
    "kernel.oom-kill": "the kernel killed a process for want of memory",
    "kernel.oom-victim": "a process reached its limit of memory and was killed",
    "kernel.oom-node": "the node had no memory left, a process was killed",
    "kernel.task.hung": "a process hangs in the kernel",
    "kernel.disk.failed": "a disk did not read or write",
    "kernel.filesystem.failed": "a file system failed",
    "kernel.filesystem.read-only": "a file system is read-only now",
    "kernel.xfs.duplicate": "a file system of the same UUID is mounted",
    "kernel.nfs.silent": "an NFS server does not answer",
    "kernel.nfs.back": "the NFS server answers again",
    "kernel.nfs.changed": "an NFS server has other files",
    "kernel.path.failed": "a path to a disk failed",
}
_MACHINES = (
    runtime.NODE,
    runtime.DRIVER,
    pod.MACHINES["1.21"],
    pod.MACHINES["1.27"],
    volume.MACHINES["volume/non-staging", False, True],
    volume.MACHINES["volume/filesystem", False, True],
)


def _of(whose: str, machine: Machine) -> Mapping[str, str]:
    """A table's words where another subject's timeline tells them: `a container was sent the signal to end`."""
    return {
        kind: f"{whose}'s {step.says[4:]}" if step.says.startswith("its ") else f"{whose} {step.says}"
        for kind, step in machine.steps.items()
    }


WORDS: Mapping[str, str] = {
    **_of("a container", runtime.CONTAINER),
    **_of("the sandbox", runtime.SANDBOX),
    **{kind: step.says for machine in _MACHINES for kind, step in machine.steps.items()},
    **_MORE,
}
"""By kind of event; what a volume's own table says wins over what a pod's says of it."""
