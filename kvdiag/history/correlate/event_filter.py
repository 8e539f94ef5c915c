"""Which events are kept: those that rules or identities need, each once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kvdiag.base.clock import SECOND
from kvdiag.events.raw_events import FOLD, RawEvent
from kvdiag.history.correlate.coverage import STARTING
from kvdiag.model.event import Event, may_be_same_node

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
    seen: set[int] = set()  # hashes of names, which take less memory than the names
    ends = (0, len(raw_events) - 1)
    starts = [at for at, raw_event in enumerate(raw_events) if raw_event[1].entry.kind in STARTS]
    kept_positions = {at for start in starts for at in _last_before_start(raw_events, start)}
    kept_positions |= set(_first_of_nodes(raw_events))
    for at, raw_event in enumerate(raw_events):
        match = raw_event[1]
        if match.entry.kind in kept_kinds:
            seen.add(hash(tuple(match.linking)))
            yield raw_event
        elif (names := tuple(match.linking)) and hash(names) not in seen:
            seen.add(hash(names))
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


RECORDED = "recorded"  # the attribute of events that the recorder logs
RECORDED_WITHIN = 10 * SECOND  # after the failure; the recorder has a queue
RECORDED_KINDS = frozenset(
    f"volume.{what}" for what in ("publish.failed", "stage.failed", "wait.failed", "attach.failed", "multi-attach")
)


def without_copies(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events, in order of time, without duplicates: the first input by name keeps its event."""
    seen: set[tuple[object, ...]] = set()
    before: Event | None = None
    for event in events:
        if before is None or event.time != before.time:
            seen.clear()
        else:
            if not seen:
                seen.add(_content(before))
            if (identity := _content(event)) in seen:
                continue
            seen.add(identity)
        before = event
        yield event


def _content(event: Event) -> tuple[object, ...]:
    return (event.kind, event.refs, tuple(event.attrs.items()), event.count)


def without_records(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events without those of client-go's recorder for a failure that the same log has just before."""
    last_failures: dict[tuple[str, str, str], int] = {}
    for event in events:
        if event.kind in RECORDED_KINDS:
            keys = [(event.origin.source, event.kind, name) for name in _volume_names(event)]
            if RECORDED not in event.attrs:
                last_failures.update(dict.fromkeys(keys, event.time))
            elif any(key in last_failures and event.time - last_failures[key] <= RECORDED_WITHIN for key in keys):
                continue
        yield event


def _volume_names(event: Event) -> Iterator[str]:
    """Yield the names of the volume in a failure: its PV, or its name in the pod."""
    yield from filter(None, (event.ref("spec_name"), event.ref("outer_name"), event.attrs.get("pv_name")))


def join_polls(events: Iterable[Event], polls: set[str]) -> list[Event]:
    """Return the events with polls that continue in another input, or further up in the same, merged.

    In one input, polls are merged while it is read, but not if the newest line is first. A rotation must not divide a
    poll.
    """
    joined: list[Event] = []
    begun: dict[tuple[object, ...], int] = {}
    for event in events:
        if event.kind in polls:
            identity = (event.kind, event.refs, tuple(event.attrs.items()), event.component)
            at = begun.get(identity)
            if at is not None and _continues(joined[at], event):
                joined[at] = _merged(joined[at], event)
                continue
            begun[identity] = len(joined)
        joined.append(event)
    return joined


def _continues(before: Event, event: Event) -> bool:
    elsewhere = before.origin.source != event.origin.source or event.origin.line < before.origin.line
    return may_be_same_node(before.node, event.node) and elsewhere and event.time - before.ends <= FOLD


def _merged(before: Event, event: Event) -> Event:
    """Merge two polls; if they overlap, they are partly copies, and the higher count is used."""
    apart = event.time > before.ends
    count = before.count + event.count if apart else max(before.count, event.count)
    return before._replace(ends=max(before.ends, event.ends), count=count, node=before.node or event.node)
