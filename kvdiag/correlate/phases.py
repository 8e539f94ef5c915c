"""Where the time went: a life cut into its parts, and how long each part takes over a log.

A part runs from the first line that begins it to the line that ends it, retries included.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from kvdiag.model.event import Event
from kvdiag.model.lifecycle import Life, Phase
from kvdiag.model.timeline import History
from kvdiag.model.values import SubjectKind


class Span(NamedTuple):
    """A part of a life. `pairs` are (begin, end) kinds: the first pair is taken that was seen, else that began.

    In `a|b` a part begins with a, and again with b where that follows. `per_pod` keeps apart the pods that share a
    volume, `once` takes the first such part of a life only; where `unless` was seen, only the first pair is tried.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    per_pod: bool = False
    once: bool = False
    unless: str = ""


class Spread(NamedTuple):
    """How long a part took over a log: how often it was seen to end, and percentiles in microseconds."""

    name: str
    times: int
    p50: int
    p90: int
    p99: int
    max: int


_POD = (
    Span(
        "volumes",
        (
            ("pod.volumes.mounting", "pod.volumes.mounted"),
            ("volume.verify.started", "sandbox.creating"),
            ("volume.verify.started", "cri.sandbox.running"),  # a sandbox is asked for once all volumes are there
        ),
        once=True,
    ),
    Span("sandbox", (("cri.sandbox.running", "cri.sandbox.started"), ("sandbox.creating", "sandbox.created"))),
    Span("create", (("cri.container.creating", "cri.container.created"),)),
    Span("start", (("cri.container.starting", "cri.container.started"),)),
    Span(
        "kill",
        (
            ("pod.terminating.entered", "pod.terminated"),
            ("pod.worker.graceful", "pod.terminated"),
            ("cri.container.stopping", "cri.sandbox.stopped"),
            ("container.killing", "container.exited"),
            ("pod.deleted", "container.finished"),
        ),
    ),
    Span(
        "unmount",
        (
            ("pod.volumes.unmounting", "pod.volumes.cleaned"),
            ("pod.finalising.entered", "pod.volumes.unmounted"),
            ("pod.volumes.waiting", "pod.volumes.cleaned"),
        ),
    ),
    Span(
        "cgroup",
        (("pod.volumes.cleaned", "pod.cgroup.removed"), ("pod.volumes.unmounted", "pod.cgroup.removed")),
        unless="pod.volumes.waiting",  # unmounted, but not yet cleaned
    ),
    Span("API delete", (("pod.worker.complete", "pod.removed"), ("pod.api-deleted", "pod.removed")), once=True),
)
_VOLUME = (
    Span(
        "attach",
        (
            ("volume.attach.started", "volume.attach.succeeded"),
            ("attacher.attaching", "attacher.attached"),
            ("csi.controllerpublish.called", "csi.controllerpublish.succeeded"),
        ),
    ),
    Span(
        "verify",
        (
            ("volume.verify.started", "volume.verify.succeeded"),
            ("volume.verify.started", "volume.publish.started"),  # nothing to verify without an attach
        ),
    ),
    Span("wait", (("volume.wait.started", "volume.wait.succeeded"),)),
    Span(
        "stage",
        (
            ("csi.nodestage.requested", "volume.stage.succeeded"),
            ("csi.nodestage.called", "csi.nodestage.succeeded"),
            ("volume.wait.succeeded", "volume.stage.succeeded"),
        ),
    ),
    Span(
        "publish",
        (
            ("csi.nodepublish.requested", "volume.publish.succeeded"),
            ("csi.nodepublish.called", "csi.nodepublish.succeeded"),
            ("volume.publish.started|volume.stage.succeeded", "volume.publish.succeeded"),
        ),
        per_pod=True,
    ),
    Span(
        "unpublish",
        (
            ("volume.unpublish.started", "volume.unpublish.succeeded"),
            ("csi.nodeunpublish.requested", "csi.nodeunpublish.answered"),
            ("csi.nodeunpublish.called", "csi.nodeunpublish.succeeded"),
        ),
        per_pod=True,
    ),
    Span(
        "unstage",
        (
            ("volume.unstage.started", "volume.unstage.succeeded"),
            ("csi.nodeunstage.called", "csi.nodeunstage.succeeded"),
        ),
    ),
    Span("release", (("volume.unpublish.succeeded", "volume.released"),)),
    Span(
        "detach",
        (
            ("volume.detach.started", "volume.detach.succeeded"),
            ("attacher.detaching", "attacher.detached"),
            ("csi.controllerunpublish.called", "csi.controllerunpublish.succeeded"),
        ),
    ),
)
_SANDBOX = (Span("stop", (("cri.sandbox.stopping", "cri.sandbox.stopped"),)),)
_CONTAINER = (
    Span("start", (("cri.container.starting", "cri.container.started"),)),
    Span("kill", (("cri.container.stopping", "cri.container.stopped"), ("container.killing", "container.exited"))),
)
SPANS: Mapping[SubjectKind, tuple[Span, ...]] = {
    SubjectKind.POD: _POD,
    SubjectKind.VOLUME: _VOLUME,
    SubjectKind.SANDBOX: _SANDBOX,
    SubjectKind.CONTAINER: _CONTAINER,
}
ORDER = tuple(
    dict.fromkeys(
        [
            *("to running", "volumes", "sandbox", "image pull", "create", "start", "to gone"),
            *(span.name for spans in SPANS.values() for span in spans),
        ]
    )
)
SANDBOX_MADE = ("cri.sandbox.started", "sandbox.created")
RUNTIME = "containerd"  # who tells of pulls
PULLS = {"image.pull.started": "begins", "image.pull.succeeded": "ends"}
OVER = frozenset({"REMOVED", "FORGOTTEN", "ORPHAN"})


