"""Rows of events that kubectl prints: find their object, which is far above or in another row.

Name:             web-0
Namespace:        shop
Events:
  Warning  FailedMount  3m (x5 over 10m)  kubelet  MountVolume.SetUp failed for volume "data" : rpc error: …

There is no event for a created sandbox. After a failure, the next created container of the pod proves it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeGuard

from kvdiag.formats.bodies.eventtable import AS_OBJECT, FORMATS, Described, descriptions, repeats
from kvdiag.model.values import EMPTY

if TYPE_CHECKING:
    from kvdiag.events.raw_events import RawEvent
    from kvdiag.events.timestamp_reader import TimedLine, TimestampReader
    from kvdiag.model.record import Body

_MOST_COUNTED = 4096  # events of which the last count is kept


def is_row(body: Body | None) -> TypeGuard[Body]:
    """Return whether a line is a row of such a table, or an event as in the API."""
    return body is not None and body.format in FORMATS


def is_object(body: Body | None) -> bool:
    """Return whether a line is an event as in the API, whose message is all on this line."""
    return body is not None and body.format == AS_OBJECT


class EventTableReader:
    """Reads the rows of one source in order."""

    def __init__(self, stamper: TimestampReader) -> None:
        """`stamper` reads a row, and has the described object."""
        self._stamper = stamper
        self._block = self._before = self._fed = b""
        self._above: deque[Described] = deque()
        self._counted: dict[str, tuple[int, str]] = {}  # by event, how often and when it was last seen
        self._failed: dict[bytes, int] = {}  # by pod, when its sandbox last failed

    def begin(self, block: bytes) -> None:
        """Take each block before its lines: the last row of a file is in another block than the lines above it."""
        self._before, self._fed = self._fed, block

    def read(self, row: TimedLine, line: bytes, block: bytes, index: int) -> TimedLine:
        """Return the row, read again if an object above it is found."""
        return self._after_failure(self._since_last_row(self._about_above(row, line, block, index)))

    def _since_last_row(self, row: TimedLine) -> TimedLine:
        """Return a row of `get events --watch`, which prints an event again with its new count, without the old one."""
        fields = row.body.fields if row.body else EMPTY
        name, seen = fields.get("name", ""), fields.get("age", "")
        if row.body is None or not name or not seen[:4].isdigit() or not (repetition := repeats(row.body)):
            return row
        old, count = self._counted.get(name), repetition[0]
        if name in self._counted or len(self._counted) < _MOST_COUNTED:
            self._counted[name] = count, seen
        if old is None or old[0] >= count:
            return row
        rest = {**fields, "count": str(count - old[0]), "first_seen": old[1]}
        return row._replace(body=row.body._replace(fields=rest))

    def _about_above(self, row: TimedLine, line: bytes, block: bytes, index: int) -> TimedLine:
        above = []
        if self._block is not block:
            above = [*self._above] if self._before is self._block else [*self._above, *descriptions(self._before)]
            self._block, self._above = block, deque(descriptions(block))
        while self._above and self._above[0].line < index:
            above.append(self._above.popleft())
        if not above:
            return row
        self._stamper.described = above[-1]
        return self._stamper.read(line)

    def _after_failure(self, row: TimedLine) -> TimedLine:
        """Mark a row that proves a sandbox after a row with its failure."""
        fields = row.body.fields if row.body else EMPTY
        about = row.text.split(b'"', 4)[3:4]  # "Event listed" object="shop/web-0" …
        if not about or row.stamp is None:
            return row
        reason, pod = fields.get("reason"), about[0]
        if reason == "FailedCreatePodSandBox":
            self._failed[pod] = max(row.stamp, self._failed.get(pod, row.stamp))
        elif reason == "Created" and self._failed.get(pod, row.stamp) < row.stamp:
            del self._failed[pod]
            return row._replace(text=row.text + b' after="FailedCreatePodSandBox"')
        return row


def repeated(raw_event: RawEvent, row: Body) -> RawEvent:
    """Return an event with the count in its row; it begins with the first occurrence."""
    repetition = repeats(row)
    if repetition is None:
        return raw_event
    count, span = repetition
    return raw_event._replace(stamp=raw_event.stamp - span, more=[count, raw_event.stamp])
