"""Where two lives, or two logs, part ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kvdiag.model.event import Event


class StepTaken(NamedTuple):
    """A step one of the two took; `took` is microseconds since the step before it, `event` where it was seen."""

    step: str
    took: int
    event: Event


class Slower(NamedTuple):
    """A step both took, in microseconds, and much longer in one."""

    step: str
    left: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`left` and `right` are the names of what was compared.

    `common` is the last step both had taken before they parted; `parted_left` and `parted_right` what each did then.
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
