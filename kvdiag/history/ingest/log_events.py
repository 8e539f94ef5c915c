"""The raw events of one source, before sources are correlated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kvdiag.events.line_texts import LineTexts
from kvdiag.events.raw_events import UNKNOWN_PROCESS, RawEvent
from kvdiag.events.timestamp_reader import Process
from kvdiag.formats.authors import DRIVER, SIDECARS, Attribution, byline, program_in_name
from kvdiag.model.record import NO_PROVENANCE, Provenance

# Kinds of refs that several logs have for one subject at about the same time, and that exist on one node only.
SHARED = frozenset({"sandbox_id", "container_id", "target_path", "attachment"})


def _count_components(raw_events: Iterable[RawEvent]) -> Counter[str]:
    """Return the number of events of each component, without calls, which several components log."""
    matched = [raw_event[1].entry for raw_event in raw_events]
    entries, entry_counts = {id(entry): entry for entry in matched}, Counter(map(id, matched))
    counts = Counter[str]()
    for key, entry in entries.items():
        if entry.component and not entry.is_call:
            counts[entry.component] += entry_counts[key]
    return counts


@dataclass(frozen=True, kw_only=True)
class LogEvents:
    """The raw events of one log in order of lines, on the log's own clock; their lines are in `texts`.

    `first` and `last` are the stamps of the first and last line that has a time (microseconds, maybe year-less),
    `first_yearless` that of the first klog line that was read and has no year.
    `preamble_year` is the year in a klog file's header, `journal_span` the first and last day in a journal's header,
    `message_year` the year in a message near the beginning, `mentioned_days` the days with a year in lines near the
    beginning; `wrapped` are the first dated lines in a carrier without a year: (year-less stamp of the carrier,
    microseconds UTC of the line). `input` is the file or archive member of the log, `is_named` whether the user named
    it. `modified` is the file's date in seconds since 1970; `place` is its node and container according to the path.
    `process` wrote the first line with a time. `damaged` are ranges of lines, first and last, that are partly
    unreadable.
    """

    source: str
    raw_events: Sequence[RawEvent]
    first: int | None
    last: int | None
    lines: int
    texts: LineTexts = field(default_factory=LineTexts)
    wordings: frozenset[int] = frozenset()
    yearless: bool = False
    first_yearless: int | None = None
    preamble_year: int | None = None
    journal_span: tuple[int, int] | None = None
    message_year: int | None = None
    mentioned_days: tuple[int, ...] = ()
    wrapped: tuple[tuple[int, int], ...] = ()
    input: str = ""
    is_named: bool = False
    process: Process = UNKNOWN_PROCESS
    modified: float | None = None
    place: Provenance = NO_PROVENANCE
    damaged: tuple[tuple[int, int], ...] = ()

    @cached_property
    def attribution(self) -> Attribution:
        """Return the attribution of its lines."""
        return Attribution(byline(self.source, self.place), self.component)

    @cached_property
    def component(self) -> str:
        """Return the component of most events; without events, that in the container's or input's name."""
        named = program_in_name(self.place.container or self.source)
        counts = _count_components(self.raw_events)
        if named in counts:
            return named
        most_common = counts.most_common(1)[0][0] if counts else ""
        if (
            most_common == DRIVER or not most_common
        ):  # sidecars print a driver's messages: decide by the log's name, then by calls
            sidecar = named if named in SIDECARS else ""
            calls = DRIVER if any(s.match.entry.is_call for s in self.raw_events) else ""
            return sidecar or most_common or calls or named
        return most_common
