"""What two inputs both hold, or hold a half of each: a journal and the kubelet.log cut from it, a rotated log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvdiag.base.clock import SECOND
from kvdiag.events.raw_events import FOLD
from kvdiag.model.event import Event

RECORDED = "recorded"  # the attribute of what the recorder logs
RECORDED_WITHIN = 10 * SECOND  # of the failure; it has a queue
RECORDED_KINDS = frozenset(
    f"volume.{what}" for what in ("publish.failed", "stage.failed", "wait.failed", "attach.failed", "multi-attach")
)


def without_copies(events: Iterable[Event]) -> Iterator[Event]:
    """The events, in order of time, without repeats: the first input in order of names keeps what several hold."""
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
    """The events without those that client-go's recorder logged of a failure that the same log told just before."""
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
    """What a failure of a volume calls it: by its PV, or as its pod does."""
    yield from filter(None, (event.ref("spec_name"), event.ref("outer_name"), event.attrs.get("pv_name")))


def join_polls(events: Iterable[Event], polls: set[str]) -> list[Event]:
    """The events with each poll that goes on in another input, or further up in the same, counted with its beginning.

    Within one input a poll is folded as it is read, but not in one that tells the newest first; the cut of a rotated
    log must not show.
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
    """Both as one; where they overlap they are copies in part, and the longer one counts."""
    apart = event.time > before.ends
    count = before.count + event.count if apart else max(before.count, event.count)
    return before._replace(ends=max(before.ends, event.ends), count=count, node=before.node or event.node)
