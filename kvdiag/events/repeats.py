"""Handle repeated lines: polls are merged into one event with a count, copies of a line are dropped."""

from __future__ import annotations

from kvdiag.events.raw_events import Match, RawEvent
from kvdiag.events.timestamp_reader import Process

MOST_KNOWN = 4_096  # polls whose text is cached
MOST_SEEN = 200_000  # hashes of lines, 60 bytes each, to drop lines that an input contains twice


class Repeats:
    """The lines of one source that may repeat."""

    def __init__(self) -> None:
        """Begin without lines."""
        self.duplicates = 0
        self.polls: dict[bytes, RawEvent] = {}  # the text of a poll, without the time, and its event
        self.event_counts: dict[int, int] = {}  # hash of a line: how many events it has; 0.1 µs
        self.started: list[tuple[Match, RawEvent]] = []  # all polls, in their order
        self._folding: dict[Match, RawEvent] = {}

    def count_repeat(self, found: Match, stamp: int, process: Process) -> bool:
        """Return whether this is a repeat of the poll before it, which is then counted, or a copy of it."""
        before = self._folding.get(found)
        if before is None or before.more is None or before.process != process:
            return False
        if stamp == before.more[1]:
            self.duplicates += 1
            return True
        return before.count_repeat(stamp, process)

    def remember_line(self, line: bytes, events: int) -> None:
        """Remember a line and its number of events: parts of inputs may overlap."""
        if len(self.event_counts) >= MOST_SEEN:
            self.event_counts.clear()
        self.event_counts[hash(line)] = events

    def remember_poll(self, words: bytes, found: Match) -> None:
        """Remember the text of a poll without its time: 0.7 µs for a known line instead of 4."""
        poll = self._folding.get(found)
        if words and poll is not None:
            if len(self.polls) >= MOST_KNOWN:
                self.polls.clear()
            self.polls[words] = poll

    def start_poll(self, found: Match, raw_event: RawEvent) -> None:
        """Begin to count the repeats of a poll."""
        self._folding[found] = raw_event
        self.started.append((found, raw_event))

    def retain(self, events: list[RawEvent]) -> None:
        """Keep only these polls; any other begins again."""
        kept_ids = {id(raw_event) for raw_event in events}
        self._folding = {found: raw_event for found, raw_event in self._folding.items() if id(raw_event) in kept_ids}
        self.started = [(found, raw_event) for found, raw_event in self.started if id(raw_event) in kept_ids]
        self.polls = {words: raw_event for words, raw_event in self.polls.items() if id(raw_event) in kept_ids}
