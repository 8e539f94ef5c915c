"""A subject's life: the steps it went through, the state each led to, and where it is now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kvdiag.model.event import Event
from kvdiag.model.report import Finding
from kvdiag.model.timeline import Entity, Skew


class Transition(NamedTuple):
    """One event of a life. `step` is what a person calls it, `state` the state it leads to (or leaves as it was).

    `legal` is False where the step does not follow from `before`; `says` then names the violated edge, such as
    `UNPUBLISHED → RELEASED without UNSTAGED`. `certain` is False while a restart or a timeout hides the true state.
    """

    event: Event
    step: str
    before: str
    state: str
    legal: bool = True
    certain: bool = True
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """All transitions of one subject in order of time.

    `machine` names the state machine that was used (`volume/filesystem`, `volume/inline`, `pod/1.27`, …); `state` was
    reached at `since` (microseconds UTC); `waits_for` says what must come next, empty at an end state. `assumed` when
    no line tells of the state, and one would of any other.
    """

    subject: Entity
    machine: str
    transitions: tuple[Transition, ...]
    state: str
    since: int
    waits_for: str = ""
    assumed: bool = False


class Phase(NamedTuple):
    """How long one part of a life took, such as `volumes`, `sandbox`, `image pull`; `ends` is None while it lasts."""

    name: str
    begins: int
    ends: int | None
    by: str = ""


class TimelineRow(NamedTuple):
    """One line of a told timeline.

    `gap` is microseconds since the row before; `unusual` 0 to 2 says how much longer than such a step takes. `marks`
    are rules whose finding rests on the row. `foreign` rows are other subjects' events that matter here. A row with
    `repeats` stands for that many more of its kind up to `until`; `ladder` is the backoffs of all.
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
    """A life told: its rows, how long its parts took, what was found about it, how far its nodes' clocks are off."""

    life: Lifecycle
    rows: tuple[TimelineRow, ...]
    phases: tuple[Phase, ...]
    findings: tuple[Finding, ...]
    skews: tuple[Skew, ...] = ()
