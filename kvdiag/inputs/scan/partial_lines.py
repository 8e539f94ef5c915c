r"""Join partial lines of container runtimes, at the place of the first part.

    2026-11-20T20:39:21.779999789Z stderr P I1120 20:39:21.779765    6175 main.go:7] GRPC response: {"entries":[{"vol
    2026-11-20T20:39:21.780012345Z stderr F ume":…
    {"log":"I1120 20:39:21.779765    6175 main.go:7] GRPC resp","stream":"stderr","time":"2026-11-20T20:39:21.779Z"}

A runtime writes at most 16 KB of a line at a time: containerd and CRI-O mark a part that continues with `P`, docker by
a missing line end in its text. A line of a driver that lists its volumes is longer. Parts of stdout and stderr, and of
the files that grep names, are interleaved. The other parts are replaced by empty lines, so that line numbers do not
change.

A line waits for its last part, and the lines below it wait too: for 1 MB or one minute of the log, or until a line that
no container wrote. Then the rest counts as missing: containerd marks the last output of a container with `P` if it has
no line end.
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
_EDGE = 2048  # bytes at either end of a block that are searched for a container's line


def join_parts(blocks: Iterable[Block], joiner: PartJoiner | None = None) -> Iterator[Block]:
    """Yield the blocks of a log with partial lines joined; other blocks unchanged."""
    joiner = joiner or PartJoiner()
    for block in blocks:
        if joiner.waits or has_parts(block.data):
            yield from joiner.add(block)
        else:
            yield block
    yield from joiner.flush()


def has_parts(data: bytes) -> bool:
    """Return whether the first or the last line is a container's, and a line in the block is partial."""
    if not (_CONTAINED.search(data, 0, _EDGE) or _CONTAINED.search(data, max(0, len(data) - _EDGE))):
        return False
    return any(mark in data for mark in _UNFINISHED) or data.count(_STREAM) != data.count(_ENDED)


class _Part(NamedTuple):
    """A line of a container: its stream, time (seconds), text, and the text before and after it."""

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
    """Return seconds since 1970; 0 if the text is not a time."""
    try:
        return datetime.fromisoformat(time.decode("ascii", "replace")).timestamp()
    except (ValueError, OverflowError):
        return 0.0


class _Open(NamedTuple):
    """An incomplete line: its place among the waiting lines, its first part, and the texts of all parts."""

    place: int
    first: _Part
    texts: list[bytes]


class PartJoiner:
    """Holds lines back until the incomplete ones among them are complete."""

    def __init__(self) -> None:
        """Begin without waiting lines."""
        self._lines: list[bytes] = []
        self._number = 0
        self._truncated = 0
        self._torn: tuple[int, ...] = ()
        self._size = 0
        self._open: dict[bytes, _Open] = {}
        self.ended_within = False  # whether a line was incomplete at the end

    @property
    def waits(self) -> bool:
        """Return whether a line is incomplete."""
        return bool(self._open)

    def add(self, block: Block) -> Iterator[Block]:
        """Add a block; yield the lines before the first incomplete one."""
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
        """Yield the waiting lines at the end of the log."""
        self.ended_within = self.waits
        self._give_up()
        yield from self._pop_lines(len(self._lines), is_ended=True)

    def _pop_lines(self, count: int, *, is_ended: bool) -> Iterator[Block]:
        """Yield the first lines as a block, and drop them."""
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
        """Append a line: to the line that it continues, or as a new one."""
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
        """Return whether the missing parts are not expected any more after this line."""
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
        """Stop waiting: complete all lines with the parts so far."""
        for line in self._open.values():
            self._finish(line)
        self._open.clear()
        self._size = 0

    def _finish(self, line: _Open) -> None:
        """Join the texts of a line at the place of its first part."""
        self._lines[line.place] = b"".join((line.first.head, *line.texts, line.first.tail))
