"""Refine the steps of pods and their containers by what their events say beyond their kinds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from kvdiag.base.clock import MINUTE, SECOND, parse_duration
from kvdiag.base.regex import lazy_regex
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.history.lifecycles.machine import NONE, Machine
from kvdiag.model.event import Event
from kvdiag.model.timeline import Coverage
from kvdiag.model.values import SubjectKind

# How long after a failure that lasts the kubelet prints it again: in back-off its next look at the pod is 10 to 15
# seconds later, or when the back-off ends, but no more than 90; a call to the runtime or a mount may take 4 minutes.
_PATIENCE, _LONGEST, _SLACK = 15 * SECOND, 90 * SECOND, 5 * SECOND
_CALL = 5 * MINUTE
_BACKED_OFF = lazy_regex(r"[Bb]ack-off (\d[\dhms.]*) restarting")


def failed_at(error: str) -> str:
    """What an attempt to sync a pod failed at: `backoff`, `start`, `sandbox` or `kill`; empty for anything else."""
    known = lifecycles().definition(SubjectKind.POD).errors.items() if error else ()
    return next((detail for detail, texts in known if any(text in error for text in texts)), "")


def silence_limit(event: Event) -> int | None:
    """After how long a silence of the kubelet a failure is over; None for what is not printed again while it lasts."""
    if event.kind not in lifecycles().kinds(SubjectKind.POD, "lasts"):
        return None
    error = event.attrs.get("error", "")
    backs_off = event.kind in lifecycles().kinds(SubjectKind.POD, "backs-off")
    if not backs_off and failed_at(error) != "backoff":
        return _CALL
    backoff_match = _BACKED_OFF.search(error)
    waits = parse_duration(event.attrs.get("backoff", "") or (backoff_match[1] if backoff_match else "")) or _LONGEST
    return max(_PATIENCE, min(waits * 3 // 2, _LONGEST)) + _SLACK


LAST, GONE, SEEN = "last", "gone", "seen"  # details: no container runs; nor the sandbox; printed after its end


class Containers:
    """The containers of one pod, as its events are gone through in order of time."""

    def __init__(self, machine: Machine, sandboxes: AbstractSet[str]) -> None:
        """`machine` says what each kind does; `sandboxes` are the ids of all sandboxes of the history."""
        self._steps = machine.steps
        self._sandboxes = sandboxes
        self._sandbox = ""  # the sandbox made last; empty where no line named it
        self._is_whole = False  # whether that was made before our eyes, so that all its containers are known
        self._running: set[str] = set()
        self._over: set[str] = set()

    def refined(self, kind: str, event: Event) -> str:
        """The kind, with what the event means to the pod where that is more than the kind says."""
        flags = self._steps[kind].flags if kind in self._steps else NONE
        if "makes-sandbox" in flags:
            self._start_sandbox(event.ref("sandbox_id"))
        elif "starts-container" in flags:
            return self._start(kind, _id(event))
        elif "ends-sandbox" in flags or ("ends-container" in flags and self._is_sandbox(_id(event))):
            return self._end_sandbox(kind, event.ref("sandbox_id") or _id(event))
        elif "ends-container" in flags:
            return self._end(kind, _id(event))
        return kind

    def _is_sandbox(self, one: str) -> bool:
        return bool(one) and (one in self._sandboxes or one == self._sandbox)

    def _start_sandbox(self, sandbox: str) -> None:
        if not sandbox or sandbox != self._sandbox:
            self._running.clear()
            self._is_whole = True
        self._sandbox = sandbox or self._sandbox

    def _start(self, kind: str, one: str) -> str:
        if one in self._over:
            return f"{kind}:{SEEN}"
        self._running.add(one)
        return kind

    def _end(self, kind: str, one: str) -> str:
        was_running = one in self._running
        self._running.discard(one)
        self._over.add(one)
        return f"{kind}:{LAST}" if was_running and self._is_whole and not self._running else kind

    def _end_sandbox(self, kind: str, sandbox: str) -> str:
        """An older sandbox that is removed later says nothing."""
        if self._sandbox and sandbox and sandbox != self._sandbox:
            return kind
        self._over |= self._running
        self._running.clear()
        return f"{kind}:{GONE}"


def _id(event: Event) -> str:
    """The id of a container, without `containerd://`; of the PLEG's events that of container or sandbox."""
    named = event.ref("container_id").rpartition("/")[2]
    return named or event.attrs.get("data", "") or event.ref("sandbox_id")


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
            case "pod.sync.failed" if at := failed_at(event.attrs.get("error", "")):
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
