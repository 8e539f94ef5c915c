"""The lifecycle of a subject: its transitions, the state each led to, and the state it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kvdiag.model.event import Event
from kvdiag.model.report import Finding
from kvdiag.model.timeline import Entity, Skew


class Transition(NamedTuple):
    """One event of a lifecycle. `step` is its plain label, `state` the state after it, `before` the one before it.

    `legal` is False if the step cannot follow `before`; `violation` then names the violated edge, such as
    `UNPUBLISHED → RELEASED without UNSTAGED`. `certain` is False while a restart or a timeout hides the true state.
    """

    event: Event
    step: str
    before: str
    state: str
    legal: bool = True
    certain: bool = True
    violation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """All transitions of one subject in order of time.

    `machine` names the state machine that was used (`volume/filesystem`, `volume/inline`, `pod/1.27`, …); `state` was
    reached at `since` (microseconds UTC); `waits_for` is what must come next, empty in an end state. `assumed` if no
    line reports the state, and any other state would have been logged.
    """

    subject: Entity
    machine: str
    transitions: tuple[Transition, ...]
    state: str
    since: int
    waits_for: str = ""
    assumed: bool = False


class Phase(NamedTuple):
    """A part of a lifecycle, such as `volumes`, `sandbox`, `image pull`; microseconds UTC, `ends` is None if open.

    `by` distinguishes parts with one name, such as those of several containers.
    """

    name: str
    begins: int
    ends: int | None
    by: str = ""


class TimelineRow(NamedTuple):
    """One row of a timeline view.

    `gap` is microseconds since the row before; `unusual` (0 to 2) grades a gap that is longer than usual. `marks` are
    rules whose findings have the row as evidence. `foreign` rows are related events of other subjects. A row with
    `repeats` represents that many more of its kind up to `until`; `ladder` lists the backoffs of all.
    """

    transition: Transition
    gap: int
    unusual: int = 0
    marks: tuple[str, ...] = ()
    foreign: bool = False
    repeats: int = 0
    until: int = 0
    ladder: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """A lifecycle ready to print: its rows, phases and findings, and how far the clocks of its nodes are off.

    `causes` maps the key of each finding that is a symptom to its cause.
    """

    life: Lifecycle
    rows: tuple[TimelineRow, ...]
    phases: tuple[Phase, ...]
    findings: tuple[Finding, ...]
    skews: tuple[Skew, ...] = ()
    causes: Mapping[str, Finding] = field(default_factory=dict)
