"""Where the time went: a life cut into its parts, and how long each part takes over a log.

A part runs from the first line that begins it to the line that ends it, retries included.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import ceil

from kvdiag.history.lifecycles.choose import STATIC
from kvdiag.history.lifecycles.definition import Span
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.model.event import Event
from kvdiag.model.lifecycle import Lifecycle, Phase, Transition
from kvdiag.model.timeline import History
from kvdiag.model.values import SubjectKind
from kvdiag.model.views import Spread

_FIRST = ("to running", "volumes", "sandbox", "cni", "image pull", "create", "start", "ready", "back-off")
_LATER = (SubjectKind.POD, SubjectKind.VOLUME, SubjectKind.SANDBOX, SubjectKind.CONTAINER)
RUNTIMES = frozenset({"containerd", "crio"})
NOT_PULLED = ("ErrImagePull", "ImagePullBackOff")
CRASHED = re.compile(r'"StartContainer" for "(?P<name>[^"]*)" with CrashLoopBackOff')
READY, STATED = '"status":"True","type":"Ready"', '"type":"Ready"'
# Parts that may last in a life that waits for nothing else, and what is waited for then.
LASTING: Mapping[str, str] = {"ready": "its containers to be ready", "back-off": "the next try to start its container"}


@cache
def order() -> tuple[str, ...]:
    """The names of all parts, in the order of a life."""
    later = (span.name for kind in _LATER for span in lifecycles().definition(kind).spans)
    return tuple(dict.fromkeys([*_FIRST, "to gone", *later]))


def pull_kinds() -> frozenset[str]:
    """The kinds of events that tell of pulls of images."""
    return _pods("pull-begins") | _pods("pull-ends")


def _pods(flag: str) -> frozenset[str]:
    return lifecycles().kinds(SubjectKind.POD, flag)


def _has(life: Lifecycle, state: str, flag: str) -> bool:
    return lifecycles().machine(life.machine).has(state, flag)


def pulls_in(history: History) -> tuple[Event, ...] | None:
    """What the runtime tells of pulls of images, in order of time; None where it is not heard."""
    if not any(coverage.component in RUNTIMES for coverage in history.coverage):
        return None
    return tuple(event for event in history.events if event.kind in pull_kinds())


def phases(life: Lifecycle, history: History, pulls: Sequence[Event] | None = ()) -> tuple[Phase, ...]:
    """The parts of a life in order of their beginnings; one that lasts has no `ends`. `pulls` are `pulls_in(history)`.

    A part whose end the log does not show, though the life went on to where nothing is waited for, is left out; a pod
    that runs may still wait to be ready, or to be started again.
    """
    events = [transition.event for transition in life.transitions]
    found = [phase for span in lifecycles().definition(life.subject.kind).spans for phase in _of_span(span, events)]
    if life.subject.kind is SubjectKind.POD:
        if not any(phase.name == "image pull" for phase in found):  # told by the kubelet, at -v=3
            found.extend(_failing_pulls(events) if pulls is None else _pulls(events, pulls))
        found.extend(_readiness(life))
        found.extend(_back_offs(events))
        found.extend(_whole(life))
        ending = _ending(life, history)
        found = [p for p in found if p.name != "kill" or (history.ends if p.ends is None else p.ends) >= ending]
    return tuple(
        sorted(_lasting(found, life), key=lambda phase: (phase.begins, phase.ends or history.ends, phase.name))
    )


def _lasting(found: Iterable[Phase], life: Lifecycle) -> Iterator[Phase]:
    """Without those whose end was not seen, where nothing is waited for."""
    lasting = LASTING if _has(life, life.state, "running") else {}
    return (phase for phase in found if life.waits_for or phase.ends is not None or phase.name in lasting)


def current(found: Iterable[Phase]) -> Phase | None:
    """The part a subject is in now: of those that have not ended the one that began last."""
    return max((phase for phase in found if phase.ends is None), key=lambda phase: phase.begins, default=None)


def now(life: Lifecycle, found: Iterable[Phase]) -> Phase | None:
    """The part a subject is in now; where no part is open its state, if it waits for something."""
    return current(found) or (Phase(life.state, life.since, None) if life.waits_for else None)


def awaits(life: Lifecycle, phase: Phase) -> str:
    """What must come for the part that lasts to end."""
    return LASTING.get(phase.name, life.waits_for)


def percentiles(found: Iterable[Phase]) -> tuple[Spread, ...]:
    """How long each part took, in the order of a life; parts that did not end do not count."""
    took: dict[str, list[int]] = defaultdict(list)
    for phase in found:
        if phase.ends is not None:
            took[phase.name].append(phase.ends - phase.begins)
    return tuple(
        _spread(name, sorted(times)) for name, times in sorted(took.items(), key=lambda one: order().index(one[0]))
    )


def _spread(name: str, times: Sequence[int]) -> Spread:
    def at(percent: int) -> int:
        return times[max(0, ceil(len(times) * percent / 100) - 1)]

    return Spread(name, len(times), at(50), at(90), at(99), times[-1])


def _of_span(span: Span, events: Sequence[Event]) -> Iterator[Phase]:
    kinds = {event.kind for event in events}
    pairs = span.pairs[:1] if span.unless in kinds else span.pairs
    if span.fails in kinds:
        pairs = tuple(pair for pair in pairs if pair[1] == span.pairs[0][1])
    began = [(begins.split("|"), ends) for begins, ends in pairs if begins.split("|")[0] in kinds]
    if not began:
        return
    begins, ends = next((pair for pair in began if pair[1] in kinds), began[0])
    opened: dict[str, Event] = {}
    done = False
    for event in events:
        holder = _holder(event, span.per)
        if event.kind == begins[0] and not (done and span.once):
            opened.setdefault(holder, event)
        elif event.kind in begins and holder in opened:
            opened[holder] = event
        elif event.kind == ends and holder in opened:
            yield Phase(span.name, opened.pop(holder).time, event.time, event.component)
            done = True
    for event in opened.values():
        yield Phase(span.name, event.time, None, event.component)


def _holder(event: Event, per: str) -> str:
    if per == "container":
        return event.ref("container_id").rpartition("/")[2]
    if per == "image":
        return event.attrs.get("image", "")
    return event.ref("pod_uid") or event.ref("target_path") if per else ""


def _whole(life: Lifecycle) -> Iterator[Phase]:
    """From the first word of a pod until it runs, and from its deletion until it is gone.

    A static pod comes again under one UID: it counts from its last coming, and what is deleted is its mirror.
    """
    added = running = deleted = gone = None
    for transition in life.transitions:
        if _has(life, transition.state, "gone"):
            added = added if running else None
            gone = transition.event.time if gone is None else gone
        elif added is None and running is None and _comes(life, transition):
            added = transition.event.time
        elif running is None and _has(life, transition.state, "running"):
            running = transition.event.time
        if deleted is None and transition.event.kind in _pods("deletes"):
            deleted = transition.event.time
    if added is not None:
        yield Phase("to running", added, running)
    if deleted is not None and life.machine != STATIC:
        yield Phase("to gone", deleted, gone if gone is None or gone >= deleted else None)


def _comes(life: Lifecycle, transition: Transition) -> bool:
    """Whether a pod is told for the first time; in one moment its first sync may stand before that."""
    return transition.event.kind in _pods("comes") and _has(life, transition.state, "coming")


def _ending(life: Lifecycle, history: History) -> int:
    """From when on a container that is killed is not started again."""
    stopping = (p.event.time for p in life.transitions if _has(life, p.state, "stopping"))
    ending = next(stopping, None)
    if ending is None:
        ended = any(_has(life, transition.state, "over") for transition in life.transitions)
        return history.begins if ended else history.ends + 1
    return ending


def _pulls(events: Sequence[Event], pulls: Sequence[Event]) -> Iterator[Phase]:
    """Pulls of images on the pod's node between its sandbox and the next container; no line names both.

    One that does not succeed is the pod's only if an error of the pod names the image.
    """
    created = next((event for event in events if event.kind in _pods("made-sandbox")), None)
    if not created or not pulls:
        return
    ends = next((event.time for event in events if event.time >= created.time and _has_image(event)), pulls[-1].time)
    first = bisect_left(pulls, created.time, key=lambda event: event.time)
    last = bisect_right(pulls, ends, key=lambda event: event.time)
    opened: dict[str, Event] = {}
    for event in pulls[first:last]:
        if event.node in {created.node, ""}:
            pull = event.attrs.get("request") or event.attrs.get("image", "")  # CRI-O ends with another name
            if event.kind in _pods("pull-begins"):
                opened.setdefault(pull, event)
            elif pull in opened:
                yield Phase("image pull", opened.pop(pull).time, event.time, event.component)
    errors = [event.attrs.get("error", "") for event in events if event.kind in _pods("start-fails")]
    for event in opened.values():
        image = event.attrs.get("image", "")
        if image and any(f'"{image}"' in error for error in errors):
            yield Phase("image pull", event.time, None, event.component)


def _has_image(event: Event) -> bool:
    """A container is made, or fails for another reason than its image."""
    if event.kind in _pods("start-fails"):
        return not any(word in event.attrs.get("error", "") for word in NOT_PULLED)
    return event.kind in _pods("creates")


def _failing_pulls(events: Sequence[Event]) -> Iterator[Phase]:
    """Where the runtime is not heard the kubelet's errors tell from when on an image was not there."""
    opened: Event | None = None
    for event in events:
        error = event.attrs.get("error", "") if event.kind in _pods("start-fails") else ""
        if any(word in error for word in NOT_PULLED):
            opened = opened or event
        elif opened and _starts(event):
            yield Phase("image pull", opened.time, event.time, event.component)
            opened = None
    if opened:
        yield Phase("image pull", opened.time, None, opened.component)


