"""When error lines were written: a histogram over all logs, that of each taken from its own clock."""

from __future__ import annotations

from collections import Counter

from kvdiag.base.clock import SECOND, is_unanchored
from kvdiag.history.correlate.clocks import SourceClock
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.model.error_groups import NEVER, Histogram

PARTS = 1_000  # more than a terminal has columns
FINEST = SECOND // 10


class LogHistogram:
    """The lines of one log by parts of its time."""

    def __init__(self, log: LogEvents) -> None:
        """A log whose beginning or end has no time is counted by the second."""
        lasts = abs(log.last - log.first) if log.last is not None and log.first is not None else SECOND * PARTS
        self._width = max(FINEST, lasts // PARTS)
        self._counts: dict[int, int] = {}
        self._lines: dict[int, int] = {}

    def add(self, stamp: int, line: int, count: int = 1) -> None:
        """So many lines at this time on the clock of the log, the last of which is `line`."""
        part = stamp // self._width
        self._counts[part] = self._counts.get(part, 0) + count
        self._lines[part] = line

    def in_utc(self, clock: SourceClock) -> Counter[int]:
        """How many lines at which time in UTC."""
        found = Counter[int]()
        for part, count in self._counts.items():
            time = clock.utc(part * self._width, self._lines[part])
            if not is_unanchored(time):
                found[time] += count
        return found


def histogram(times: Counter[int]) -> Histogram:
    """At most `PARTS` counts, from the first to the last time."""
    if not times:
        return NEVER
    begins = min(times)
    width = max(FINEST, (max(times) - begins) // PARTS + 1)
    counts = [0] * ((max(times) - begins) // width + 1)
    for time, count in times.items():
        counts[(time - begins) // width] += count
    return Histogram(begins, width, tuple(counts))
