"""Kinds of events, refined by a detail where that decides which step of a machine they are.

What started is told from the rest of the life: a sandbox or a container, and an init container or one that makes the
pod run. `ContainerStarted` names an id only, so does containerd's `StartContainer for`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from kvdiag.base.clock import SECOND
from kvdiag.history.lifecycles import pod
from kvdiag.history.lifecycles.containers import Containers
from kvdiag.history.lifecycles.machine import Machine
from kvdiag.model.event import Event
from kvdiag.model.timeline import Coverage

CUT_NEAR = 5_000  # microseconds: a log that begins this close to a staging may have lost the line that it was skipped
STARTING = 10 * SECOND  # a driver and its sidecars tell of their start within this time
DRIVER = "csi-driver"


def refined(
    machine: Machine, events: Sequence[Event], sandboxes: AbstractSet[str], coverage: Sequence[Coverage]
) -> Iterator[tuple[str, Event]]:
    """Each event of a life with its kind, `kind:detail` where the machine has a step for that."""
    starts = _Starts(events, sandboxes)
    containers = Containers(machine, sandboxes) if machine.name.startswith("pod/") else None
    for kind, event in _detailed(machine, events, starts, coverage):
        yield containers.refined(kind, event) if containers else kind, event


def _detailed(
    machine: Machine, events: Sequence[Event], starts: _Starts, coverage: Sequence[Coverage]
) -> Iterator[tuple[str, Event]]:
    """Each event with its kind, and the detail that tells what started or failed."""
    staging = any(event.kind.startswith("csi.nodestage.") for event in events)
    for event in events:
        match event.kind:
            case "pod.pleg":
                yield f"pod.pleg:{starts.pleg(event)}", event
            case "container.pleg":
                yield f"container.pleg:{event.attrs.get('new_state', '')}", event
            case "cri.container.started" if machine.name.startswith("pod/"):
                is_init = starts.is_init(event.ref("container_id"), event.time)
                yield f"cri.container.started{':init' if is_init else ''}", event
            case "pod.sync.failed" if at := pod.failed_at(event.attrs.get("error", "")):
                yield f"pod.sync.failed:{at}", event
            case "volume.stage.succeeded" if not staging and _is_cut(event, coverage):
                yield "volume.stage.succeeded:first", event
            case "csi.driver.banner":
                yield f"csi.driver.banner{_banner(event, events[0])}", event
            case kind if event.attrs.get("source") == "api" and f"{kind}:mirror" in machine.steps:
                yield f"{kind}:mirror", event
            case kind:
                yield kind, event


class _Starts:
    """What it is that started in a pod."""

    def __init__(self, events: Sequence[Event], sandboxes: AbstractSet[str]) -> None:
        inits = [event for event in events if event.kind == "container.init.started"]
        self._init_names = {event.attrs.get("container_name", "") for event in inits}
        self._init_times = [event.time for event in inits]
        self._names = {
            event.ref("container_id"): event.attrs.get("container_name", "")
            for event in events
            if event.kind == "cri.container.created"
        }
        self._sandboxes = sandboxes
        self._first = ""  # the first id to start, which is the sandbox where no line names one
        self._nameless: set[str] = set()

    def pleg(self, event: Event) -> str:
        """`SandboxStarted` and `InitStarted` for what is called ContainerStarted alike."""
        event_type, identity = event.attrs.get("event_type", ""), event.attrs.get("data", "")
        if event_type not in {"ContainerStarted", "ContainerDied"} or not identity:
            return event_type
        if event_type == "ContainerStarted":
            self._first = self._first or identity
        if identity in self._sandboxes or (identity == self._first and not self._sandboxes):
            return event_type.replace("ContainerStarted", "SandboxStarted")
        is_init = self.is_init(identity, event.time)
        return event_type.replace("ContainerStarted", "InitStarted") if is_init else event_type

    def is_init(self, container_id: str, time: int) -> bool:
        """By the name it was made under; without one, as many are taken for it as init containers were started.

        Init containers come first, one after the other, so those that follow are none.
        """
        if not self._init_times:
            return False
        if container_id in self._names:
            return self._names[container_id] in self._init_names
        self._nameless.add(container_id)
        return len(self._nameless) <= bisect_right(self._init_times, time)


def _banner(event: Event, first: Event) -> str:
    """A sidecar tells its driver's name too; a driver that was heard of before was started again."""
    if event.component != DRIVER:
        return ":sidecar"
    return ":again" if event.time - first.time > STARTING else ""


def _is_cut(event: Event, coverage: Sequence[Coverage]) -> bool:
    """Whether the log begins so close before a staging that the line about its skipping may be cut off."""
    mine = [c for c in coverage if c.component == "kubelet" and c.node in {event.node, ""}]
    return bool(mine) and min(c.begins for c in mine) >= event.time - CUT_NEAR
