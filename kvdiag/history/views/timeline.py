"""A subject's lifecycle as a view: gaps measured, retries folded, findings marked, the node's own events between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kvdiag.base.clock import MINUTE, SECOND
from kvdiag.history.lifecycles.build import build_lifecycle
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.history.views.causes import causes
from kvdiag.history.views.phases import phases, pulls_in
from kvdiag.model.event import Event
from kvdiag.model.lifecycle import Lifecycle, TimelineRow, TimelineView, Transition
from kvdiag.model.record import Origin
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History, Timeline
from kvdiag.model.values import SubjectKind

LONG, VERY_LONG = 5 * SECOND, MINUTE  # a step that takes longer is unusual; one at rest may take any time
FEWEST = 3  # failures of one kind before the cycles between them are folded
RULES_OWN = "line."  # prefix of the kinds of a rule's raw lines
AROUND = 10 * SECOND  # before and after a life in which the node's events matter to it


def explaining_kinds() -> frozenset[str]:
    """What befalls the node or the driver and explains a gap in anything that lives there."""
    return lifecycles().kinds(SubjectKind.NODE, "explains") | lifecycles().kinds(SubjectKind.DRIVER, "explains")


def build_timeline(
    timeline: Timeline, history: History, findings: Sequence[Finding], *, raw: bool = False
) -> TimelineView:
    """The story of one subject; `raw` keeps every retry."""
    life = build_lifecycle(timeline, history)
    transitions = list(life.transitions) if raw else _main(life.transitions)
    marks = _marks(findings, transitions)
    folds = {} if raw else _folds(transitions)
    shown = [(p, folds.get(n, ())) for n, p in enumerate(transitions) if n not in folds or folds[n]]
    foreign = _foreign(timeline, history)
    rows = list(_rows(life, shown, [(event, ()) for event in foreign] if raw else _outages(foreign), marks))
    about = tuple(
        f for f in findings if (f.subject.kind, f.subject.key) == (timeline.subject.kind, timeline.subject.key)
    )
    nodes = {event.node for event in timeline.events}
    off = tuple(skew for skew in history.skews if skew.node in nodes)
    parts = phases(life, history, pulls_in(history))
    above = causes(findings)
    known = {one.key: above[one.key] for one in about if one.key in above}
    return TimelineView(life=life, rows=tuple(rows), phases=parts, findings=about, skews=off, causes=known)


def _main(transitions: Sequence[Transition]) -> list[Transition]:
    """The transitions without those whose words stand within a line that tells another of them."""
    main_origins = {p.event.origin for p in transitions if not _is_aside(p.event)}
    return [
        p for p in transitions if not _is_aside(p.event) or p.event.origin not in main_origins or p.before != p.state
    ]


def _is_aside(event: Event) -> bool:
    """Whether its words stand within an error, or are those of one rule alone."""
    return event.kind in lifecycles().asides or event.kind.startswith(RULES_OWN)


Fold = tuple[Event, ...]  # what failed again, after the event of the row that stands for it
HIDDEN: Fold = ()  # in place of a transition within a folded cycle


def _folds(transitions: Sequence[Transition]) -> dict[int, Fold]:
    """By index: the later failures that a failure stands for, or HIDDEN for what lies within.

    The first cycle is shown in full. From then on the kinds of events that made it up are hidden up to the last
    failure; whatever else happens in between is shown. What a line tells within an error stands once.
    """
    folds: dict[int, Fold] = {}
    for kind in {p.event.kind for p in transitions if _is_aside(p.event)}:
        at = [n for n, p in enumerate(transitions) if p.event.kind == kind and p.before == p.state]
        folds.update(dict.fromkeys(at[1:], HIDDEN))
        folds.update({n: tuple(transitions[other].event for other in at[1:]) for n in at[:1]})
    for kind in dict.fromkeys(p.event.kind for p in transitions if p.event.kind.endswith((".failed", "-failed"))):
        at = [n for n, p in enumerate(transitions) if p.event.kind == kind]
        if len(at) < FEWEST:
            continue
        cycle = {p.event.kind for p in transitions[at[0] + 1 : at[1] + 1]}
        hidden = [n for n in range(at[0] + 1, at[-1] + 1) if transitions[n].event.kind in cycle]
        folds.update(dict.fromkeys(hidden, HIDDEN))
        folds[at[1]] = tuple(transitions[n].event for n in at[2:])
    return folds


def _foreign(timeline: Timeline, history: History) -> list[Event]:
    """The node's and the driver's events around a life that explain what happens in it."""
    if timeline.subject.kind is SubjectKind.NODE or not timeline.events:
        return []
    begins, ends = timeline.events[0].time - AROUND, timeline.events[-1].ends + AROUND
    nodes = {event.node for event in timeline.events} | {""}
    own_ids = {id(event) for event in timeline.events}
    matters = explaining_kinds()
    return [
        event
        for event in history.events
        if event.kind in matters
        and begins <= event.time <= ends
        and event.node in nodes
        and id(event) not in own_ids
        and _concerns(event, timeline)
    ]


def _outages(foreign: Iterable[Event]) -> list[tuple[Event, Fold]]:
    """One row for what fails in many ways at once, up to the next word of what may have changed that."""
    shown: list[tuple[Event, list[Event]]] = []
    opened: dict[tuple[str, str], list[Event]] = {}
    lasting = lifecycles().kinds(SubjectKind.NODE, "lasts")
    for event in foreign:
        key = (event.kind, event.node)
        if key in opened:
            opened[key].append(event)
            continue
        rest: list[Event] = []
        shown.append((event, rest))
        if event.kind in lasting:
            opened[key] = rest
        else:
            opened.clear()
    return [(first, tuple(rest)) for first, rest in shown]


def _concerns(event: Event, timeline: Timeline) -> bool:
    """A driver's coming and going matters to those who use it."""
    driver = event.ref("driver")
    return not driver or driver == timeline.subject.ids.get("driver", driver)


