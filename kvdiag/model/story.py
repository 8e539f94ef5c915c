"""A test as a story: which event is logged when, for which pod, with which values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kvdiag.model.values import EMPTY

Alternatives = tuple[str, ...]


class StoryLine(NamedTuple):
    """One event of a story, or `count` of them `every` so many microseconds; 0: with kubelet's backoff between them.

    `time` is in microseconds since midnight. Each of several `kinds` or values must give the same finding. `of` names
    the pod if it is not the story's first one. A kind without a dot is a component that logs any line.
    """

    time: int
    kinds: Alternatives
    values: Mapping[str, Alternatives] = EMPTY
    of: str = ""
    count: int = 1  # type: ignore[assignment]  # hides tuple.count
    every: int = 0

    @property
    def ends(self) -> int:
        """Return the time of its last event."""
        return self.moments[-1]

    @property
    def moments(self) -> tuple[int, ...]:
        """Return the time of each of its events."""
        if self.every or self.count == 1:
            return tuple(self.time + number * self.every for number in range(self.count))
        times = [self.time]
        for number in range(self.count - 1):
            times.append(times[-1] + backoff(number))
        return tuple(times)


FIRST_BACKOFF, LONGEST_BACKOFF = 500_000, 122_000_000


def backoff(number: int) -> int:
    """Return how long kubelet waits after failure `number` + 1: 500ms, 1s, 2s … 2m2s."""
    return min(FIRST_BACKOFF << min(number, 20), LONGEST_BACKOFF)
