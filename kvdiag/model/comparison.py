"""The comparison of two lifecycles, or of two logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kvdiag.model.event import Event
from kvdiag.model.report import Finding


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
