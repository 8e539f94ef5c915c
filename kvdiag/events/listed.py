"""Rows of the events that kubectl shows: what they are about, which stands far above them or in another row.

Name:             web-0
Namespace:        shop
Events:
  Warning  FailedMount  3m (x5 over 10m)  kubelet  MountVolume.SetUp failed for volume "data" : rpc error: …
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeGuard

from kvdiag.formats.bodies.eventtable import FORMATS, Described, descriptions, repeats

if TYPE_CHECKING:
    from kvdiag.events.raw import RawEvent
    from kvdiag.events.stamper import TimedLine, TimestampReader
    from kvdiag.model.record import Body


def is_row(body: Body | None) -> TypeGuard[Body]:
    """Whether a line is a row of such a table, or an event as the API has it."""
    return body is not None and body.format in FORMATS


class Listed:
    """Reads the rows of one source in order."""

    def __init__(self, stamper: TimestampReader) -> None:
        """The stamper reads a row, and knows what is described."""
        self._stamper = stamper
        self._block = b""
        self._above: deque[Described] = deque()

    def read(self, said: TimedLine, line: bytes, block: bytes, index: int) -> TimedLine:
        """A row as it was read, or read anew as one about what is named above it."""
        above = []
        if self._block is not block:
            above = [*self._above]
            self._block, self._above = block, deque(descriptions(block))
        while self._above and self._above[0].line < index:
            above.append(self._above.popleft())
        if not above:
            return said
        self._stamper.described = above[-1]
        return self._stamper.read(line)


def repeated(raw_event: RawEvent, row: Body) -> RawEvent:
    """An event that a table says was seen many times: it began with the first of them."""
    told = repeats(row)
    if told is None:
        return raw_event
    count, span = told
    return raw_event._replace(stamp=raw_event.stamp - span, more=[count, raw_event.stamp])
