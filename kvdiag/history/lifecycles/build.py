"""Timelines → lives: which steps a subject went through, the state each led to, and what it waits for.

A life is replayed on one node. A volume that was on several nodes has a life on each; `LifecycleBuilder.build` joins
them in order of time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from kvdiag.base.clock import MINUTE, SECOND
from kvdiag.history.lifecycles.choose import STATIC, is_static, pod_machine, volume_machine
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.history.lifecycles.machine import NONE, Machine
from kvdiag.history.lifecycles.refine import DRIVER, refined, silence_limit
from kvdiag.history.lifecycles.replay import UNMOVED, replay
from kvdiag.model.event import NAMELESS, Event
from kvdiag.model.lifecycle import Lifecycle, Transition
from kvdiag.model.timeline import Entity, History, Timeline
from kvdiag.model.values import SubjectKind

SKIP_NEAR = 2 * SECOND  # between the line that staging is skipped and the one that it succeeded
BOOTING = 10 * MINUTE  # from the start of the kubelet until it tells of the reboot
LOOP = 10 * MINUTE  # a container that ran for longer begins with the shortest back-off again
LISTED = frozenset({"volume.stage.skipped", "node.ready", "node.not-ready"})
WHEN_DELETED = "the API server to delete the pod"
DETACHES = ("volume.detach.", "volume.attachment.delet", "attacher.d", "csi.controllerunpublish.")


def build_lifecycle(timeline: Timeline, history: History) -> Lifecycle:
    """The life of one subject. For many subjects of one history, make `LifecycleBuilder` once."""
    return LifecycleBuilder(history).build(timeline)


class LifecycleBuilder:
    """The lives of a history's subjects; what befell the nodes is looked up once."""

    def __init__(self, history: History) -> None:
        """`history` gives the restarts, gaps and versions that a single timeline does not show."""
        self._history = history
        self._node_times: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._started: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._reboots: dict[str, list[Event]] = defaultdict(list)
        starts, reboots = (lifecycles().kinds(SubjectKind.NODE, flag) for flag in ("starts", "reboots"))
        for kind, node in history.timelines:
            if kind is SubjectKind.NODE:
                for event in history.timelines.events_of((kind, node)):
                    if event.kind in LISTED:
                        self._node_times[event.kind, node].append(event.time)
                    elif event.kind in starts:
                        self._started[event.component, node].append(event.time)
                    elif event.kind in reboots:
                        self._reboots[node].append(self._at_boot(event, node))
        # In order of time: the last one stays.
        self._ended = {event.origin.source: event.ends for event in history.events}
        self._lost: dict[tuple[str, str], list[int]] = {}
        self._sandboxes = {key for kind, key in history.timelines if kind is SubjectKind.SANDBOX}
        pods = (history.timelines[key] for key in history.timelines if key[0] is SubjectKind.POD)
        self._static = {pod.subject.ids.get("pod", "") for pod in pods if is_static(pod.subject, pod.events)} - {""}
        self._sorted_times: dict[tuple[str, str], list[int]] = {}

    def build(self, timeline: Timeline) -> Lifecycle:
        """The life of one subject, on all its nodes; its state is that of the node it moved on last."""
        lives = self.on_nodes(timeline)
        if len(lives) == 1:
            return lives[0]
        transitions = sorted(
            (p for life in lives for p in life.transitions), key=lambda p: (p.event.time, p.event.origin)
        )
        last = max(lives, key=lambda life: life.since)
        return replace(last, subject=timeline.subject, transitions=tuple(transitions))

    def on_nodes(self, timeline: Timeline) -> tuple[Lifecycle, ...]:
        """One life for each node that a volume was on; one for any other subject."""
        subject = timeline.subject
        if subject.kind is not SubjectKind.VOLUME:
            return (self._life(subject, timeline.events, subject.ids.get("node", "")),)
        parts = _by_node(timeline.events)
        subjects = {node: _on_node(subject, node, events) for node, events in parts.items()}
        return tuple(self._life(subjects[node], events, node) for node, events in parts.items())

    def _life(self, subject: Entity, events: Sequence[Event], node: str) -> Lifecycle:
        machine = self._machine(subject, events)
        outages = self._outages(machine.outage, node)
        if subject.kind is SubjectKind.VOLUME:
            unseen = self._witness_ends(machine.outage, node, events)
            detaches = [e.time for e in events if e.kind.startswith(DETACHES)]
            unseen_detaches = [t for t in detaches if t > unseen or self._is_unready(node, t)]
            outages = sorted([*outages, *unseen_detaches]) if unseen_detaches else outages
        refined_events = refined(machine, events, self._sandboxes, self._history.coverage)
        transitions = tuple(replay(machine, refined_events, outages, self._reboots.get(node, ())))
        state = transitions[-1].state if transitions else machine.begins
        since = _since(machine, transitions) if transitions else events[0].time if events else self._history.begins
        is_over = machine.has(state, "retrying") and self._is_quiet(node, _last(transitions))
        state = _running(machine) if is_over else state
        return Lifecycle(
            subject=subject,
            machine=machine.name,
            transitions=transitions,
            state=state,
            since=transitions[-1].event.ends if is_over else since,
            waits_for=_waits(machine, transitions, state),
            assumed=is_over,
        )

    def _at_boot(self, event: Event, node: str) -> Event:
        """A reboot when it was: the kubelet tells of it some time after its start."""
        if event.kind not in lifecycles().kinds(SubjectKind.NODE, "told-late"):
            return event
        times = [time for time in _times(self._started, "kubelet", node) if 0 <= event.time - time <= BOOTING]
        return event._replace(time=max(times, default=event.time), ends=max(times, default=event.time))

    def _is_quiet(self, node: str, failure: Event) -> bool:
        """Whether a kubelet that would tell of a failure again speaks on and does not."""
        silence = silence_limit(failure)
        log_end = max((coverage.ends for coverage in self._history.coverage_of("kubelet", node)), default=0)
        return silence is not None and log_end - failure.ends > silence

    def _machine(self, subject: Entity, events: Sequence[Event]) -> Machine:
        match subject.kind:
            case SubjectKind.VOLUME:
                return volume_machine(subject, events, self._skips(events))
            case SubjectKind.POD:
                return pod_machine(subject, events, self._history.versions, self._static)
            case SubjectKind.SANDBOX:
                return lifecycles().machine(f"sandbox/{_runtime(events)}")
            case SubjectKind.CONTAINER:
                return lifecycles().machine(f"container/{_runtime(events)}")
            case SubjectKind.DRIVER:
                return lifecycles().machine("driver/csi")
            case SubjectKind.NODE:
                return lifecycles().machine("node/kubelet")

    def _outages(self, component: str, node: str) -> list[int]:
        """When the component was started again, or may have spoken unheard, on this node."""
        if (component, node) not in self._lost:
            self._lost[component, node] = sorted(self._find_outages(component, node))
        return self._lost[component, node]

    def _find_outages(self, component: str, node: str) -> list[int]:
        gaps = [gap.begins + 1 for coverage in self._history.coverage_of(component, node) for gap in coverage.gaps]
        return [*gaps, *_times(self._started, component, node)]

    def _witness_ends(self, component: str, node: str, events: Iterable[Event]) -> int:
        """When the log ended that would show an unstaging. A driver's controller part may speak on in another log."""
        if component == DRIVER:
            sources = {event.origin.source for event in events if event.kind.startswith("csi.node")}
            return max((self._ended.get(source, 0) for source in sources), default=0)
        ends = (coverage.ends for coverage in self._history.coverage_of(component, node))
        return max(ends, default=self._history.ends)

    def _is_unready(self, node: str, time: int) -> bool:
        def last(kind: str) -> int:
            times = self._times_on(kind, node)
            at = bisect_right(times, time)
            return times[at - 1] if at else -1

        return last("node.not-ready") > last("node.ready")

    def _skips(self, events: Sequence[Event]) -> _Skips:
        nodes = {event.node for event in events}
        return _Skips(events, {node: self._times_on("volume.stage.skipped", node) for node in nodes})

    def _times_on(self, kind: str, node: str) -> list[int]:
        """Return when a node's event was, in order; sorted once for all its subjects."""
        if (kind, node) not in self._sorted_times:
            self._sorted_times[kind, node] = _times(self._node_times, kind, node)
        return self._sorted_times[kind, node]


