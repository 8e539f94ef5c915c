"""What files beside the logs say → events at the end of what the logs say of the same things.

Such a file tells what was true when it was collected, and rarely when that was. It is taken to be true after the last
line that speaks of the same volume or pod, so that it neither lengthens a story nor stands in the middle of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvdiag.evidence.fact import Fact
from kvdiag.model.event import Event, Ref
from kvdiag.model.place import NOWHERE, Place
from kvdiag.model.record import Origin


class Standing(NamedTuple):
    """The facts of one file."""

    source: str
    facts: Sequence[Fact]
    place: Place = NOWHERE


def stand(standing: Sequence[Standing], events: Sequence[Event]) -> Iterator[Event]:
    """Give an event for each fact; `events` are those of the logs."""
    if not standing:
        return
    last: dict[Ref, int] = {}
    for event in events:
        for ref in event.refs:
            last[ref] = max(event.ends, last.get(ref, 0))
    ends = max((event.ends for event in events), default=0)
    for file in standing:
        for fact in file.facts:
            time = max((last[ref] for ref in fact.refs if ref in last and ref.kind != "node"), default=ends)
            yield Event(
                time=time,
                kind=fact.kind,
                component="",
                refs=fact.refs,
                attrs=fact.attrs,
                origin=Origin(file.source, fact.line),
                node=fact.node,
                text=fact.text,
                ends=time,
            )
