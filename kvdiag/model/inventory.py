"""The inventory: one row for each pod or volume, and the durations of phases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kvdiag.model.lifecycle import Lifecycle, Phase
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
    explain its findings. The transitions of `life` are not used.
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
