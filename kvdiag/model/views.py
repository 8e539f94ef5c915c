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


class ComparedSide(NamedTuple):
    """One of two compared subjects or logs: the steps that only it took, and of a subject its state and findings."""

    name: str
    only: tuple[StepTaken, ...]
    state: str = ""
    findings: tuple[ComparedFinding, ...] = ()

    @property
    def parted(self) -> StepTaken | None:
        """Return the step where it diverges from the other; None if the other took all its steps."""
        return self.only[0] if self.only else None


class Comparison(NamedTuple):
    """Two subjects or logs compared.

    `common` is the last step of both before they diverge, `slower` are the steps that took much longer in one.
    """

    left: ComparedSide
    right: ComparedSide
    common: str
    slower: tuple[Slower, ...]
