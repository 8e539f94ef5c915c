"""What a line tells before it is joined with others: an event on the clock of its log, or a line of a gRPC call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kvdiag.base.clock import MINUTE
from kvdiag.events.timestamp_reader import Process
from kvdiag.formats.rpc.fragments import RpcFragment
from kvdiag.model.event import Ref
from kvdiag.model.record import Body
from kvdiag.model.values import EMPTY
from kvdiag.model.vocabulary import Entry

UNKNOWN_PROCESS = Process()
FOLD = MINUTE  # polls closer than this are one event with a count


Meaning = tuple[tuple[Ref, ...], Mapping[str, str]]  # the names on a line, and everything else it said
Values = tuple[bytes | None, ...]


class ValueReader(NamedTuple):
    """How the values of a wording are read, what they are called, and at which places those are that name something.

    `links` when they may join names: two of one line, or one that has another in it, as a path has a pod's UID.
    """

    read: Callable[[Values], Meaning]
    names: Sequence[str] = ()
    naming: tuple[int, ...] = ()
    links: bool = False


class EventMatch:
    """What a wording with these values says; shared by all lines that say the same.

    Values are read when they are asked for, 5 µs: of most events only the kind ever is.
    """

    __slots__ = ("_meaning", "_reader", "_values", "entry")

    def __init__(self, entry: Entry, reader: ValueReader, values: Values) -> None:
        """`reader` tells what the values mean."""
        self.entry, self._reader, self._values = entry, reader, values
        self._meaning: Meaning | None = None

    @classmethod
    def known(cls, entry: Entry, refs: tuple[Ref, ...], attrs: Mapping[str, str]) -> EventMatch:
        """One whose meaning is known."""
        event_match = cls(entry, _KNOWN, ())
        event_match._meaning = (refs, attrs)
        return event_match

    @property
    def naming(self) -> Sequence[object]:
        """The values that name something, as the line spells them, without reading them."""
        return [self._values[place] for place in self._reader.naming] if self._values else self.refs

    @property
    def linking(self) -> Sequence[object]:
        """The same, of a wording that may join two names; else nothing."""
        return self.naming if self._reader.links else ()

    @property
    def meaning(self) -> Meaning:
        """The names and attributes."""
        if self._meaning is None:
            self._meaning = self._reader.read(self._values)
            self._values = ()  # of 100,000 events 20 MB
        return self._meaning

    def attr(self, name: str) -> str:
        """The attribute of that name, empty when there is none; nothing is read of a wording that has none."""
        is_there = self._meaning is not None or name in self._reader.names
        return self.attrs.get(name, "") if is_there else ""

    def value(self, name: str) -> str:
        """The attribute of that name, else the first name of that kind, else empty."""
        refs, attrs = self.meaning
        return attrs.get(name) or next((value for kind, value in refs if kind == name), "")

    @property
    def refs(self) -> tuple[Ref, ...]:
        """The names on the line."""
        return self.meaning[0]

    @property
    def attrs(self) -> Mapping[str, str]:
        """Everything else it said."""
        return self.meaning[1]


_KNOWN = ValueReader(lambda _values: ((), EMPTY), links=True)


class RawEvent(NamedTuple):
    """An event on the clock of its source. `more` is [count, last stamp] when a poll was folded."""

    stamp: int
    match: EventMatch
    line: int
    text: bytes
    process: Process
    more: list[int] | None = None

    def count_repeat(self, stamp: int, process: Process) -> bool:
        """Count one more repeat of a poll, if it is one by the same process within `FOLD`."""
        more = self.more
        if more is None or not 0 < stamp - more[1] <= FOLD or process != self.process:
            return False
        more[0] += 1
        more[1] = stamp
        return True


Match = tuple[int, Values]  # a wording and its values
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