def _rows(
    life: Lifecycle,
    shown: Sequence[tuple[Transition, Fold]],
    foreign: Sequence[tuple[Event, Fold]],
    marks: Mapping[int, tuple[str, ...]],
) -> Iterator[TimelineRow]:
    """Own and foreign transitions in order of time; a foreign event leaves the state as it is."""
    own_rows = [(p.event.time, 0, n, p, fold) for n, (p, fold) in enumerate(shown)]
    state = shown[0][0].before if shown else ""
    machine = lifecycles().machine(life.machine)
    others = [(e.time, 1, n, Transition(e, machine.label(e.kind), "", ""), fold) for n, (e, fold) in enumerate(foreign)]
    before: int | None = None
    for time, is_foreign, _, own_transition, fold in sorted([*own_rows, *others], key=lambda row: row[:3]):
        gap = 0 if before is None else time - before
        transition = own_transition._replace(before=state, state=state) if is_foreign else own_transition
        row_events = (transition.event, *fold)
        yield TimelineRow(
            transition=transition,
            gap=gap,
            unusual=0 if machine.has(transition.before, "resting") else _unusual(gap),
            marks=tuple(dict.fromkeys(mark for event in row_events for mark in marks.get(id(event), ()))),
            foreign=bool(is_foreign),
            repeats=sum(event.count for event in row_events) - 1,
            until=max(event.ends for event in row_events),
            ladder=tuple(dict.fromkeys(e.attrs["backoff"] for e in row_events if e.attrs.get("backoff")))
            if fold
            else (),
        )
        state, before = transition.state, time


def _unusual(gap: int) -> int:
    if gap < LONG:
        return 0
    return 2 if gap >= VERY_LONG else 1


def _marks(findings: Sequence[Finding], transitions: Sequence[Transition]) -> Mapping[int, tuple[str, ...]]:
    """By id of an event the rules that rest on it, or on another event of its line that is not shown."""
    shown = {id(transition.event) for transition in transitions}
    by_line: dict[Origin, Event] = {}
    for transition in transitions:
        by_line.setdefault(transition.event.origin, transition.event)
    marks: dict[int, tuple[str, ...]] = {}
    for finding in findings:
        for event in (evidence.event for evidence in finding.evidence):
            key = id(event if id(event) in shown else by_line.get(event.origin, event))
            marks[key] = tuple(dict.fromkeys((*marks.get(key, ()), finding.rule.name)))
    return marks
