"""The life of a pod, by kubelet era.

    ABSENT → ADDED → SYNC → RUNNING → TERMINATING → TERMINATED → FINISHED → REMOVED → FORGOTTEN

Up to 1.21 no worker tells its states: only the object (ADD, DELETE, REMOVE), its status and the containers are seen.
From 1.22 on the worker does; from 1.27 on it also waits until the folders of the volumes are gone. FORGOTTEN is the end
of its history, ORPHAN a removed pod whose folder cannot be.

BACKOFF is what a crash loop and an image that cannot be fetched lead to, from the first such error until a container
starts; in EXITED no container runs, and nothing tells what comes next: a restart, the end of a job, or of the pod.

The API knows a static pod by its mirror, which has another UID: what is said of the mirror moves the mirror alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvdiag.clock import MINUTE, SECOND, duration
from kvdiag.lifecycles.containers import BOX_ENDS, ENDS, GONE, LAST
from kvdiag.lifecycles.machine import ALL, Machine, OrderConstraint, Step, states
from kvdiag.model.event import Event
from kvdiag.regex import lazy_regex

_OVER = states("TERMINATED FINISHED REMOVED FORGOTTEN ORPHAN")
_ENDING = _OVER | states("TERMINATING")
_UP = states("RUNNING BACKOFF") | _ENDING
_NEW = states("BACKOFF") | _ENDING  # a pod has one sandbox at a time: in a new one nothing runs yet
_DONE = states("FINISHED REMOVED FORGOTTEN ORPHAN")

_OBJECT: Mapping[str, Step] = {
    "pod.added": Step("ADD", "ADDED", _UP - states("REMOVED FORGOTTEN ORPHAN") | states("SYNC EXITED")),
    "pod.deleted": Step("DELETE", "TERMINATING", _OVER),
    "pod.removed": Step("REMOVE", "REMOVED", states("FORGOTTEN")),
    "pod.api-deleted": Step("the API may drop the pod", "FINISHED", _DONE),
    "pod.evicted": Step("evicted", "TERMINATING", _OVER),
    "pod.preempted": Step("preempted", "TERMINATING", _OVER),
    "pod.shutdown.killing": Step("ended, since the node shuts down", "TERMINATING", _OVER),
    "pod.orphan.volumes": Step("its folder cannot be removed: volumes are left in it", "ORPHAN"),
    "pod.orphan.removed": Step("its folder is removed", "FORGOTTEN"),
    "pod.orphan.unseen": Step("containers of a pod unseen since the start are killed"),
}
_START: Mapping[str, Step] = {
    "pod.volumes.mounting": Step("waits for its volumes", "SYNC", _UP),
    "pod.volumes.mounted": Step("all volumes mounted", "SYNC", _UP),
    "pod.volumes.timeout": Step("its volumes were not mounted in time", "SYNC", _UP),
    "sandbox.needed": Step("needs a sandbox"),
    "sandbox.creating": Step("sandbox asked for", "SYNC", _NEW),
    "cri.sandbox.running": Step("sandbox asked for", "SYNC", _NEW),
    "sandbox.created": Step("sandbox created", "SYNC", _NEW),
    "cri.sandbox.started": Step("sandbox runs", "SYNC", _NEW),
    "sandbox.create.failed": Step("sandbox could not be made", "SYNC", _NEW),
    "cri.sandbox.failed": Step("sandbox could not be made", "SYNC", _NEW),
    "pod.sync.failed": Step("an attempt to sync failed", "SYNC", _UP),
    "pod.sync.failed:sandbox": Step("an attempt to sync failed", "SYNC", _NEW),
    "pod.sync.failed:start": Step("an attempt to sync failed", "SYNC", _ENDING),
    "pod.sync.failed:backoff": Step("an attempt to sync failed", "BACKOFF", _ENDING),
    "pod.sync.failed:kill": Step("an attempt to sync failed"),
    "container.image.failed": Step("an image could not be fetched", "SYNC", _NEW),
    "container.start.failed": Step("a container could not be started", "SYNC", _NEW),
    "container.backoff": Step("a container waits to be started again", "BACKOFF", _ENDING),
    "cri.container.creating": Step("a container was asked for", "SYNC", _UP),
    "cri.container.created": Step("container made", "SYNC", _UP),
    "cri.container.starting": Step("a container is to be started", "SYNC", _UP),
    "cri.container.create-failed": Step("a container could not be made", "SYNC", _UP),
    "cri.container.started": Step("container runs", "RUNNING", _ENDING),
    "cri.container.started:init": Step("init container runs", "SYNC", _UP),
    "container.init.started": Step("init container started", "SYNC", _UP),
    "pod.pleg:SandboxStarted": Step("sandbox runs", "SYNC", _UP),
    "pod.pleg:ContainerStarted": Step("container runs", "RUNNING", _ENDING),
    "pod.pleg:InitStarted": Step("init container runs", "SYNC", _UP),
    "pod.pleg:ContainerDied": Step("a container or sandbox ended"),
    "pod.pleg:ContainerStarted:seen": Step("container ran"),
    "cri.container.started:seen": Step("container ran"),
    "container.killing": Step("a container is asked to end"),
    "container.kill.failed": Step("a container could not be ended"),
    "container.finished": Step("a container ended"),
    "container.exited": Step("a container ended"),
    "cri.container.stopped": Step("a container ended"),
    "cri.sandbox.stopping": Step("the sandbox is to be stopped"),
    "cri.sandbox.stopped": Step("the sandbox is stopped"),
}
_ENDED: Mapping[str, Step] = {
    "cri.container.removed": Step("a container is removed"),
    "cri.task-exit": Step("a container's process ended"),
    "shim.disconnected": Step("a shim ended"),
    "cri.sandbox.exited": Step("the sandbox ended"),
    "cri.sandbox.removed": Step("the sandbox is removed"),
    **_START,
}
# The same where no container runs after it; in back-off one waits all the same, unless the sandbox is gone too.
_LAST: Mapping[str, Step] = {
    **{f"{kind}:{LAST}": Step(_ENDED[kind].says, "EXITED", _NEW) for kind in ENDS},
    **{f"{kind}:{GONE}": Step(_ENDED[kind].says, "EXITED", _ENDING) for kind in ENDS | BOX_ENDS},
}
_DISPATCHED: Mapping[str, Step] = {  # up to 1.21; all but the killer's lines are printed later too, beside the worker's
    "pod.evicted": Step("evicted: its containers are ended", "TERMINATED", _DONE),  # told when they are
    "pod.kill-marked": Step("is to be killed"),
    "pod.kill-pending": Step("is still being killed"),
    "pod.kill-ended": Step("the attempt to kill it ended"),
    "pod.status.succeeded": Step("all its containers succeeded", "TERMINATED", _DONE),
    "pod.status.failed": Step("failed", "TERMINATED", _DONE | states("TERMINATING")),  # may be told ahead of the kill
    "pod.resources.waiting": Step("something of it is left", "TERMINATING", _OVER),
    "pod.volumes.waiting": Step("folders of its volumes are left", "TERMINATED", _DONE),
    "pod.work.complete": Step("all its containers ended after its deletion", "TERMINATED", _DONE),
    "pod.work.ignored": Step("completed: nothing more is done for it", "FINISHED", _DONE),
}
_WORKER: Mapping[str, Step] = {
    "pod.worker.created": Step("worker created"),
    "pod.worker.broken": Step("the worker is in a state that cannot be"),
    "pod.worker.blocked": Step("waits for another pod of the same name to end"),
    "pod.worker.restartable": Step("may start again under the same UID", "ADDED"),
    "pod.worker.restarting": Step("starts again", "ADDED"),
    "pod.sync.entered": Step("sync begins", "SYNC", states("RUNNING BACKOFF EXITED")),
    "pod.worker.graceful": Step("worker begins the end: deleted", "TERMINATING"),
    "pod.worker.evicted": Step("worker begins the end: evicted", "TERMINATING"),
    "pod.worker.terminal": Step("worker begins the end: succeeded or failed", "TERMINATING"),
    "pod.worker.orphaned": Step("worker begins the end: the pod has no object", "TERMINATING"),
    "pod.worker.observed": Step("worker told to end the pod", "TERMINATING", _OVER),
    "pod.worker.kept": Step("still not fully terminated", "TERMINATING", states("TERMINATED FINISHED")),
    "pod.worker.never-starts": Step("ended before it could start", "TERMINATED"),
    "pod.terminating.entered": Step("containers are to be stopped", "TERMINATING", states("TERMINATED FINISHED")),
    "pod.terminating.failed": Step("stopping the containers failed"),
    "pod.terminating.stopped": Step("no container runs", "TERMINATING", states("TERMINATED FINISHED")),
    "pod.terminated": Step("all containers terminated", "TERMINATED"),
    "pod.finalising.entered": Step("cleaning up after the pod", "TERMINATED", states("FINISHED")),
    "pod.volumes.unmounting": Step("waits until its volumes are unmounted", "TERMINATED", _DONE),
    "pod.volumes.unmounted": Step("all volumes unmounted", "TERMINATED", _DONE),
    "pod.cgroup.removed": Step("cgroup removed"),
    "pod.final": Step("needs no more status updates", "TERMINATED", states("FINISHED")),
    "pod.worker.complete": Step("worker complete", "FINISHED"),
    "pod.worker.finished": Step("worker finished", "FINISHED", states("REMOVED FORGOTTEN")),
    "pod.delete-allowed": Step("the API may drop the pod", "FINISHED", _DONE),
    "pod.kill-requested": Step("what still runs of it must go"),
    "pod.worker.history-removed": Step("history removed", "FORGOTTEN", forgets=states("TERMINATED ADDED")),
}
_FOLDERS: Mapping[str, Step] = {
    "pod.volumes.waiting": Step("folders of its volumes are left", "TERMINATED", _DONE),
    "pod.volumes.cleaned": Step("no folder of a volume is left", "TERMINATED", _DONE),
}
_MUSTS = (
    OrderConstraint("TERMINATING", "FORGOTTEN", "ADDED"),  # P1
    OrderConstraint("SYNC", "FORGOTTEN", "ADDED"),  # P1
    OrderConstraint("SYNC", "TERMINATED", "ADDED"),
)
_WAITS: Mapping[str, str] = {
    "ADDED": "the kubelet to sync the pod",
    "SYNC": "its containers to run",
    "BACKOFF": "the next try to start its container",
    "TERMINATING": "its containers to end",
    "TERMINATED": "volumes to be unmounted",
    "ORPHAN": "leftovers of its volumes to be removed",
}
VOLUMES = "volumes to be mounted"
INITS = "its init containers to end"
# More closely, by the last step of the state.
WAITS_AFTER: Mapping[str, tuple[str, str]] = {
    "pod.volumes.mounting": ("SYNC", VOLUMES),
    "pod.volumes.timeout": ("SYNC", VOLUMES),
    "volume.publish.failed": ("SYNC", VOLUMES),
    "volume.stage.failed": ("SYNC", VOLUMES),
    "sandbox.creating": ("SYNC", "RunPodSandbox"),
    "cri.sandbox.running": ("SYNC", "RunPodSandbox"),
    "sandbox.create.failed": ("SYNC", "RunPodSandbox"),
    "cri.sandbox.failed": ("SYNC", "RunPodSandbox"),
    "container.image.failed": ("SYNC", "its image"),
    "cri.container.creating": ("SYNC", "CreateContainer"),
    "cri.container.starting": ("SYNC", "StartContainer"),
    "container.start.failed": ("SYNC", "StartContainer"),
    "cri.container.started": ("SYNC", INITS),
    "container.init.started": ("SYNC", INITS),
    "pod.volumes.waiting": ("TERMINATED", "volumes to be unmounted"),
    "pod.volumes.cleaned": ("TERMINATED", "the worker to finish"),
    "pod.cgroup.removed": ("TERMINATED", "the worker to finish"),
}
# By a word of the error with which a container was not started.
WAITS_BY_ERROR: Mapping[str, str] = {
    "InvalidImageName": "its image",
    "ErrImage": "its image",
    "ImagePullBackOff": "its image",
    "CreateContainerConfigError": "its configuration",
}
RUNNING = "RUNNING"
LOOPING, TRYING = states("RUNNING EXITED SYNC"), states("SYNC BACKOFF")  # between two back-offs; what may fail again
BACKOFF = "BACKOFF"
# How long after a failure that lasts the kubelet tells of it again: in back-off its next look at the pod is 10 to 15
# seconds later, or when the back-off ends, but no more than 90; a call to the runtime or a mount may take 4 minutes.
_PATIENCE, _LONGEST, _SLACK = 15 * SECOND, 90 * SECOND, 5 * SECOND
_CALL = 5 * MINUTE
_LASTING = frozenset({"pod.sync.failed", "container.start.failed", "container.image.failed", "container.backoff"})
_BACKED_OFF = lazy_regex(r"[Bb]ack-off (\d[\dhms.]*) restarting")
_IN_BACKOFF = ("CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull")
_FAILED_AT: Mapping[str, str] = {  # by a word of the error with which an attempt to sync failed
    'failed to "KillPodSandbox"': "kill",
    'failed to "KillContainer"': "kill",
    "error killing pod": "kill",
    'failed to "CreatePodSandbox"': "sandbox",
    'failed to "StartContainer"': "start",
}
VOLUMES_MOUNTED = "pod.volumes.mounted"
WHEN_DELETED = "the API server to delete the pod"
REBOOTED: Mapping[str, str] = {"RUNNING": "EXITED", "BACKOFF": "EXITED"}
_ENDS = states("ABSENT RUNNING EXITED FINISHED REMOVED FORGOTTEN")


def failed_at(error: str) -> str:
    """What an attempt to sync a pod failed at: `backoff`, `start`, `sandbox` or `kill`; empty for anything else."""
    if any(f"with {word}" in error for word in _IN_BACKOFF):
        return "backoff"
    return next((step for words, step in _FAILED_AT.items() if words in error), "")


def silence(event: Event) -> int | None:
    """After how long a silence of the kubelet a failure is over; None for what is not told again while it lasts."""
    if event.kind not in _LASTING:
        return None
    error = event.attrs.get("error", "")
    if event.kind != "container.backoff" and failed_at(error) != "backoff":
        return _CALL
    told = _BACKED_OFF.search(error)
    waits = duration(event.attrs.get("backoff", "") or (told[1] if told else "")) or _LONGEST
    return max(_PATIENCE, min(waits * 3 // 2, _LONGEST)) + _SLACK


def _machine(era: str, steps: Mapping[str, Step], musts: tuple[OrderConstraint, ...]) -> Machine:
    return Machine(name=f"pod/{era}", steps=steps, musts=musts, ends=_ENDS, waits=_WAITS, reboot=REBOOTED)


_ALL = {**_OBJECT, **_START, **_LAST, **_WORKER, **_FOLDERS}
MIRRORED = frozenset({"pod.added", "pod.deleted", "pod.removed"})  # with `:mirror` where the API says it
# A static pod's object comes and goes with its file, under one UID; a mirror that is deleted is only made again.
_STATIC = {
    **_ALL,
    "pod.added": Step("ADD", "ADDED", states("SYNC RUNNING TERMINATING"), forgets=ALL),
    "pod.added:mirror": Step("ADD of its mirror"),
    "pod.deleted:mirror": Step("DELETE of its mirror"),
    "pod.removed:mirror": Step("REMOVE of its mirror"),
}
_MIRROR: Mapping[str, Step] = {
    "pod.added": Step("ADD", "ADDED"),
    "pod.mirror.deleting": Step("the kubelet deletes the mirror", "TERMINATING", _OVER),
    "pod.mirror.deleted": Step("the mirror did not match", "FINISHED", _DONE),
    "pod.deleted": Step("DELETE", "FINISHED", _DONE),
    "pod.removed": Step("REMOVE", "REMOVED"),
}
MACHINES: Mapping[str, Machine] = {
    "1.21": Machine(
        name="pod/1.21",
        steps={**_OBJECT, **_START, **_LAST, **_DISPATCHED},
        ends=_ENDS,
        reboot=REBOOTED,
        waits={**_WAITS, "TERMINATED": ""},  # unless a line says for what: no line says that all is unmounted
    ),
    "1.22": _machine("1.22", {**_OBJECT, **_START, **_LAST, **_WORKER}, _MUSTS),
    "1.27": _machine("1.27", _ALL, _MUSTS),
    "static": _machine("static", _STATIC, _MUSTS),
    "mirror": Machine(
        name="pod/mirror",
        steps=_MIRROR,
        ends=_ENDS | states("ADDED"),
        waits={"TERMINATING": "the API server to delete the pod"},
    ),
}
