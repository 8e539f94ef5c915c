"""Divide the bytes of a reader into blocks that end at a line end, in limited memory."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kvdiag.inputs.readers import ByteSource

SIZE = 256 << 10  # bytes that are read at a time
# How many bytes before its last line a block may end, to keep a record of many lines in one block.
LOOK_BACK = 64 << 10
MOST_LOOKED_AT = 1000  # lines in LOOK_BACK; a longer record is divided, and 64 KB may be blank lines only


class Block(NamedTuple):
    """Whole lines of one input.

    `first_line` is the number of its first line in the input, from 0; `lines` how many there are; `truncated` how many
    of them were truncated because they were too long. Only the last block of an input may have no final newline. `torn`
    are the numbers, from 0 in the input, of lines that lost a part in a crash.
    """

    data: bytes
    first_line: int
    lines: int
    truncated: int
    torn: tuple[int, ...] = ()

    def torn_within(self, first_line: int, lines: int) -> tuple[int, ...]:
        """Return the torn lines in this range."""
        return self.torn[bisect_left(self.torn, first_line) : bisect_left(self.torn, first_line + lines)]


class _Buffer:
    """Bytes that were read and not yet returned; grows for long lines and records."""

    def __init__(self, size: int, longest: int) -> None:
        self.size, self.max_size = size, size + max(longest, LOOK_BACK)
        self.bytes = bytearray(size + size // 4)
        self.view = memoryview(self.bytes)
        self.held = 0

    def fill(self, reader: ByteSource) -> int:
        """Read once and append; return how many bytes were read."""
        if self.held + self.size > len(self.bytes):
            self.view.release()
            self.bytes.extend(bytes(min(2 * len(self.bytes), self.max_size) - len(self.bytes)))
            self.view = memoryview(self.bytes)
        got = reader.readinto(self.view[self.held : self.held + self.size]) or 0
        self.held += got
        return got

    def pop(self, cut: int) -> bytes:
        """Return the first `cut` bytes and move the rest to the front."""
        data = bytes(self.view[:cut])
        self.drop(cut)
        return data

    def drop(self, cut: int) -> None:
        """Drop the first `cut` bytes."""
        rest = self.held - cut
        self.view[:rest] = self.view[cut : self.held]
        self.held = rest


def blocks(
    reader: ByteSource,
    size: int | None = None,
    longest: int = 1 << 20,
    begins: Callable[[bytes], bool] | None = None,
    first_line: int = 0,
) -> Iterator[Block]:
    """Read `size` bytes at a time, by default `SIZE`, and yield complete lines as blocks.

    A line over `longest` bytes is truncated and counted. With `begins`, which returns whether a line (without newline)
    begins a record, a block ends before the last such line, if that is at most 64 KB or 1,000 lines back: a record of
    many lines is then in one block. `first_line` lines of the input are before those of the reader. Memory is limited
    to `size` + `longest` and one block.
    """
    buffer = _Buffer(size or SIZE, longest)
    skipping = False
    while got := buffer.fill(reader):
        if skipping:
            line_ends = buffer.bytes.find(b"\n", 0, buffer.held)
            skipping = line_ends < 0
            buffer.drop(buffer.held if skipping else line_ends + 1)
            got = buffer.held
        cut = _cut(buffer, got, begins)
        if cut:
            block = _block(buffer.pop(cut), first_line, longest)
            first_line += block.lines
            yield block
        if buffer.held > longest and buffer.bytes.find(b"\n", 0, buffer.held) < 0:
            yield Block(buffer.pop(longest) + b"\n", first_line, 1, 1)
            first_line += 1
            buffer.held, skipping = 0, True
    if buffer.held:
        yield _block(buffer.pop(buffer.held), first_line, longest)


def _block(data: bytes, first_line: int, longest: int) -> Block:
    truncated = 0
    if len(data) > longest:  # otherwise no line can be too long
        lines = data.split(b"\n")
        truncated = sum(len(line) > longest for line in lines)
        data = b"\n".join([line[:longest] for line in lines]) if truncated else data
    # 0.04 s per 100 MB; `not endswith` adds the last line of an input that has no final newline.
    return Block(data, first_line, data.count(b"\n") + (not data.endswith(b"\n")), truncated)


def _cut(buffer: _Buffer, got: int, begins: Callable[[bytes], bool] | None) -> int:
    """Return where the block ends: 0 if no part of the buffer can be returned yet."""
    held = buffer.held
    # Without `begins` only the bytes that are new can hold a newline.
    last = buffer.bytes.rfind(b"\n", held - got if begins is None else 0, held) + 1
    if begins is None or not last:
        return last
    limit, ends = max(0, held - LOOK_BACK), last
    for _ in range(MOST_LOOKED_AT):
        if not ends:
            return 0  # the buffer is one record, which is not yet too long to wait for its rest
        line_begins = buffer.bytes.rfind(b"\n", 0, ends - 1) + 1
        if line_begins < limit:
            return last
        if line_begins < ends - 1 and begins(bytes(buffer.view[line_begins : ends - 1])):
            return line_begins
        ends = line_begins
    return last
