"""Remove duplicate events of two inputs, such as a journal and a kubelet.log from it, and join polls across inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvdiag.base.clock import SECOND
from kvdiag.events.raw_events import FOLD
from kvdiag.model.event import Event

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
    return (event.kind, event.refs, tuple(event.attrs.items()))


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
    same_node = before.node == event.node or not (before.node and event.node)
    elsewhere = before.origin.source != event.origin.source or event.origin.line < before.origin.line
    return same_node and elsewhere and event.time - before.ends <= FOLD


def _merged(before: Event, event: Event) -> Event:
    """Merge two polls; if they overlap, they are partly copies, and the higher count is used."""
    apart = event.time > before.ends
    count = before.count + event.count if apart else max(before.count, event.count)
    return before._replace(ends=max(before.ends, event.ends), count=count, node=before.node or event.node)
