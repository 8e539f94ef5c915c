"""Timelines of subjects, and the coverage of the logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kvdiag.model.event import Event, may_be_same_node
from kvdiag.model.record import Origin
from kvdiag.model.values import EMPTY, SubjectKind


class Entity(NamedTuple):
    """A subject: a pod, volume, sandbox, container, driver or node.

    `key` is unique in its kind; `name` is for people; `ids` are its names by kind of name (pod_uid, pod,
    volume_handle, driver, staging_path, sandbox_id, node …). `part` is a part of a node, if a rule has one finding for
    each: a device, an image, a registry.
    """

    kind: SubjectKind
    key: str
    name: str
    ids: Mapping[str, str] = EMPTY
    part: str = ""


class Gap(NamedTuple):
    """A time in which lines may be missing; microseconds UTC, and why.

    `component` is the component whose log of that time would close the gap; empty if there is none.
    """

    begins: int
    ends: int
    why: str
    component: str = ""


class Coverage(NamedTuple):
    """When one component of one node was logging, and at which verbosity; microseconds UTC.

    `verbosity` is the highest klog `-v` proven by a flag dump or by a line that needs it. If `is_events`, there is no
    log, only the component's events as kubectl lists them.
    """

    component: str
    node: str
    begins: int
    ends: int
    verbosity: int
    gaps: tuple[Gap, ...] = ()
    is_events: bool = False


SubjectKey = tuple[SubjectKind, str]
"""The kind and the key of a subject."""


class Timeline(NamedTuple):
    """All events of one subject in order of time, ties in log order."""

    subject: Entity
    events: tuple[Event, ...]


class Timelines(Mapping[SubjectKey, Timeline]):
    """Timelines by subject. They may be made when they are asked for: ask for `events_of` where these are enough."""

    def events_of(self, key: SubjectKey) -> Sequence[Event]:
        """Return the events of a subject in order of time."""
        return self[key].events

    def linked_to(self, key: SubjectKey) -> frozenset[SubjectKey]:
        """Return the keys of the subjects that a subject uses, or that use it; none for an unknown one."""
        raise NotImplementedError


class SeenVersion(NamedTuple):
    """A version from the logs or the command line: `how` is banner, file, wording or option.

    For `wording`, `version` is empty and `span` is the intersection of the ranges of all wordings seen. `time` is when
    a banner was printed (microseconds UTC): the version is valid until the next banner of the component.
    """

    component: str
    version: str
    how: str
    node: str = ""
    origin: Origin | None = None
    span: str = ""
    time: int | None = None


class Skew(NamedTuple):
    """Bounds (microseconds) on how far a node's clock is ahead of the controller's; None: not bounded."""

    node: str
    low: int | None
    high: int | None


class Disagreement(NamedTuple):
    """Two lines that report the same operation, `apart` microseconds: more than the operation can take."""

    line: Origin
    other: Origin
    apart: int


class History(NamedTuple):
    """The timelines of all logs, with the coverage that proves an absence or leaves a doubt.

    `events` are all events in order of time. `begins` and `ends` are microseconds UTC. `unanchored` are the logs
    without dates, whose times are relative to the date of the file; `rows` are lines with ages by log, where other
    lines have dates. `listed` has when a table of kubectl was printed, by source: its rows have ages, and the last one
    may be long over by then. `zoneless` are the logs that print no time zone, where nothing else shows it. `incidents`
    are histories by folder, if the logs are of several unrelated incidents; rules are applied to each separately.
    `disagreements` are the logs whose clock differs from that of another, by name.
    """

    events: tuple[Event, ...]
    timelines: Timelines
    coverage: tuple[Coverage, ...]
    versions: tuple[SeenVersion, ...]
    begins: int
    ends: int
    skews: tuple[Skew, ...] = ()
    unanchored: frozenset[str] = frozenset()
    rows: Mapping[str, frozenset[int]] = EMPTY
    listed: Mapping[str, int] = EMPTY
    zoneless: frozenset[str] = frozenset()
    incidents: Mapping[str, History] = EMPTY
    disagreements: Mapping[str, Disagreement] = EMPTY

    def has_date(self, event: Event) -> bool:
        """Return whether the line of an event, or its log, has dates."""
        source, line = event.origin
        return source not in self.unanchored and line not in self.rows.get(source, ())

    def is_local(self, events: Iterable[Event]) -> bool:
        """Return whether the zone of the lines of all these events is only assumed."""
        sources = {event.origin.source for event in events}
        return bool(sources) and sources <= self.zoneless

    def has_common_time(self, sources: AbstractSet[str]) -> bool:
        """Return whether the times of these logs can be compared: a log without dates has a moment of its own."""
        return len(sources) < 2 or self.unanchored.isdisjoint(sources)

    def coverage_of(self, component: str, node: str) -> list[Coverage]:
        """Return the coverage of the component's logs that may be of the node."""
        return [one for one in self.coverage if one.component == component and may_be_same_node(node, one.node)]