def _last(transitions: Sequence[Transition]) -> Event:
    """The last event that is not told within the line of another."""
    asides = lifecycles().asides
    return next((p.event for p in reversed(transitions) if p.event.kind not in asides), transitions[-1].event)


def _times(times_by_node: Mapping[tuple[str, str], Sequence[int]], what: str, node: str) -> list[int]:
    """When something befell the node, or one whose name is not known."""
    if not node:
        return sorted(time for (one, _), times in times_by_node.items() if one == what for time in times)
    return sorted([*times_by_node.get((what, node), ()), *times_by_node.get((what, ""), ())])


class _Skips:
    """Whether a staging was skipped: the line without a volume stands after the volume's last event before."""

    def __init__(self, events: Sequence[Event], skip_times: Mapping[str, Sequence[int]]) -> None:
        self._kubelet = [event.time for event in events if event.component == "kubelet"]
        self._skip_times = skip_times

    def __call__(self, event: Event) -> bool:
        times = self._skip_times.get(event.node, ())
        at = bisect_left(self._kubelet, event.time)
        begins = max(event.time - SKIP_NEAR, self._kubelet[at - 1] if at else 0)
        return bisect_right(times, event.time) > bisect_left(times, begins)


def _by_node(events: Sequence[Event]) -> dict[str, list[Event]]:
    """A volume's events by their node; one whose node nobody knows goes to the node that was last spoken of."""
    nodes = {event.node for event in events if event.node}
    if len(nodes) <= 1:
        return {nodes.pop() if nodes else "": list(events)}
    parts: dict[str, list[Event]] = {}
    at = next(event.node for event in events if event.node)
    for event in events:
        at = event.node or at
        parts.setdefault(at, []).append(event)
    return parts


