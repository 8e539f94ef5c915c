"""The lives of what the runtime makes, of drivers, and of the node.

Sandbox: CREATED → READY → STOPPING → STOPPED → REMOVING → REMOVED. Container: CREATED → RUNNING → STOPPING → EXITED →
REMOVED. Driver: SERVING → REGISTERED → RESTARTED | GONE. Node: STARTING → SERVING → READY | NOTREADY → STOPPED.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kvdiag.lifecycles.machine import ALL, Machine, OrderConstraint, Step, states

_DOWN = states("STOPPED REMOVING REMOVED")
_ENDED = states("EXITED REMOVED")

SANDBOX = Machine(
    name="sandbox/cri",
    steps={
        "cri.sandbox.started": Step("runs", "READY"),
        "sandbox.created": Step("created", "READY", _DOWN | states("STOPPING")),
        "cri.container.creating": Step("a container was asked for"),
        "cri.container.created": Step("a container was made"),
        "cri.container.create-failed": Step("a container could not be made"),
        "cri.sandbox.stopping": Step("is to be stopped", "STOPPING", _DOWN, proves=False),
        "cri.network.removed": Step("its network is gone"),
        "cri.network.remove-failed": Step("its network could not be removed"),
        "cri.sandbox.stopped": Step("stopped", "STOPPED", states("REMOVING REMOVED")),
        "cri.sandbox.stop-failed": Step("could not be stopped"),
        "sandbox.stop.failed": Step("could not be stopped"),
        "cri.sandbox.exited": Step("ended", "STOPPED", states("REMOVING REMOVED")),
        "cri.sandbox.forced": Step("stopped by force", "STOPPED", states("REMOVED")),
        "cri.sandbox.unknown": Step("could not be cleaned up", proves=False),
        "sandbox.removing": Step("garbage collection removes it", "REMOVING", states("REMOVED"), proves=False),
        "cri.sandbox.removing": Step("is to be removed", "REMOVING", states("REMOVED"), proves=False),
        "cri.sandbox.removed": Step("removed", "REMOVED"),
        "cri.sandbox.remove-failed": Step("could not be removed"),
        "sandbox.remove.failed": Step("could not be removed"),
    },
    musts=(OrderConstraint("READY", "REMOVED", "CREATED"),),
    ends=states("ABSENT READY STOPPED REMOVED"),
    waits={"STOPPING": "StopPodSandbox", "REMOVING": "RemovePodSandbox"},
    outage="containerd",
)
CONTAINER = Machine(
    name="container/cri",
    steps={
        "cri.container.created": Step("made", "CREATED"),
        "cri.container.starting": Step("is to be started", "CREATED", states("RUNNING STOPPING") | _ENDED),
        "cri.container.started": Step("runs", "RUNNING"),
        "cri.container.start-failed": Step("could not be started"),
        "container.start.failed": Step("could not be started"),
        "container.pleg:running": Step("runs, says the runtime", "RUNNING", states("STOPPING") | _ENDED),
        "container.pleg:exited": Step("ended, says the runtime", "EXITED", states("REMOVED")),
        "container.pleg:non-existent": Step("is gone, says the runtime", "REMOVED"),
        "container.killing": Step("is asked to end", "STOPPING", _ENDED, proves=False),
        "cri.container.stopping": Step("is to end", "STOPPING", _ENDED, proves=False),
        "cri.container.signalled": Step("was sent the signal to end"),
        "cri.container.killing": Step("grace is over, is killed"),
        "cri.container.stop-failed": Step("could not be ended"),
        "container.kill.failed": Step("could not be ended"),
        "container.prestop.failed": Step("its preStop hook failed"),
        "container.oom": Step("lacked memory"),
        "cri.task-oom": Step("lacked memory"),
        "kernel.oom-kill": Step("the kernel killed it for want of memory"),
        "shim.disconnected": Step("its shim ended"),
        "cri.container.stopped": Step("ended", "EXITED", states("REMOVED")),
        "cri.container.not-running": Step("does not run"),
        "container.exited": Step("ended", "EXITED", states("REMOVED")),
        "container.finished": Step("ended", "EXITED", states("REMOVED")),
        "container.removed": Step("is to be removed"),
        "cri.container.removing": Step("is to be removed"),
        "cri.container.removed": Step("removed", "REMOVED"),
        "cri.container.remove-failed": Step("could not be removed"),
    },
    musts=(OrderConstraint("RUNNING", "EXITED", "CREATED"),),
    ends=states("ABSENT RUNNING EXITED REMOVED"),
    waits={"CREATED": "StartContainer", "STOPPING": "the container to end"},
    outage="containerd",
)
DRIVER = Machine(
    name="driver/csi",
    steps={
        "csi.driver.banner": Step("driver started", "SERVING", states("REGISTERED RESTARTED")),
        "csi.driver.banner:again": Step("driver started again", "RESTARTED"),
        "csi.driver.validated": Step("the kubelet found its socket"),
        "csi.driver.registered": Step("the kubelet knows the driver", "REGISTERED"),
        "csi.driver.deregistered": Step("the kubelet forgot the driver", "GONE"),
        "csi.getplugininfo.succeeded": Step("told its name"),
        "csi.getplugininfo.failed": Step("did not tell its name"),
    },
    ends=states("ABSENT REGISTERED SERVING RESTARTED"),
    hides=ALL,
    waits={"GONE": "the driver to be registered again"},
)
NODE = Machine(
    name="node/kubelet",
    steps={
        "kubelet.started": Step("kubelet started", "STARTING"),
        "kubelet.serving": Step("kubelet serves", "SERVING", states("READY NOTREADY")),
        "kubelet.synced": Step("all pods seen once"),
        "node.registered": Step("registered"),
        "node.ready": Step("ready", "READY"),
        "node.not-ready": Step("not ready", "NOTREADY"),
        "node.shutdown": Step("shuts down", "STOPPING"),
        "node.booted": Step("booted"),
        "node.rebooted": Step("came back from a reboot"),
        "node.eviction.reclaiming": Step("runs out of a resource"),
        "kubelet.stopping": Step("kubelet is being stopped", "STOPPING"),
        "kubelet.exiting": Step("kubelet exits", "STOPPED"),
        "kubelet.exited": Step("kubelet exited", "STOPPED"),
        "kubelet.restarted": Step("kubelet is started again", "STARTING"),
        "kubelet.skipping": Step("no pod is started"),
        "runtime.started": Step("runtime started"),
        "runtime.exited": Step("runtime exited"),
        "runtime.not-ready": Step("runtime is not ready"),
        "runtime.panicked": Step("a Go program crashed"),
        "runtime.signalled": Step("runtime was asked to end"),
    },
    ends=states("ABSENT READY SERVING"),
    hides=states("housekeeping.started housekeeping.ended housekeeping.workers kubelet.flag node.event"),
    waits={
        "STARTING": "the kubelet to serve",
        "NOTREADY": "the node to be ready",
        "STOPPING": "the kubelet to end",
        "STOPPED": "the kubelet to be started",
    },
)
CRIO = "crio"
SANDBOXES: Mapping[str, Machine] = {
    SANDBOX.outage: SANDBOX,
    CRIO: replace(SANDBOX, name="sandbox/crio", outage=CRIO),
}
CONTAINERS: Mapping[str, Machine] = {
    CONTAINER.outage: CONTAINER,
    CRIO: replace(CONTAINER, name="container/crio", outage=CRIO),
}
"""By the runtime that speaks of them: its restarts make their state uncertain."""
