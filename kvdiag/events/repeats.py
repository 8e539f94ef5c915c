"""Lines that say again what was said: polls are folded into one event with a count, copies of a line dropped."""

from __future__ import annotations

from kvdiag.events.raw import Match, RawEvent
from kvdiag.events.stamper import Process

MOST_KNOWN = 4_096  # polls whose words are remembered
MOST_SEEN = 200_000  # lines, by hash, 60 bytes each, that are remembered to drop what an input holds twice


class Repeats:
    """What one source said so far that may come again."""

    def __init__(self) -> None:
        """Nothing was said."""
        self.duplicates = 0
        self.known: dict[bytes, RawEvent] = {}  # the words of a poll, without the time, and the event that goes on
        self.told: dict[int, int] = {}  # hash of a line: how many events it told; 0.1 µs a look
        self._folding: dict[Match, RawEvent] = {}

    def fold(self, found: Match, stamp: int, process: Process) -> bool:
        """Whether this repeats the poll before it, which then counts it, or is a copy of it."""
        before = self._folding.get(found)
        if before is None or before.more is None or before.process != process:
            return False
        if stamp == before.more[1]:
            self.duplicates += 1
            return True
        return before.goes_on(stamp, process)

    def tell(self, line: bytes, events: int) -> None:
        """Remember what a line told: inputs are cut and joined with overlaps."""
        if len(self.told) >= MOST_SEEN:
            self.told.clear()
        self.told[hash(line)] = events

    def learn(self, words: bytes, found: Match) -> None:
        """What a poll says is the same each time but for its time: 0.7 µs for a line that was met, instead of 4."""
        going = self._folding.get(found)
        if words and going is not None:
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            self.known[words] = going

    def begin(self, found: Match, raw_event: RawEvent) -> None:
        """A poll, to be counted on while it repeats."""
        self._folding[found] = raw_event

    def keep(self, kept: list[RawEvent]) -> None:
        """Count on these alone; any other poll begins anew."""
        going = {id(raw_event) for raw_event in kept}
        self._folding = {found: raw_event for found, raw_event in self._folding.items() if id(raw_event) in going}
        self.known = {words: raw_event for words, raw_event in self.known.items() if id(raw_event) in going}
