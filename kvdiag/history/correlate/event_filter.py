"""Filter the events of an analysis: those that a rule uses, and those that show identities, times and versions.

Of other kinds, the first event with each set of several names is kept, since it may join them. The last event of a
process before a start is kept, since it shows until when the process ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kvdiag.events.raw_events import RawEvent
from kvdiag.history.correlate.coverage import STARTING

STARTS = frozenset({"kubelet.started", "runtime.started"})
ALWAYS = STARTS | {
    "csi.controllerpublish.succeeded",
    "csi.driver.banner",
    "csi.driver.answered",
    "csi.getplugininfo.succeeded",
    "journal.suppressed",
    "kubelet.flag",
    "kubelet.runtime",
    "pod.scheduled",
    "version.found",
    "volume.attach.started",
}
"""Kinds that show versions, gaps, drivers and nodes."""


class Scope(NamedTuple):
    """The events of a history: from `since` until `until` (microseconds UTC), and of these `kinds`; None means all.

    Kinds are used only without a time range and without snapshots; `filter_events` keeps more than these kinds.
    """

    since: int | None = None
    until: int | None = None
    kinds: AbstractSet[str] | None = None

    @property
    def is_any_time(self) -> bool:
        """Return whether there is no time range."""
        return self.since is None and self.until is None

    def covers(self, begins: int, ends: int) -> bool:
        """Return whether `begins` to `ends` overlaps the time range."""
        return (self.since is None or ends >= self.since) and (self.until is None or begins <= self.until)


EVERYTHING = Scope()


def filter_events(raw_events: Sequence[RawEvent], kinds: AbstractSet[str]) -> Iterator[RawEvent]:
    """Yield events of `kinds` and of `ALWAYS`, the first and last, and those that show identities and nodes."""
    kept_kinds = kinds | ALWAYS
    seen: set[tuple[object, ...]] = set()
    ends = (0, len(raw_events) - 1)
    starts = [at for at, raw_event in enumerate(raw_events) if raw_event[1].entry.kind in STARTS]
    kept_positions = {at for start in starts for at in _last_before_start(raw_events, start)}
    kept_positions |= set(_first_of_nodes(raw_events))
    for at, raw_event in enumerate(raw_events):
        match = raw_event[1]
        if match.entry.kind in kept_kinds:
            seen.add(tuple(match.linking))
            yield raw_event
        elif (names := tuple(match.linking)) and names not in seen:
            seen.add(names)
            yield raw_event
        elif at in ends or at in kept_positions:
            yield raw_event


def _first_of_nodes(raw_events: Sequence[RawEvent]) -> Iterator[int]:
    """Yield the index of the first event of each node in lines: lines without a node may be of the only one."""
    nodes, before = {""}, None
    for at, raw_event in enumerate(raw_events):
        process = raw_event[4]
        if process is not before and process.node not in nodes:
            nodes.add(process.node)
            yield at
        before = process


def _last_before_start(raw_events: Sequence[RawEvent], start: int) -> Iterator[int]:
    """Yield the index of the component's last event before a start."""
    begun, component = raw_events[start].stamp - STARTING, raw_events[start].match.entry.component
    for at in range(start - 1, -1, -1):
        before = raw_events[at]
        if before.match.entry.component == component and before.ends < begun:
            yield at
            return
