"""What one source said, before it is compared with the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from kvdiag.events.raw import UNKNOWN_PROCESS, RawEvent
from kvdiag.events.stamper import Process
from kvdiag.formats.authors import DRIVER, SIDECARS, Attribution, byline, called
from kvdiag.model.place import NO_PROVENANCE, Provenance

# Names that several logs have for the same thing, at about the same time, and that exist on one node only.
SHARED = frozenset({"sandbox_id", "container_id", "target_path", "attachment"})


def processes(raw_events: Iterable[RawEvent]) -> Counter[str]:
    """How often each component spoke; calls are told by several."""
    told = [raw_event[1].entry for raw_event in raw_events]
    entries, often = {id(entry): entry for entry in told}, Counter(map(id, told))
    own = Counter[str]()
    for key, entry in entries.items():
        if entry.component and not entry.is_call:
            own[entry.component] += often[key]
    return own


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
    said_year: int | None = None
    said_days: tuple[int, ...] = ()
    wrapped: tuple[tuple[int, int], ...] = ()
    input: str = ""
    is_named: bool = False
    process: Process = UNKNOWN_PROCESS
    modified: float | None = None
    place: Provenance = NO_PROVENANCE
    evicted: Mapping[str, int] = field(default_factory=dict)
    damaged: tuple[tuple[int, int], ...] = ()

    def keeping(self, keeps: Callable[[RawEvent], bool]) -> LogEvents:
        """The same with some of its raw_events."""
        kept = [raw_event for raw_event in self.raw_events if keeps(raw_event)]
        evicted = Counter(self.evicted) + (processes(self.raw_events) - processes(kept))
        return replace(self, raw_events=kept, evicted=evicted)

    @cached_property
    def attribution(self) -> Attribution:
        """Who wrote its lines."""
        return Attribution(byline(self.source, self.place), self.component)

    @cached_property
    def component(self) -> str:
        """Who mostly speaks here: by what was recognised, else by the container's or input's name."""
        named = called(self.place.container or self.source)
        own = Counter(self.evicted) + processes(self.raw_events)
        if named in own:
            return named
        said = own.most_common(1)[0][0] if own else ""
        if said == DRIVER or not said:  # sidecars print a driver's words: what it is called, what it was asked
            sidecar = named if named in SIDECARS else ""
            calls = DRIVER if any(s.match.entry.is_call for s in self.raw_events) else ""
            return sidecar or said or calls or named
        return said
