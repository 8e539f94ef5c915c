"""Report progress on standard error: nodes done, failed, skipped, MB/s, time left, worst finding so far."""

from __future__ import annotations

import time
from collections import Counter
from typing import TextIO

from kvdiag.base.clock import format_duration
from kvdiag.fleet.values import Bundle, Outcome
from kvdiag.model.values import Severity
from kvdiag.safe.clean import clean

EVERY = 10.0  # seconds between two lines if stderr is no terminal
MOST_ALIKE = 10  # failures printed with one reason
_OFTEN = 0.2


class FleetProgress:
    """Counts outcomes, and prints them."""

    def __init__(self, stream: TextIO, total: int, size: int, skipped: int) -> None:
        """Take the number of nodes and bytes to analyze; `skipped` nodes have results already."""
        self._stream, self._total, self._size = stream, total, size
        self.skipped, self.done, self.failed, self.partial, self._read = skipped, 0, 0, 0, 0
        self._reasons: Counter[str] = Counter()
        self._worst: tuple[int, str] = (-1, "")
        self._begun = self._printed_at = time.monotonic()
        self._is_live = stream.isatty()

    def add(self, outcome: Outcome) -> None:
        """Count the outcome of a bundle."""
        self._read += outcome.size
        if outcome.reason:
            self.failed += 1
            self._reasons[outcome.reason] += 1
            if self._reasons[outcome.reason] <= MOST_ALIKE:
                self._print(f"{outcome.cluster}/{outcome.node} {outcome.reason}; {outcome.next_step}")
        else:
            self.done += 1
            self.partial += bool(outcome.problems)
            self._worst = max(self._worst, (outcome.worst, f"{outcome.worst_rule} on {outcome.node}"))
        for note in (*outcome.problems, *outcome.notes):
            self._print(f"{outcome.cluster}/{outcome.node}: {note}")
        now = time.monotonic()
        if now - self._printed_at > (_OFTEN if self._is_live else EVERY):
            self._printed_at = now
            self._stream.write(f"\r\x1b[K{self.line()}" if self._is_live else f"kvdiag: {self.line()}\n")
            self._stream.flush()

    def add_twice(self, bundle: Bundle) -> None:
        """Report a bundle that was given again."""
        self.failed += 1
        self._print(f"{bundle.cluster}/{bundle.node}: {bundle.place} was given twice and is read once")

    def end(self) -> None:
        """Print the last line, after the number of failures that were not printed."""
        for reason, count in self._reasons.items():
            if count > MOST_ALIKE:
                self._print(f"{count - MOST_ALIKE:,} more: {reason}; they are in the table failed")
        self._print(self.line())

    def line(self) -> str:
        """Return the progress in one line."""
        took = max(0.001, time.monotonic() - self._begun)
        rest = self._size - self._read
        parts = [
            f"{self.done:,} of {self._total:,} nodes done",
            f"{self.failed:,} failed",
            f"{self.skipped:,} skipped",
            f"{self._read / took / 1e6:.1f} MB/s",
        ]
        if rest > 0 and self._read:
            parts.append(f"{format_duration(int(rest * took / self._read * 1e6))} left")
        if self._worst[0] >= 0:
            parts.append(f"worst so far: {Severity(self._worst[0]).label}, {clean(self._worst[1])}")
        return " · ".join(parts)

    def _print(self, text: str) -> None:
        self._stream.write(("\r\x1b[K" if self._is_live else "") + f"kvdiag: {clean(text)}\n")
