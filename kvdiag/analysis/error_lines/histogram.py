"""Build a histogram of error lines over all logs; the times of each log are converted with its own clock."""

from __future__ import annotations

from collections import Counter

from kvdiag.base.clock import SECOND, is_unanchored
from kvdiag.history.correlate.clocks import SourceClock
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.model.error_groups import NEVER, Histogram

PARTS = 1_000  # parts of a histogram, more than a terminal has columns
FINEST = SECOND // 10


class LogHistogram:
    """The lines of one log, counted by parts of its time."""

    def __init__(self, log: LogEvents) -> None:
        """Take the log; without a begin or end, count by the second."""
        lasts = abs(log.last - log.first) if log.last is not None and log.first is not None else SECOND * PARTS
        self._width = max(FINEST, lasts // PARTS)
        self._counts: dict[int, int] = {}
        self._lines: dict[int, int] = {}

    def add(self, stamp: int, line: int, count: int = 1) -> None:
        """Add lines at this time on the log's clock; `line` is the number of the last one."""
        part = stamp // self._width
        self._counts[part] = self._counts.get(part, 0) + count
        self._lines[part] = line

    def in_utc(self, clock: SourceClock) -> Counter[int]:
        """Return the number of lines by time in UTC."""
        found = Counter[int]()
        for part, count in self._counts.items():
            time = clock.utc(part * self._width, self._lines[part])
            if not is_unanchored(time):
                found[time] += count
        return found


def histogram(times: Counter[int]) -> Histogram:
    """Return a histogram with at most `PARTS` counts, from the first to the last time."""
    if not times:
        return NEVER
    begins = min(times)
    width = max(FINEST, (max(times) - begins) // PARTS + 1)
    counts = [0] * ((max(times) - begins) // width + 1)
    for time, count in times.items():
        counts[(time - begins) // width] += count
    return Histogram(begins, width, tuple(counts))
