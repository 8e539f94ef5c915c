r"""Read the lines with hits: time, message and author.

    E1120 20:39:21.779765    6175 swap_util.go:87] "error mounting tmpfs" error=<
    \tmount failed: exit status 32
     >

A line inside a record of many lines has the message of the whole record, and the time of its first line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kvdiag.events.kubectl_events import EventTableReader, is_row
from kvdiag.events.raw_events import UNKNOWN_PROCESS, ParsedLine
from kvdiag.events.timestamp_reader import NO_SITE, Process, TimedLine, TimestampReader
from kvdiag.formats.bodies.registry import canonical, classify, is_separate, read_body
from kvdiag.formats.carriers.carrier import KERNEL
from kvdiag.formats.carriers.dmesg import Minutes
from kvdiag.formats.carriers.peel import INDENTS, peel, peel_to_indent

LONGEST_RECORD = 120  # lines of one record: an error of many lines, a goroutine
LONGEST_ERROR = 12  # lines that an unquoted error may have
LOOK_BACK = 400  # lines that are searched for the header of a line without one


class Front(NamedTuple):
    """How the last layout reads a line: its time and process, where klog's file begins, and where the words begin."""

    stamp: Callable[[bytes], int | None]
    process: Process
    site: int
    words: int


class HitLines:
    """Reads the lines with hits of one source; `last` is the time of the last event with a time."""

    def __init__(self, ident: str = "") -> None:
        """Begin without layouts; `ident` as for `TimestampReader`."""
        self.stamper = TimestampReader(ident)
        self.last: int | None = None
        self._listed, self._minutes = EventTableReader(self.stamper), Minutes()
        self._split: tuple[bytes, list[bytes]] = (b"", [])
        self._searched: tuple[bytes, int, int] = (b"", 0, 0)
        self._opened_at: dict[tuple[str, str, int | None], tuple[bytes, int, int | None]] = {}

    def begin(self, block: bytes) -> None:
        """Take each block before its lines are read."""
        self._listed.begin(block)
        self.stamper.begin()

    def front(self) -> Front:
        """Return how the last layout reads a line."""
        front = self.stamper.front
        if front is None:
            return Front(_no_time, UNKNOWN_PROCESS, NO_SITE, NO_SITE)
        return Front(front.stamp, front.process, front.site, front.words)

    def read(self, line: bytes, block: bytes, index: int) -> ParsedLine:
        """Read a line that the last layout cannot read, or that continues on other lines."""
        line = line.removesuffix(b"\r")
        head = self._value_head(block, index, line)
        if head is not None:
            return self._read_value(block, head)
        timed = self.stamper.read(line)
        if is_row(timed.body):
            timed = self._listed.read(timed, line, block, index)
        if timed.stamp is None and timed.process.ident == KERNEL:
            timed = timed._replace(stamp=self._minutes.stamp(self.lines(block), index))
        return self._whole(timed, block, index) if timed.stamp is None or line.endswith(b"=<") else timed

    def _whole(self, timed: TimedLine, block: bytes, index: int) -> ParsedLine:
        """Read a line without a header, or with an open value: the message of the record, the time of its head."""
        lines = self.lines(block)
        head, opening = index, timed
        if timed.stamp is None:
            head = self._head_above(block, lines, index)
            opening = self.stamper.read(lines[head]) if head != index else timed
            self.last = opening.stamp if opening.stamp is not None else self.last
        if not lines[head].rstrip().endswith(b"=<"):
            return timed
        return self._read_value(block, head)

    def _read_value(self, block: bytes, head: int) -> ParsedLine:
        """Read the record whose head opens a value of many lines."""
        lines = self.lines(block)
        opening = self.stamper.read(lines[head])
        self.last = opening.stamp if opening.stamp is not None else self.last
        whole = read_body(b"\n".join([peel(lines[head]).body, *_block_value(lines, head + 1)]))
        return opening._replace(text=canonical(whole), body=whole) if whole else opening

    def _value_head(self, block: bytes, index: int, line: bytes) -> int | None:
        """Return the head of the record that has this indented line in its value; None if it is not in a value.

        Lines of other processes may be between them, as in a journal.
        """
        indented = peel_to_indent(line)
        if indented is None:
            return None
        lines, sender = self.lines(block), (indented.node, indented.ident, indented.pid)
        walked, begun, opened = self._opened_at.get(sender, (b"", 0, None))
        head = None
        for back in range(index - 1, -1, -1):
            if walked is block and back == begun:
                head = opened
                break
            above = lines[back].rstrip(b"\r")
            outer = peel_to_indent(above) or peel(above)
            is_value = outer.body.startswith(INDENTS) or (outer.body.startswith(b" >") and above.endswith(b"=<"))
            if above and (outer.node, outer.ident, outer.pid) == sender and not is_value:
                head = back if above.endswith(b"=<") else None
                break
        if walked is not block:
            self._opened_at.clear()
        self._opened_at[sender] = (block, index, head)
        return head

    def _head_above(self, block: bytes, lines: list[bytes], index: int) -> int:
        """Return the nearest line above that begins a record and has a time; the line itself if there is none.

        Lines of an earlier search are not searched again: otherwise, in text without headers, each line would search
        all lines before it.
        """
        searched, begun, above = self._searched
        head = index
        for back in range(index - 1, max(-1, index - LOOK_BACK), -1):
            if classify(lines[back]) == "head":
                head = back
                if self.stamper.read(lines[back]).stamp is not None:
                    break
            if searched is block and back == begun:
                head = above if above != begun else head
                break
        self._searched = (block, index, head)
        return head

    def lines(self, block: bytes) -> list[bytes]:
        """Return the lines of a block, which is split only once."""
        if self._split[0] is not block:
            self._split = (block, block.split(b"\n"))
        return self._split[1]

    def below(self, block: bytes, index: int) -> list[bytes]:
        """Return the lines that continue an error, such as output of umount or mkfs.

        An empty line ends it, but not behind a colon: what was announced is still to come. So does a line of another
        program, dots in place of lines that were left out, or a number alone, as a page shows a count.
        """
        lines = self.lines(block)
        more: list[bytes] = []
        last = lines[index].rstrip()
        if last.endswith(b"}") and peel(last).body.startswith(b"{"):
            return more  # a JSON object is whole
        for line in lines[index + 1 : index + 1 + LONGEST_ERROR]:
            words = line.strip()
            if (
                ((not words or words.isdigit()) and not last.endswith(b":"))
                or classify(line) == "head"
                or is_separate(line)
            ):
                break
            if words:
                more.append(words)
                last = words
        return more


def _no_time(_line: bytes) -> None:
    """Return None: no layout is known yet."""


def _block_value(lines: Sequence[bytes], begin: int) -> Iterable[bytes]:
    """Yield the lines of `key=<` up to and including the one that closes it."""
    for line in lines[begin : begin + LONGEST_RECORD]:
        body = peel(line).body
        if classify(line) == "head":
            return
        yield body
        if body.lstrip().startswith(b">"):
            return