def _on_node(subject: Entity, node: str, events: Sequence[Event]) -> Entity:
    """The subject on one node; its staging path there, say, is left as the logs tell it."""
    if not node or node.startswith(NAMELESS) or subject.ids.get("node") == node or not events:
        return subject
    return Entity(kind=subject.kind, key=subject.key, name=subject.name, ids={**subject.ids, "node": node})


def _runtime(events: Sequence[Event]) -> str:
    """Which runtime speaks of a sandbox or container: CRI-O, or containerd, also where only the kubelet does."""
    return "crio" if any(event.component == "crio" for event in events) else "cri"


def _running(machine: Machine) -> str:
    return next(name for name in machine.states if machine.has(name, "running"))


def _since(machine: Machine, transitions: Sequence[Transition]) -> int:
    """When the last state was reached, or first marked; of a crash loop when its first back-off was."""
    state = transitions[-1].state
    if machine.has(state, "backing-off"):
        return _loop_begins(machine, transitions)
    stay = list(takewhile(lambda p: p.state == state, reversed(transitions)))
    marked = [p for p in stay if machine.steps.get(p.event.kind, UNMOVED).marks]
    return (marked or stay)[-1].event.time


def _loop_begins(machine: Machine, transitions: Sequence[Transition]) -> int:
    """When the first of the back-offs was between which no container ran for long."""
    begins = until = transitions[-1].event.time
    for transition in reversed(transitions):
        if machine.has(transition.state, "backing-off"):
            begins = until = transition.event.time
        elif not machine.has(transition.state, "looping") or until - transition.event.time > LOOP:
            break
    return begins


def _waits(machine: Machine, transitions: Sequence[Transition], state: str) -> str:
    is_pod = machine.name.startswith("pod/")
    if is_pod and machine.name != STATIC and machine.has(state, "finished"):
        flags = {flag for p in transitions for flag in _flags(machine, p.event)}
        if "deletes" in flags and "removes" not in flags:
            return WHEN_DELETED
    if machine.has(state, "settled"):
        return ""
    return (_pod_waits(machine, transitions, state) if is_pod else "") or machine.states[state].waits


def _flags(machine: Machine, event: Event) -> frozenset[str]:
    return machine.steps[event.kind].flags if event.kind in machine.steps else NONE


def _pod_waits(machine: Machine, transitions: Sequence[Transition], state: str) -> str:
    """What the last step that tells says the pod waits for; volumes only if they are not mounted since."""
    over: set[str] = set()
    by_errors = lifecycles().definition(SubjectKind.POD).waits_by_error
    for transition in reversed(transitions):
        error = transition.event.attrs.get("error", "")
        by_error = next((why for word, why in by_errors.items() if word in error), "")
        step = machine.steps.get(transition.event.kind, UNMOVED)
        backs_off = machine.has(state, "backing-off")
        if "fails-sync" in step.flags and transition.state == state and (by_error or backs_off):
            return by_error
        over.add(step.ends_wait)
        words = step.waits.get(state, "")
        if words and words not in over:
            return by_error or words
    return ""
