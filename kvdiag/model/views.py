"""Values of views: the inventory, and a comparison of two lifecycles or logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kvdiag.model.event import Event
from kvdiag.model.lifecycle import Lifecycle, Phase
from kvdiag.model.report import Finding
from kvdiag.model.values import SubjectKind


class Spread(NamedTuple):
    """How long a phase took in all logs: how many `times` it ended, and percentiles in microseconds."""

    name: str
    times: int
    p50: int
    p90: int
    p99: int
    max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryRow:
    """One pod or volume on one node. `retries` counts failed operations, `failure` is the last of them.

    `stuck`: since `life.since` it waits for a step that failed or is long overdue; never if it `is_doubtful`, that is,
    if the logs contain only failures of it. `illegal` are the transitions out of order. `causes` are the rules that
    explain its findings. `failures` are the last event of each step that failed and did not succeed later. The
    transitions of `life` are not used.
    """

    life: Lifecycle
    node: str = ""
    driver: str = ""
    namespaces: tuple[str, ...] = ()
    certain: bool = True
    is_doubtful: bool = False
    stuck: bool = False
    retries: int = 0
    failure: str = ""
    failures: tuple[Event, ...] = ()
    illegal: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    phases: tuple[Phase, ...] = ()
    now: Phase | None = None

    @property
    def name(self) -> str:
        """Return the name of the subject that is shown to the user."""
        return self.life.subject.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The requested rows, with `spreads` by phase if `slow`; `begins` and `ends` of the logs in microseconds UTC."""

    kind: SubjectKind
    rows: tuple[InventoryRow, ...]
    spreads: tuple[Spread, ...] = ()
    slow: bool = False
    begins: int = 0
    ends: int = 0


class StepTaken(NamedTuple):
    """A step of one side; `took` is the time since the step before in microseconds, `event` is its event."""

    step: str
    took: int
    event: Event


class ComparedFinding(NamedTuple):
    """A finding about one of the two, and the cause that explains it; None for one that is a cause itself."""

    finding: Finding
    cause: Finding | None


class Slower(NamedTuple):
    """A step of both sides that took much longer in one, in microseconds."""

    step: str
    left: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two subjects or logs compared; `left` and `right` are their names.

    `common` is the last step of both before they diverge; `parted_left` and `parted_right` are the next step of each
    side, or None. `only_left` and `only_right` are the steps of one side only, `slower` those that took much longer in
    one. `found_left` and `found_right` are the findings about each of two subjects.
    """

    left: str
    right: str
    common: str
    parted_left: StepTaken | None
    parted_right: StepTaken | None
    only_left: tuple[StepTaken, ...]
    only_right: tuple[StepTaken, ...]
    slower: tuple[Slower, ...]
    state_left: str = ""
    state_right: str = ""
    found_left: tuple[ComparedFinding, ...] = ()
    found_right: tuple[ComparedFinding, ...] = ()
