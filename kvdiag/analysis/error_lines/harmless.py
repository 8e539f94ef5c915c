"""Decide whether lines that look harmless are: some only up to a number, after a start, or until an event."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence

from kvdiag.analysis.error_lines.lines import ErrorLines
from kvdiag.base.clock import MINUTE, SECOND
from kvdiag.explain.benign import Benign
from kvdiag.history.correlate.event_filter import STARTS
from kvdiag.history.ingest.log_events import LogEvents

SOON = 10 * MINUTE  # the event of an entry's `until` must follow within this time
BEFORE = 30 * SECOND  # a program may print lines this long before its version, which counts as its start


class HarmlessLines:
    """Applies the entries of harmless lines to the lines of one log."""

    def __init__(self, entries: Sequence[Benign], lines: ErrorLines, log: LogEvents) -> None:
        """Take the lines; `log` provides the starts of programs and the events that entries wait for."""
        self._entries, self._lines, self._log = entries, lines, log
        used = {entry for entry in set(lines.entry_of) if entry}
        counted = {entry for entry in used if entries[entry - 1].most}
        pairs = zip(lines.entry_of, lines.words, strict=True) if counted else ()
        self._same = Counter(pair for pair in pairs if pair[0] in counted)
        self._times = {until: self._times_of({until}) for entry in used if (until := entries[entry - 1].until)}
        self._starts = self._times_of(STARTS) if any(entries[entry - 1].start for entry in used) else []

    def entry(self, at: int) -> Benign | None:
        """Return the entry that makes the line harmless; None if there is none."""
        number = self._lines.entry_of[at]
        entry = self._entries[number - 1] if number else None
        if (
            entry is None
            or self._is_too_often(entry, number, at)
            or not self._is_harmless_at(entry, self._lines.stamps[at])
        ):
            return None
        return entry

    def _is_too_often(self, entry: Benign, number: int, at: int) -> bool:
        return bool(entry.most) and self._same[number, self._lines.words[at]] > entry.most

    def _is_harmless_at(self, entry: Benign, stamp: int) -> bool:
        """Return whether the line is at a time at which the entry makes it harmless."""
        if entry.start:
            last = bisect_right(self._starts, stamp + BEFORE) - 1
            if last < 0 or stamp - self._starts[last] > entry.start:
                return False
        if entry.until:
            times = self._times[entry.until]
            follows = bisect_left(times, stamp)
            return follows < len(times) and times[follows] - stamp <= SOON
        return True

    def _times_of(self, kinds: set[str] | frozenset[str]) -> list[int]:
        """Return the times of the log's events of these kinds."""
        return sorted(one.stamp for one in self._log.raw_events if one.match.entry.kind in kinds)
