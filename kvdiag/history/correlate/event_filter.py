"""The events that an analysis makes: those a rule asks for, and those that tell who is who, when and of which version.

Of a kind that nothing asks for the first event with each set of names is kept, as it may join two of them; what names
one thing alone joins nothing. Before a start the last word of the process is kept: until then it ran.
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
"""Kinds that tell versions, gaps, drivers and nodes."""


class Scope(NamedTuple):
    """What of the events a history is made of: from `since` until `until` (microseconds UTC), and of these `kinds`.

    None stands for all. Kinds limit a history only that is of any time and has no files beside its logs; what is left
    then beside them, `needed` says.
    """

    since: int | None = None
    until: int | None = None
    kinds: AbstractSet[str] | None = None

    @property
    def is_any_time(self) -> bool:
        """Whether no time was asked for."""
        return self.since is None and self.until is None

    def covers(self, begins: int, ends: int) -> bool:
        """Whether what lasted from `begins` to `ends` was going on in that time."""
        return (self.since is None or ends >= self.since) and (self.until is None or begins <= self.until)


EVERYTHING = Scope()


def filter_events(raw_events: Sequence[RawEvent], kinds: AbstractSet[str]) -> Iterator[RawEvent]:
    """Those of the `kinds` and of `ALWAYS`, the first and last of all, and what tells who is who and on which node."""
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
    """Where each node that lines say they are of spoke first: lines that say none may be of the only one."""
    nodes, before = {""}, None
    for at, raw_event in enumerate(raw_events):
        process = raw_event[4]
        if process is not before and process.node not in nodes:
            nodes.add(process.node)
            yield at
        before = process


def _last_before_start(raw_events: Sequence[RawEvent], start: int) -> Iterator[int]:
    """Where each process that starts, or another of its component, spoke last before."""
    begun, component = raw_events[start].stamp - STARTING, raw_events[start].match.entry.component
    for at in range(start - 1, -1, -1):
        before = raw_events[at]
        if before.match.entry.component == component and (before.more[1] if before.more else before.stamp) < begun:
            yield at
            return