def _starts(event: Event) -> bool:
    return event.kind in _pods("creates") or event.attrs.get("event_type") == "ContainerStarted"


def _readiness(life: Lifecycle) -> Iterator[Phase]:
    """From the first container that runs until its probe says, or the kubelet tells the API, that all are ready."""
    up = next((transition.event for transition in life.transitions if _has(life, transition.state, "running")), None)
    reports = [transition.event for transition in life.transitions if up and transition.event.time >= up.time]
    reports = [event for event in reports if _ready_state(event)]
    if up and reports:
        ready = next((event for event in reports if _ready_state(event) == "yes"), None)
        yield Phase("ready", up.time, ready.time if ready else None, "kubelet")


def _ready_state(event: Event) -> str:
    """`yes`, `no`, or nothing where a line does not say so."""
    if event.kind in _pods("changes-probe") and event.attrs.get("reason") == "readiness":
        return "yes" if event.attrs.get("result") == "ready" else "no"
    text = event.text.replace("\\", "") if event.kind in _pods("patches-status") else ""
    return ("yes" if READY in text else "no") if STATED in text else ""


def _back_offs(events: Sequence[Event]) -> Iterator[Phase]:
    """From the first line that a container waits to be started again until it is, or until the pod must end."""
    has_creates = any(event.kind in _pods("creates") for event in events)
    opened: dict[str, Event] = {}
    for event in events:
        name = event.ref("container_name") or event.attrs.get("container_name", "")
        crashed = CRASHED.search(event.attrs.get("error", "")) if event.kind in _pods("fails-sync") else None
        if crashed or event.kind in _pods("backs-off"):
            opened.setdefault(crashed["name"] if crashed else name, event)
        elif event.kind in _pods("deletes") or (_starts(event) and not (has_creates and event.kind == "pod.pleg")):
            over = [name] if name else list(opened)
            for began in (opened.pop(one) for one in over if one in opened):
                yield Phase("back-off", began.time, event.time, "kubelet")
    for began in opened.values():
        yield Phase("back-off", began.time, None, "kubelet")
