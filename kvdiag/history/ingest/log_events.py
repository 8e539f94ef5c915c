"""What one source said, before it is compared with the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from kvdiag.events.raw_events import UNKNOWN_PROCESS, RawEvent
from kvdiag.events.timestamp_reader import Process
from kvdiag.formats.authors import DRIVER, SIDECARS, Attribution, byline, program_in_name
from kvdiag.model.provenance import NO_PROVENANCE, Provenance

# Names that several logs have for the same thing, at about the same time, and that exist on one node only.
SHARED = frozenset({"sandbox_id", "container_id", "target_path", "attachment"})


def count_components(raw_events: Iterable[RawEvent]) -> Counter[str]:
    """How often each component spoke; calls are told by several."""
    matched = [raw_event[1].entry for raw_event in raw_events]
    entries, entry_counts = {id(entry): entry for entry in matched}, Counter(map(id, matched))
    counts = Counter[str]()
    for key, entry in entries.items():
        if entry.component and not entry.is_call:
            counts[entry.component] += entry_counts[key]
    return counts


@dataclass(frozen=True, kw_only=True)
class LogEvents:
    """One input's raw_events in line order, on the input's own clock.

    `first` and `last` are the stamps of the first and last line that has a time (microseconds, maybe year-less).
    `preamble_year` is what a klog file's header says, `journal_span` the days on which the journal begins and ends, as
    its header says, `said_year` what a line near the beginning says in its message, `said_days` the days that lines
    near the beginning name with their year; `wrapped` are the first dated lines in a carrier that writes no year:
    (year-less stamp of the carrier, microseconds UTC of the line). `input` is the file or archive member that the log
    is in, `is_named` whether the user named it. `modified` is the file's date in seconds since 1970; `place` what its
    path says of its node and container. `evicted` counts, by component, what was said and is no longer among the
    raw_events. `process` wrote the first line with a time. `damaged` are stretches of lines, first and last, in which
    some are not legible.
    """

    source: str
    raw_events: Sequence[RawEvent]
    first: int | None
    last: int | None
    lines: int
    wordings: frozenset[int] = frozenset()
    yearless: bool = False
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
    evicted: Mapping[str, int] = field(default_factory=dict)
    damaged: tuple[tuple[int, int], ...] = ()

    def filtered(self, is_kept: Callable[[RawEvent], bool]) -> LogEvents:
        """The same with some of its raw_events."""
        kept = [raw_event for raw_event in self.raw_events if is_kept(raw_event)]
        evicted = Counter(self.evicted) + (count_components(self.raw_events) - count_components(kept))
        return replace(self, raw_events=kept, evicted=evicted)

    @cached_property
    def attribution(self) -> Attribution:
        """Who wrote its lines."""
        return Attribution(byline(self.source, self.place), self.component)

    @cached_property
    def component(self) -> str:
        """Who mostly speaks here: by what was recognised, else by the container's or input's name."""
        named = program_in_name(self.place.container or self.source)
        counts = Counter(self.evicted) + count_components(self.raw_events)
        if named in counts:
            return named
        most_common = counts.most_common(1)[0][0] if counts else ""
        if (
            most_common == DRIVER or not most_common
        ):  # sidecars print a driver's words: what it is called, what it was asked
            sidecar = named if named in SIDECARS else ""
            calls = DRIVER if any(s.match.entry.is_call for s in self.raw_events) else ""
            return sidecar or most_common or calls or named
        return most_common
