"""Where two lifecycles, or two logs, diverge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kvdiag.model.event import Event
from kvdiag.model.report import Finding


class StepTaken(NamedTuple):
    """A step one of the two took; `took` is microseconds since the step before it, `event` where it was seen."""

    step: str
    took: int
    event: Event


class ComparedFinding(NamedTuple):
    """A finding about one of the two, and the cause that explains it; None for one that is a cause itself."""

    finding: Finding
    cause: Finding | None


class Slower(NamedTuple):
    """A step both took, in microseconds, and much longer in one."""

    step: str
    left: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two subjects or logs compared; `left` and `right` are their names.

    `common` is the last step both had taken before they diverged; `parted_left` and `parted_right` the next step of
    each, None where there
    is none. `only_left` and `only_right` are the steps of one side, `slower` those that took much longer in one.
    `found_left` and `found_right` are the findings about each of two subjects.
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
