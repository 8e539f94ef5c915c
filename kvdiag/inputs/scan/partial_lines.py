r"""Lines that a container runtime has cut into parts, put together in the first of their places.

    2026-11-20T20:39:21.779999789Z stderr P I1120 20:39:21.779765    6175 main.go:7] GRPC response: {"entries":[{"vol
    2026-11-20T20:39:21.780012345Z stderr F ume":…
    {"log":"I1120 20:39:21.779765    6175 main.go:7] GRPC resp","stream":"stderr","time":"2026-11-20T20:39:21.779Z"}

A runtime writes 16 KB of a line at a time: containerd and CRI-O mark a part that goes on by `P`, docker by the line end
that its text does not have. A line of a driver that lists its volumes is longer. The parts of stdout and stderr, and of
the files that grep names, stand between one another; those of one line are written at once. Empty lines keep the places
of the other parts, so that all lines keep their numbers.

A line waits for its last part, and what stands below it waits too: for 1 MB or a minute of the log, or until a line
that no container wrote. What has not come by then is missing: containerd marks the last words of a container by `P`
when they have no line end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.scan.blocks import Block

LONGEST = 1 << 20  # bytes from the first part of a line to its last one
LATEST = 60  # seconds from one to the other
_LINE = lazy_regex(
    rb'(?P<file>(?:[^\s"{}]{1,400}?[:-](?:\d{1,9}[:-])?)??)'
    rb"(?:(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S{1,20}) (?P<cri>stdout|stderr) (?P<tag>[PF])(?P<more>(?::\S*)? |$)"
    rb'|\{"log":"(?P<text>(?>(?:[^"\\\n]++|\\.)*))(?P<tail>","stream":"(?P<docker>stdout|stderr)"[^\n]*+))'
)
_NUMBER = lazy_regex(rb"[:-](?:\d{1,9}[:-])?$")
_WRITTEN = lazy_regex(rb'"time":"([^"]{10,40})"')
_CONTAINED = lazy_regex(rb'std(?:out|err)(?: [FP] |")')
_UNFINISHED = (b" stderr P ", b" stdout P ")
_STREAM, _ENDED = b'","stream":"', b'\\n","stream":"'
_EDGE = 2048  # bytes at either end of a block in which a line of a container is looked for


def join_parts(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks of a log, those that hold parts of lines with the lines whole; of any other log the blocks as they are."""
    joiner = _Joiner()
    for block in blocks:
        if joiner.waits or _has_parts(block.data):
            yield from joiner.add(block)
        else:
            yield block
    yield from joiner.flush()


def _has_parts(data: bytes) -> bool:
    """Whether a container wrote the first or the last line, and one of its lines is not finished."""
    if not (_CONTAINED.search(data, 0, _EDGE) or _CONTAINED.search(data, max(0, len(data) - _EDGE))):
        return False
    return any(mark in data for mark in _UNFINISHED) or data.count(_STREAM) != data.count(_ENDED)


class _Part(NamedTuple):
    """A line of a container: of which stream, when it was written (seconds), its text and what stands around that."""

    stream: bytes
    time: float
    head: bytes
    text: bytes
    tail: bytes
    is_last: bool


def _read(line: bytes) -> _Part | None:
    found = _LINE.match(line)
    if found is None:
        return None
    stream = _NUMBER.sub(b"", found["file"]) + b":" + (found["cri"] or found["docker"])
    if found["cri"]:
        head = line[: found.start("tag")] + b"F" + found["more"]
        ends = found["tag"] == b"F"
        text = line[found.end() :] if ends else line[found.end() :].removesuffix(b"\r")
        return _Part(stream, _seconds(found["time"]), head, text, b"", ends)
    text, written = found["text"], _WRITTEN.search(found["tail"])
    ends = text.endswith(b"\\n") and (len(text) - len(text[:-1].rstrip(b"\\"))) % 2 == 0
    time = _seconds(written[1]) if written else 0.0
    tail = b"\\n" + found["tail"]
    return _Part(stream, time, line[: found.start("text")], text.removesuffix(b"\\n") if ends else text, tail, ends)


def _seconds(time: bytes) -> float:
    """Seconds since 1970; 0 for what is no time."""
    try:
        return datetime.fromisoformat(time.decode("ascii", "replace")).timestamp()
    except (ValueError, OverflowError):
        return 0.0


class _Open(NamedTuple):
    """A line that is not whole yet: its place among those that wait, its first part and the texts of all."""

    place: int
    first: _Part
    texts: list[bytes]


class _Joiner:
    """The lines that wait for the rest of one of them."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._number = 0
        self._truncated = 0
        self._torn: tuple[int, ...] = ()
        self._size = 0
        self._open: dict[bytes, _Open] = {}

    @property
    def waits(self) -> bool:
        """Whether a line is not whole yet."""
        return bool(self._open)

    def add(self, block: Block) -> Iterator[Block]:
        """Take a block up; give the lines above the first one that is not whole yet."""
        lines = block.data.split(b"\n")
        is_ended = not lines[-1]
        if is_ended:
            lines.pop()
        if not self._lines:
            self._number = block.first_line
        self._truncated += block.truncated
        self._torn += block.torn
        for line in lines:
            self._add(line)
        waiting = min((line.place for line in self._open.values()), default=len(self._lines))
        yield from self._pop_lines(waiting, is_ended=is_ended)

    def flush(self) -> Iterator[Block]:
        """Give what still waits when the log ends."""
        self._give_up()
        yield from self._pop_lines(len(self._lines), is_ended=True)

    def _pop_lines(self, count: int, *, is_ended: bool) -> Iterator[Block]:
        """Give the first lines, and forget them."""
        if not count:
            return
        lines, self._lines = self._lines[:count], self._lines[count:]
        ending = b"\n" if is_ended or self._lines or not lines[-1] else b""
        joined = Block(b"\n".join(lines) + ending, self._number, count, self._truncated, self._torn)
        yield joined._replace(torn=joined.torn_within(self._number, count))
        self._torn = joined.torn_within(self._number + count, len(self._lines))
        self._number, self._truncated = self._number + count, 0
        self._open = {stream: line._replace(place=line.place - count) for stream, line in self._open.items()}

    def _add(self, line: bytes) -> None:
        """Add a line: to the one that it goes on with, or as one of its own."""
        self._size = self._size + len(line) if self._open else 0
        part = _read(line)
        if self._open and self._is_over(part, line):
            self._give_up()
        before = self._open.get(part.stream) if part else None
        if part is None or (before is None and part.is_last):
            self._lines.append(line)
            return
        if before is None:
            self._open[part.stream] = _Open(len(self._lines), part, [part.text])
            self._lines.append(line)
            return
        before.texts.append(part.text)
        self._lines.append(b"")
        if part.is_last:
            self._finish(self._open.pop(part.stream))

    def _is_over(self, part: _Part | None, line: bytes) -> bool:
        """Whether a line shows that what has not come will not come."""
        if part is None:
            return self._size > LONGEST or bool(line.strip())
        before = self._open.get(part.stream)
        is_older = before is not None and part.time < before.first.time
        return (
            is_older
            or self._size > LONGEST
            or any(part.time - line.first.time > LATEST for line in self._open.values())
        )

    def _give_up(self) -> None:
        """Wait no longer: what has come of each line is all of it."""
        for line in self._open.values():
            self._finish(line)
        self._open.clear()
        self._size = 0

    def _finish(self, line: _Open) -> None:
        """Put the texts of a line in its first place."""
        self._lines[line.place] = b"".join((line.first.head, *line.texts, line.first.tail))
