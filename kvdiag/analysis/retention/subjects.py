"""What a command about named subjects keeps: their own events, and events that explain them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvdiag.analysis.retention import budget as limits
from kvdiag.analysis.retention.budget import RemainingHistory
from kvdiag.history.correlate.lookup import look_up
from kvdiag.history.ingest.memory_estimate import MemoryEstimate
from kvdiag.history.views.phases import pull_kinds
from kvdiag.history.views.timeline import explaining_kinds
from kvdiag.model.event import Event
from kvdiag.model.timeline import History, Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.rules.event_index import HORIZON

NODE_SIDE = frozenset({SubjectKind.POD, SubjectKind.VOLUME, SubjectKind.SANDBOX, SubjectKind.CONTAINER})


class SubjectRetention:
    """Keeps events of the subjects of some kinds that have one of the names, as far as there is room.

    These are the subject's own events, those of its nodes at that time, those of subjects that it uses, and those of
    objects without a known pod: a log that is read later may link them.
    """

    def __init__(self, kinds: Iterable[SubjectKind], names: Iterable[str]) -> None:
        """Take the names as given by the user: whole, or a prefix."""
        self._kinds, self._names = tuple(kinds), tuple(names)
        self.is_whole = True

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user about which events may be missing."""
        names = _escaped(" or ".join(self._names))
        text = f"only what concerns {names} was kept" if self.is_whole else f"not all that concerns {names} was kept"
        return (f"before {{until}} {text}; {limits.NEXT}",)

    def retain(self, history: History, cut: int) -> Iterator[Event]:
        """Yield the events to keep, the most important first."""
        yield from limits.active_events(history, cut)
        room, weight = limits.MAX_EVENTS // 2, MemoryEstimate()
        seen: set[int] = set()
        for event in self._related_events(history):
            if event.ends < cut and id(event) not in seen:
                seen.add(id(event))
                weight.add_event(event)
                if len(seen) > room or weight.load.size > limits.MAX_BYTES // 8:
                    self.is_whole = False
                    return
                yield event

    def on_evicted(self, history: RemainingHistory) -> None:
        """Do nothing."""

    def _related_events(self, history: History) -> Iterator[Event]:
        found = [one for kind in self._kinds for name in self._names for one in look_up(history, kind, name)]
        for timeline in found:
            yield from timeline.events
        yield from (event for event in history.events if self._mentions(event))
        local = [timeline for timeline in found if timeline.subject.kind in NODE_SIDE]
        named_first = limits.first_named_events(history)
        for timeline in local:
            yield from named_first.get(timeline.subject.ids.get("pod", ""), ())
            yield from _around(timeline, history)
        for timeline in local:
            yield from _events_used(timeline, history)
        yield from (event for one in history.timelines.values() if _has_no_pod(one) for event in one.events)

    def _mentions(self, event: Event) -> bool:
        """Return whether the event names one of the subjects, which may not be linked to it yet."""
        return any(
            ref.value.startswith(name) or ref.value.partition("/")[2].startswith(name)
            for ref in event.refs
            for name in self._names
        )


def _around(timeline: Timeline, history: History) -> Iterator[Event]:
    """Yield events of nodes and drivers within an hour of the subject, and image pulls, which name no pod."""
    begins, ends = timeline.events[0].time - HORIZON, max(event.ends for event in timeline.events) + HORIZON
    of_nodes = (one.events for (kind, _), one in history.timelines.items() if kind is SubjectKind.NODE)
    kinds = explaining_kinds() | pull_kinds()
    others = (event for event in history.events if event.kind in kinds)
    for events in (*of_nodes, others):
        yield from (event for event in events if event.ends >= begins and event.time <= ends)


def _events_used(timeline: Timeline, history: History) -> Iterator[Event]:
    for key in timeline.uses:
        if key[0] in NODE_SIDE and key in history.timelines:
            yield from history.timelines[key].events


def _has_no_pod(timeline: Timeline) -> bool:
    """Return whether the sandbox, container or volume has no known pod."""
    return timeline.subject.kind in NODE_SIDE - {SubjectKind.POD} and not any(
        kind is SubjectKind.POD for kind, _ in timeline.uses
    )


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
