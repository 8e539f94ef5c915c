"""What a line tells before it is joined with others: an event on the clock of its log, or a line of a gRPC call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kvdiag.clock import MINUTE
from kvdiag.events.stamper import Process
from kvdiag.formats.rpc.pieces import RpcFragment
from kvdiag.model.event import Ref
from kvdiag.model.record import Body
from kvdiag.model.vocabulary import Entry

UNKNOWN_PROCESS = Process()
FOLD = MINUTE  # polls closer than this are one event with a count


class EventMatch(NamedTuple):
    """What a wording with these values says; made once and shared by all lines that say the same."""

    entry: Entry
    refs: tuple[Ref, ...]
    attrs: Mapping[str, str]


class RawEvent(NamedTuple):
    """An event on the clock of its source. `more` is [count, last stamp] when a poll was folded."""

    stamp: int
    match: EventMatch
    line: int
    text: bytes
    process: Process
    more: list[int] | None = None

    def goes_on(self, stamp: int, process: Process) -> bool:
        """Count one more repeat of a poll, if it is one by the same process within `FOLD`."""
        more = self.more
        if more is None or not 0 < stamp - more[1] <= FOLD or process != self.process:
            return False
        more[0] += 1
        more[1] = stamp
        return True


Match = tuple[int, tuple[bytes | None, ...]]  # a wording and its values
# stamp, words, process, and the body where it was read in full
ParsedLine = tuple[int | None, bytes, Process, Body | None]


class HitLine(NamedTuple):
    """A hit line: its block, its place there from 0, its number in the input from 1, and itself."""

    block: bytes
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    number: int
    line: bytes


class RpcLine(NamedTuple):
    """A gRPC line on the clock of its source, to be paired with its call."""

    stamp: int
    piece: RpcFragment
    line: int
    text: bytes
    process: Process