def phases(life: Life, history: History) -> tuple[Phase, ...]:
    """The parts of a life in order of their beginnings; one that lasts has no `ends`.

    A part whose end the log does not show, though the life went on to where nothing is waited for, is left out.
    """
    events = [passage.event for passage in life.passages]
    found = [phase for span in SPANS.get(life.subject.kind, ()) for phase in _of_span(span, events)]
    if life.subject.kind is SubjectKind.POD:
        found.extend(_pulls(events, history))
        found.extend(_whole(life))
    if not life.waits_for:
        found = [phase for phase in found if phase.ends is not None]
    return tuple(sorted(found, key=lambda phase: (phase.begins, phase.ends or history.ends, phase.name)))


def current(found: Iterable[Phase]) -> Phase | None:
    """The part a subject is in now: of those that have not ended the one that began last."""
    return max((phase for phase in found if phase.ends is None), key=lambda phase: phase.begins, default=None)


def percentiles(found: Iterable[Phase]) -> tuple[Spread, ...]:
    """How long each part took, in the order of a life; parts that did not end do not count."""
    took: dict[str, list[int]] = defaultdict(list)
    for phase in found:
        if phase.ends is not None:
            took[phase.name].append(phase.ends - phase.begins)
    return tuple(
        _spread(name, sorted(times)) for name, times in sorted(took.items(), key=lambda one: ORDER.index(one[0]))
    )


def _spread(name: str, times: Sequence[int]) -> Spread:
    def at(percent: int) -> int:
        return times[max(0, ceil(len(times) * percent / 100) - 1)]

    return Spread(name, len(times), at(50), at(90), at(99), times[-1])


def _of_span(span: Span, events: Sequence[Event]) -> Iterator[Phase]:
    kinds = {event.kind for event in events}
    pairs = span.pairs[:1] if span.unless in kinds else span.pairs
    began = [(begins.split("|"), ends) for begins, ends in pairs if begins.split("|")[0] in kinds]
    if not began:
        return
    begins, ends = next((pair for pair in began if pair[1] in kinds), began[0])
    opened: dict[str, Event] = {}
    done = False
    for event in events:
        holder = _holder(event) if span.per_pod else ""
        if event.kind == begins[0] and not (done and span.once):
            opened.setdefault(holder, event)
        elif event.kind in begins and holder in opened:
            opened[holder] = event
        elif event.kind == ends and holder in opened:
            yield Phase(span.name, opened.pop(holder).time, event.time, event.component)
            done = True
    for event in opened.values():
        yield Phase(span.name, event.time, None, event.component)


def _holder(event: Event) -> str:
    return event.ref("pod_uid") or event.ref("target_path")


def _whole(life: Life) -> Iterator[Phase]:
    """From the first word of a pod until it runs, and from its deletion until it is gone."""
    first: dict[str, int] = {}
    for passage in life.passages:
        first.setdefault(passage.state, passage.event.time)
    if "ADDED" in first:
        yield Phase("to running", first["ADDED"], first.get("RUNNING"))
    deleted = next((p.event.time for p in life.passages if p.event.kind == "pod.deleted"), None)
    gone = next((p.event.time for p in life.passages if p.state in OVER), None)
    if deleted is not None:
        yield Phase("to gone", deleted, gone if gone is None or gone >= deleted else None)


def _pulls(events: Sequence[Event], history: History) -> Iterator[Phase]:
    """Pulls of images on the pod's node between its sandbox and the next container; no line names both."""
    made = [event for event in events if event.kind in SANDBOX_MADE]
    if not made or not any(coverage.component == RUNTIME for coverage in history.coverage):
        return
    begins = made[0].time
    ends = next((e.time for e in events if e.kind == "cri.container.creating" and e.time >= begins), history.ends)
    first = bisect_left(history.events, begins, key=lambda event: event.time)
    last = bisect_right(history.events, ends, key=lambda event: event.time)
    opened: dict[str, int] = {}
    for event in history.events[first:last]:
        if event.kind in PULLS and event.node in {made[0].node, ""}:
            image = event.attrs.get("image", "")
            if PULLS[event.kind] == "begins":
                opened.setdefault(image, event.time)
            elif image in opened:
                yield Phase("image pull", opened.pop(image), event.time, event.component)
