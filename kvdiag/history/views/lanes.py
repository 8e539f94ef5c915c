"""A history → the lanes of a picture: states and events of each subject, what matters most as far as there is room.

Lanes stand by node: the node itself, its runtime, its drivers, volumes and pods, then what the runtime holds for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from kvdiag.history.lifecycles.build import LifecycleBuilder
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.history.lifecycles.machine import Machine
from kvdiag.model.event import Event
from kvdiag.model.lanes import RUNTIME, Bar, Lane, Lanes, Mark
from kvdiag.model.lifecycle import Lifecycle
from kvdiag.model.record import Origin
from kvdiag.model.timeline import History, SubjectKey, Timeline
from kvdiag.model.values import SubjectKind

MOST = 100_000  # bars and marks together, with what the lanes themselves take
LANE = 3  # marks that take as much room as a lane with its name: nobody looks through 50,000 lanes
RUNTIMES_SHARE = 4  # of the room, a runtime takes no more than one part
RUNTIMES = frozenset({"containerd", "crio"})
ORDER = (
    SubjectKind.NODE,
    RUNTIME,
    SubjectKind.DRIVER,
    SubjectKind.VOLUME,
    SubjectKind.POD,
    SubjectKind.SANDBOX,
    SubjectKind.CONTAINER,
)
SHARED = frozenset({SubjectKind.NODE, SubjectKind.DRIVER})
"""What many pods and volumes depend on: of them the lane of a few stays, without what it tells of the others."""
OVER = frozenset({"first", "ended", "down", "done", "gone"})  # flags of states in which nothing is left of the subject


def build_lanes(
    history: History,
    matters: Collection[SubjectKey] = (),
    *,
    node: str = "",
    only: Collection[SubjectKey] | None = None,
    most: int = MOST,
) -> Lanes:
    """The lanes of a history, of one node if it is given; the subjects that `matters` names come first.

    With `only` there are no others, but for the nodes they are on and what runs there for all.

    After them come runtimes, nodes and drivers, then the subjects with the fewest events: they are the most that fit.
    """
    builder, log_ends = LifecycleBuilder(history), _log_ends(history)
    budget = (
        _LaneBudget(most, node)
        if only is None
        else _LaneBudget(most, node, _nodes(history, only), _of_others(history, only))
    )

    def add_lanes(timelines: Iterable[Timeline]) -> None:
        for timeline in timelines:
            if budget.left <= LANE:
                budget.unlisted += 1
                continue
            for life in builder.on_nodes(timeline):
                budget.add(lane_of(life, log_ends.get(life.subject.ids.get("node", ""), history.ends)))

    keys = (key for key in history.timelines if _is_of(key, only) and history.timelines.events_of(key))
    timelines = sorted((history.timelines[key] for key in keys), key=_weight)
    add_lanes(one for one in timelines if (one.subject.kind, one.subject.key) in matters)
    for lane in _runtimes(history):
        budget.add(lane, most // RUNTIMES_SHARE)
    add_lanes(one for one in timelines if (one.subject.kind, one.subject.key) not in matters)
    budget.lanes.sort(key=lambda one: (one.node, ORDER.index(one.kind), _begins(one, history), one.name))
    return Lanes(tuple(budget.lanes), history.begins, history.ends, budget.unlisted, budget.cut)


class _LaneBudget:
    """The lanes that were taken, of one node or of some if they are given, and the bars and marks there is room for."""

    def __init__(
        self, left: int, node: str, nodes: Collection[str] = (), of_others: Collection[Origin] = frozenset()
    ) -> None:
        self.left, self.nodes, self.of_others = left, {node, ""} if node else {*nodes, ""} if nodes else None, of_others
        self.lanes: list[Lane] = []
        self.unlisted = self.cut = 0

    def add(self, lane: Lane, most: int = MOST) -> None:
        """Take a lane, with as many bars and marks as there is room for."""
        if self.nodes and lane.node not in self.nodes:
            return
        if self.of_others:
            lane = lane._replace(marks=tuple(one for one in lane.marks if one.event.origin not in self.of_others))
        if self.left <= LANE:
            self.unlisted += 1
            return
        shown = _truncated(lane, min(self.left - LANE, most))
        self.cut += len(lane.marks) - len(shown.marks)
        self.left -= LANE + len(shown.bars) + len(shown.marks)
        self.lanes.append(shown)


def _is_of(key: SubjectKey, only: Collection[SubjectKey] | None) -> bool:
    return only is None or key[0] is SubjectKind.NODE or key in only


def _nodes(history: History, only: Collection[SubjectKey]) -> set[str]:
    """The nodes that these are on."""
    return {event.node for key in only if key in history.timelines for event in history.timelines.events_of(key)}


def _of_others(history: History, only: Collection[SubjectKey]) -> set[Origin]:
    """The lines that tell of other pods and volumes, and of none of these."""
    timelines = history.timelines
    origins = {event.origin for key in timelines if key in only for event in timelines.events_of(key)}
    others = (key for key in timelines if key not in only and key[0] not in SHARED)
    return {event.origin for key in others for event in timelines.events_of(key)} - origins


def _log_ends(history: History) -> dict[str, int]:
    """By node until when its logs go."""
    ends: dict[str, int] = {}
    for one in history.coverage:
        ends[one.node] = max(one.ends, ends.get(one.node, 0))
    return ends


def _weight(timeline: Timeline) -> tuple[bool, int]:
    return timeline.subject.kind not in {SubjectKind.NODE, SubjectKind.DRIVER}, len(timeline.events)


def lane_of(life: Lifecycle, ends: int) -> Lane:
    """The lane of one life; its last state goes on until `ends`, unless nothing is left of the subject."""
    subject = life.subject
    marks = tuple(Mark(one.event, one.step or one.event.kind, one.legal) for one in life.transitions)
    node = subject.name if subject.kind is SubjectKind.NODE else subject.ids.get("node", "")
    return Lane(str(subject.kind), subject.key, subject.name, node, tuple(bars_of(life, ends)), marks)


def bars_of(life: Lifecycle, ends: int) -> Iterator[Bar]:
    """The states of a life, each from the event that led to it until the next; that before the first is none."""
    machine, last = lifecycles().machine(life.machine), life.transitions[-1].event.ends if life.transitions else 0
    entered = [(one.event.time, one.state) for one in life.transitions]
    for bar in bars_between(entered, last if _is_over(life) else ends, machine):
        if not machine.has(bar.state, "first"):
            yield bar


def bars_between(entered: Sequence[tuple[int, str]], ends: int, machine: Machine) -> Iterator[Bar]:
    """A bar for each state, from the time at which it was entered until the next; the last one until `ends`."""
    states = [next(group) for _, group in groupby(entered, key=lambda one: one[1])]
    for (begins, state), (until, _) in pairwise([*states, (ends, "")]):
        yield Bar(begins, max(begins, until), state, machine.tone(state))


def _is_over(life: Lifecycle) -> bool:
    """Whether nothing is left of the subject: a state in use lasts until the end of the logs."""
    if life.waits_for:
        return False
    machine = lifecycles().machine(life.machine)
    is_unused = life.subject.kind is SubjectKind.VOLUME and not machine.has(life.state, "in-use")
    return is_unused or any(machine.has(life.state, flag) for flag in OVER)


def _runtimes(history: History) -> Iterator[Lane]:
    """What the container runtime of each node said, and when its log shows it at work."""
    events_by_runtime: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in history.events:
        if event.component in RUNTIMES:
            events_by_runtime[event.node, event.component].append(event)
    labels = lifecycles().labels
    for (node, component), events in events_by_runtime.items():
        bars = [
            Bar(one.begins, one.ends, "LOGGING")
            for one in history.coverage
            if one.component == component and one.node in {node, ""}
        ]
        marks = tuple(Mark(event, labels.get(event.kind, event.kind)) for event in events)
        yield Lane(RUNTIME, component, component, node, tuple(sorted(bars)), marks)


def _truncated(lane: Lane, room: int) -> Lane:
    """The lane with as many of its bars and marks as there is room for: those from both ends of the marks."""
    bars = lane.bars[:room]
    left = room - len(bars)
    if len(lane.marks) <= left:
        return lane._replace(bars=bars)
    first = left - left // 2
    return lane._replace(bars=bars, marks=(*lane.marks[:first], *lane.marks[len(lane.marks) - left // 2 :]))


def _begins(lane: Lane, history: History) -> int:
    first = [*(bar.begins for bar in lane.bars[:1]), *(mark.event.time for mark in lane.marks[:1])]
    return min(first, default=history.ends)
