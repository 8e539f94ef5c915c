"""A test told by events: what is said when, of whom, with which values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kvdiag.model.values import EMPTY

Alternatives = tuple[str, ...]


class StoryLine(NamedTuple):
    """One event of a story, or `count` of them `every` so many microseconds; 0: as kubelet's backoff makes them wait.

    `time` is in microseconds since midnight. Of several `kinds` or values any must give the same finding. `of` names
    whom it is about, when that is not the story's first pod. A kind without a dot is a component that says something.
    """

    time: int
    kinds: Alternatives
    values: Mapping[str, Alternatives] = EMPTY
    of: str = ""
    count: int = 1  # type: ignore[assignment]  # hides tuple.count
    every: int = 0

    @property
    def ends(self) -> int:
        """When the last of its events is said."""
        return self.moments[-1]

    @property
    def moments(self) -> tuple[int, ...]:
        """When each of its events is said."""
        if self.every or self.count == 1:
            return tuple(self.time + number * self.every for number in range(self.count))
        times = [self.time]
        for number in range(self.count - 1):
            times.append(times[-1] + backoff(number))
        return tuple(times)


FIRST_BACKOFF, LONGEST_BACKOFF = 500_000, 122_000_000


def backoff(number: int) -> int:
    """How long kubelet waits after so many failures more than one: 500ms, 1s, 2s … 2m2s."""
    return min(FIRST_BACKOFF << min(number, 20), LONGEST_BACKOFF)
