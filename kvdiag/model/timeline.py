"""Subjects with all their events, and what the logs were able to show (coverage)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.values import EMPTY, SubjectKind


class Entity(NamedTuple):
    """One thing, whatever names the logs have for it.

    `key` is unique among its kind; `name` what people call it; `ids` its names by kind of name
    (pod_uid, pod, volume_handle, driver, staging_path, sandbox_id, node …). `part` is what of a node is meant, where a
    rule divides by it: a device, an image, a registry's server.
    """

    kind: SubjectKind
    key: str
    name: str
    ids: Mapping[str, str] = EMPTY
    part: str = ""


class Gap(NamedTuple):
    """A stretch within coverage in which lines may be missing; microseconds UTC, and why.

    `component` is the one whose log of that time would close it; empty where there is none to be had.
    """

    begins: int
    ends: int
    why: str
    component: str = ""


class Coverage(NamedTuple):
    """When one component of one node was logging, and at which verbosity; microseconds UTC.

    `verbosity` is the highest klog `-v` proven by a flag dump or by a line that is printed only there. Of `is_events`
    there is no log, but a list of the component's events by kubectl.
    """

    component: str
    node: str
    begins: int
    ends: int
    verbosity: int
    gaps: tuple[Gap, ...] = ()
    is_events: bool = False


class Timeline(NamedTuple):
    """All events of one subject in order of time, ties in log order; `uses` are keys of linked subjects."""

    subject: Entity
    events: tuple[Event, ...]
    uses: frozenset[tuple[SubjectKind, str]] = frozenset()


class SeenVersion(NamedTuple):
    """A version read from the logs or given: `how` is banner, file, wording or option.

    For `wording`, `version` is empty and `span` holds the range that all wordings seen have in common. `time` is when a
    banner was printed (microseconds UTC): the version holds from then on, until the next one of the component.
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
    """Two lines that tell the same act, and how far apart their times are (microseconds): more than an act takes."""

    line: Origin
    other: Origin
    apart: int


class History(NamedTuple):
    """Every timeline over all logs given, with the coverage that proves an absence or leaves a doubt.

    `events` are all events in order of time. `begins` and `ends` are microseconds UTC. `adrift` are the logs without
    dates, whose times were counted from the date of the file. `incidents` are histories by folder, where the logs
    are of several incidents that have nothing to do with each other; rules are asked about each alone.
    `disagree` are the logs whose clock is not that of another, by name.
    """

    events: tuple[Event, ...]
    timelines: Mapping[tuple[SubjectKind, str], Timeline]
    coverage: tuple[Coverage, ...]
    versions: tuple[SeenVersion, ...]
    begins: int
    ends: int
    skews: tuple[Skew, ...] = ()
    unanchored: frozenset[str] = frozenset()
    incidents: Mapping[str, History] = EMPTY
    disagreements: Mapping[str, Disagreement] = EMPTY
