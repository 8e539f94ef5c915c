"""Raw events, on the clock of their log, and lines of gRPC calls, before logs are correlated."""

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


Meaning = tuple[tuple[Ref, ...], Mapping[str, str]]  # the refs and the attributes of a line
Values = tuple[bytes | None, ...]


class ValueReader(NamedTuple):
    """The reader of the values of a wording, the names of the values, and the positions of those that are names.

    `links` if they may link names: two in one line, or one inside another, such as a pod's UID in a path. `wording` is
    its number in the vocabulary, -1 for values that were read at once.
    """

    read: Callable[[Values], Meaning]
    names: Sequence[str] = ()
    naming: tuple[int, ...] = ()
    links: bool = False
    wording: int = -1


class EventMatch:
    """The event of a wording with these values; shared by all lines with the same message.

    Values are read at the first use, 5 µs: for most events only the kind is used.
    """

    __slots__ = ("_attrs", "_reader", "_refs", "_values", "entry")

    def __init__(self, entry: Entry, reader: ValueReader, values: Values) -> None:
        """`reader` reads the values."""
        self.entry, self._reader, self._values = entry, reader, values
        self._refs: tuple[Ref, ...] | None = None
        self._attrs: Mapping[str, str] = EMPTY

    @classmethod
    def known(cls, entry: Entry, refs: tuple[Ref, ...], attrs: Mapping[str, str]) -> EventMatch:
        """Return an event match with known refs and attributes."""
        event_match = cls(entry, _KNOWN, ())
        event_match._refs, event_match._attrs = refs, attrs
        return event_match

    @property
    def kind(self) -> str:
        """Return the kind of the event."""
        return self.entry.kind

    @property
    def naming(self) -> Sequence[object]:
        """Return the raw values that are names, without reading them."""
        return [self._values[place] for place in self._reader.naming] if self._values else self.refs

    @property
    def linking(self) -> Sequence[object]:
        """Return these values if the wording may link two names; else nothing."""
        return self.naming if self._reader.links else ()

    @property
    def meaning(self) -> Meaning:
        """Return refs and attributes."""
        if self._refs is None:
            self._refs, self._attrs = self._reader.read(self._values)
            self._values = ()  # of 100,000 events 20 MB
        return self._refs, self._attrs

    @property
    def unread(self) -> tuple[ValueReader, Values, Meaning | None]:
        """Return the values and their reader, as long as nobody has read them; then their meaning."""
        return self._reader, self._values, None if self._refs is None else (self._refs, self._attrs)

    @classmethod
    def restored(cls, entry: Entry, reader: ValueReader | None, values: Values, meaning: Meaning | None) -> EventMatch:
        """Return an event match as it was when `unread` was asked; `reader` is that of its wording, if it has one."""
        event_match = cls(entry, reader or _KNOWN, values)
        if meaning is not None:
            event_match._refs, event_match._attrs = meaning
        return event_match

    def attr(self, name: str) -> str:
        """Return the attribute of that name, empty if there is none; values are read only if the wording has it."""
        is_there = self._refs is not None or name in self._reader.names
        return self.attrs.get(name, "") if is_there else ""

    def value(self, name: str) -> str:
        """Return the attribute of that name, else the first ref of that kind, else empty."""
        refs, attrs = self.meaning
        return attrs.get(name) or next((value for kind, value in refs if kind == name), "")

    @property
    def refs(self) -> tuple[Ref, ...]:
        """Return the refs in the line."""
        return self.meaning[0]

    @property
    def attrs(self) -> Mapping[str, str]:
        """Return the attributes of the line."""
        return self.meaning[1]


_KNOWN = ValueReader(lambda _values: ((), EMPTY), links=True)


class RawEvent(NamedTuple):
    """An event on the clock of its source. `more` is [count, last stamp] of a poll.

    `text_at` is the place of its line in the `LineTexts` of its log.
    """

    stamp: int
    match: EventMatch
    line: int
    text_at: int
    process: Process
    more: list[int] | None = None

    @property
    def ends(self) -> int:
        """Return the stamp of its last repeat."""
        return self.more[1] if self.more else self.stamp

    def count_repeat(self, stamp: int, process: Process) -> bool:
        """Count a repeat of this poll by the same process within `FOLD`; return whether it is one."""
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
    """A line with hits: its block, its index there from 0, its number in the input from 1, and its bytes."""

    block: bytes
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    number: int
    line: bytes


class RpcLine(NamedTuple):
    """A gRPC line on the clock of its source, to be paired with its call; `text_at` as in `RawEvent`."""

    stamp: int
    piece: RpcFragment
    line: int
    text_at: int
    process: Process
