"""Divide the events by the subjects that they name, into one timeline for each.

A subject is described only if its timeline is asked for: describing one takes 20 µs and 1 KB, and of 100,000 healthy
sandboxes nobody asks for any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from kvdiag.events.snapshots.fact import SNAPSHOT_KINDS
from kvdiag.history.correlate.entities import MOST_LINKED, describe
from kvdiag.history.correlate.handover import HANDED_OVER
from kvdiag.history.correlate.identity import Identities
from kvdiag.model.event import Event, Ref
from kvdiag.model.timeline import SubjectKey, Timeline, Timelines
from kvdiag.model.values import SubjectKind


def divide(events: Sequence[Event], identities: Identities, wide: AbstractSet[str]) -> dict[SubjectKey, list[Event]]:
    """Group the events by the subjects that they name; those of the kinds `wide` also by node."""
    by_subject: dict[SubjectKey, list[Event]] = defaultdict(list)
    lasting: dict[tuple[Ref, ...], list[SubjectKey]] = {}  # subjects of refs that do not depend on the time
    for event in events:
        subjects = lasting.get(event.refs)
        if subjects is None:
            subjects = _subjects(event, identities)
            if identities.is_lasting(event.refs):
                lasting[event.refs] = subjects
        for subject in subjects:
            by_subject[subject].append(event)
        if event.kind in wide:
            by_subject[SubjectKind.NODE, event.node].append(event)
    return by_subject


def _subjects(event: Event, identities: Identities) -> list[SubjectKey]:
    refs = event.refs
    if not refs:
        return []
    subjects: list[SubjectKey] = [(SubjectKind.POD, uid) for uid in identities.pods(event)]
    volume = identities.volume(event)
    if volume is not None:
        subjects.append((SubjectKind.VOLUME, "|".join(volume)))
    for kind, value in refs:
        if kind == "driver":
            subjects.append((SubjectKind.DRIVER, value))
        elif kind == "sandbox_id" or (kind == "container_id" and identities.is_sandbox(value)):
            subjects.append((SubjectKind.SANDBOX, value))
        elif kind == "container_id":
            subjects.append((SubjectKind.CONTAINER, value))
    return subjects


def of_logs(by_subject: Mapping[SubjectKey, list[Event]]) -> dict[SubjectKey, list[Event]]:
    """Return the subjects that are in logs, not only in snapshots: a list of mounts has every volume of a node."""
    return {key: events for key, events in by_subject.items() if any(e.kind not in SNAPSHOT_KINDS for e in events)}


class LogTimelines(Timelines):
    """The timelines of the subjects of logs, each made when it is asked for."""

    def __init__(self, by_subject: Mapping[SubjectKey, Sequence[Event]], identities: Identities) -> None:
        """Take the events of each subject in order of time."""
        self._by_subject, self._identities = by_subject, identities
        self._made: dict[SubjectKey, Timeline] = {}
        self._linked: dict[SubjectKey, frozenset[SubjectKey]] = {}

    def __getitem__(self, key: SubjectKey) -> Timeline:
        """Return the timeline of a subject."""
        timeline = self._made.get(key)
        if timeline is None:
            events = self._by_subject[key]
            entity = describe(key, events, self._identities)
            timeline = self._made[key] = Timeline(entity, tuple(events))
        return timeline

    def __iter__(self) -> Iterator[SubjectKey]:
        """Yield the subjects."""
        return iter(self._by_subject)

    def __len__(self) -> int:
        """Return the number of subjects."""
        return len(self._by_subject)

    def events_of(self, key: SubjectKey) -> Sequence[Event]:
        """Return the events of a subject in order of time."""
        return self._by_subject[key]

    def linked_to(self, key: SubjectKey) -> frozenset[SubjectKey]:
        """Return the other subjects in the lines of a subject: they use each other."""
        linked = self._linked.get(key)
        if linked is None:
            linked = self._linked[key] = frozenset(self._in_lines_of(key)) - {key}
        return linked

    def _in_lines_of(self, key: SubjectKey) -> Iterator[SubjectKey]:
        """Yield the subjects in the lines of a subject, some several times."""
        seen: set[tuple[Ref, ...]] = set()
        for event in self._by_subject.get(key, ()) if key[0] is not SubjectKind.NODE else ():
            if event.refs not in seen and event.kind not in HANDED_OVER:
                if self._identities.is_lasting(event.refs):
                    seen.add(event.refs)
                subjects = _subjects(event, self._identities)
                yield from subjects if len(subjects) <= MOST_LINKED else ()
