"""Divide the events by the subjects that they name, into one timeline for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from kvdiag.events.snapshots.fact import SNAPSHOT_KINDS
from kvdiag.history.correlate.entities import MOST_LINKED, describe
from kvdiag.history.correlate.identity import Identities
from kvdiag.model.event import Event, Ref
from kvdiag.model.timeline import Timeline
from kvdiag.model.values import SubjectKind

Subject = tuple[SubjectKind, str]


def divide(
    events: Sequence[Event], identities: Identities, wide: AbstractSet[str]
) -> tuple[dict[Subject, list[Event]], dict[Subject, set[Subject]]]:
    """Group the events by the subjects that they name; subjects of one event use each other."""
    by_subject: dict[Subject, list[Event]] = defaultdict(list)
    uses: dict[Subject, set[Subject]] = defaultdict(set)
    lasting: dict[tuple[Ref, ...], list[Subject]] = {}  # subjects of refs that do not depend on the time
    for event in events:
        subjects = lasting.get(event.refs)
        if subjects is None:
            subjects = _subjects(event, identities)
            if 1 < len(subjects) <= MOST_LINKED:
                for subject in subjects:
                    uses[subject].update(subjects)
            if identities.is_lasting(event.refs):
                lasting[event.refs] = subjects
        for subject in subjects:
            by_subject[subject].append(event)
        if event.kind in wide:
            by_subject[SubjectKind.NODE, event.node].append(event)
    return by_subject, uses


def _subjects(event: Event, identities: Identities) -> list[Subject]:
    refs = event.refs
    if not refs:
        return []
    subjects: list[Subject] = [(SubjectKind.POD, uid) for uid in identities.pods(event)]
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


def of_logs(by_subject: Mapping[Subject, list[Event]]) -> dict[Subject, list[Event]]:
    """Return the subjects that are in logs, not only in snapshots: a list of mounts has every volume of a node."""
    return {key: events for key, events in by_subject.items() if any(e.kind not in SNAPSHOT_KINDS for e in events)}


def timelines(
    by_subject: Mapping[Subject, list[Event]], uses: Mapping[Subject, set[Subject]], identities: Identities
) -> dict[Subject, Timeline]:
    """Return the timeline of each subject."""
    return {
        subject: Timeline(
            describe(subject, events, identities), tuple(events), frozenset(uses.get(subject, ())) - {subject}
        )
        for subject, events in by_subject.items()
    }
