"""Blocks hold every line once, whole, and in bounded memory."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.inputs.scan.blocks import LOOK_BACK, Block, blocks


class Dripping(io.RawIOBase):
    """A reader that gives a few bytes at a time, as a pipe does."""

    def __init__(self, data, step):
        self.inner, self.step = io.BytesIO(data), step

    def readinto(self, buffer):
        """Give at most `step` bytes."""
        return self.inner.readinto(memoryview(buffer)[: self.step])


@given(st.binary(max_size=200).map(lambda b: b.replace(b"\x00", b"\n")), st.integers(1, 40), st.integers(1, 50))
def test_any_bytes(data, size, longest):
    """Whatever the sizes, the blocks joined are the input with long lines cut, and the numbers of lines add up."""
    found = list(blocks(io.BytesIO(data), size, longest))
    lines = data.split(b"\n")
    assert b"".join(b.data for b in found).rstrip(b"\n") == b"\n".join(line[:longest] for line in lines).rstrip(b"\n")
    assert sum(b.truncated for b in found) == sum(len(line) > longest for line in lines)
    assert sum(b.lines for b in found) == len(lines) - (lines[-1] == b"")
    counted = 0
    for block in found:
        assert block.first_line == counted
        assert block.lines == len(block.data.removesuffix(b"\n").split(b"\n"))
        counted += block.lines
    assert all(block.data.endswith(b"\n") for block in found[:-1])


@given(st.lists(st.sampled_from([b"I head", b"  more", b"", b"I" * 30])), st.integers(1, 40), st.integers(1, 60))
def test_records_stay_whole(lines, step, size):
    """With `begins`, each block but the first begins with a line that begins a record."""
    data = b"\n".join(lines)
    found = list(blocks(Dripping(data, step), size, begins=lambda line: line.startswith(b"I")))
    assert b"".join(b.data for b in found) == data
    assert all(b.data.startswith(b"I") for b in found[1:])


def test_record_longer_than_the_look_back():
    """A record of more than 64 KB is torn at a line end rather than held for ever."""
    data = b"I head\n" + b"  more\n" * (LOOK_BACK // 3) + b"I next\n"
    found = list(blocks(Dripping(data, 10_000), 10_000, begins=lambda line: line.startswith(b"I")))
    assert b"".join(b.data for b in found) == data
    assert len(found) > 2
    assert max(len(b.data) for b in found) <= LOOK_BACK + 10_000


def test_begins_is_asked_for_whole_lines():
    """`begins` sees lines without their newline, and never the unfinished last one."""
    asked = set()

    def begins(line):
        asked.add(line)
        return line.startswith(b"I")

    list(blocks(Dripping(b"I one\n  two\nI three\n  four\nI five\n", 3), begins=begins))
    assert asked <= {b"I one", b"  two", b"I three", b"  four", b"I five"}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [Block(b"\n", 0, 1, 0)]),
        (b"no newline", [Block(b"no newline", 0, 1, 0)]),
        (b"one\r\ntwo", [Block(b"one\r\n", 0, 1, 0), Block(b"two", 1, 1, 0)]),
        (b"x" * 30 + b"\nshort\n", [Block(b"x" * 20 + b"\nshort\n", 0, 2, 1)]),
    ],
)
def test_borders(data, expected):
    """Empty inputs, a missing last newline, CRLF left as it is, and a line that is too long."""
    assert list(blocks(io.BytesIO(data), 64, 20)) == expected


class Endless(io.RawIOBase):
    """One line of 20 MB, then a short one."""

    left = 20 << 20

    def readinto(self, buffer):
        """Give x, until the end is near."""
        if self.left <= 0:
            return 0
        got = min(len(buffer), self.left)
        self.left -= got
        buffer[:got] = b"x" * got
        if not self.left:
            buffer[got - 6 : got] = b"\nlast\n"
        return got


def test_a_line_without_end():
    """A line of 20 MB is cut to 1 MB, counted, and never held whole; the line after it is read."""
    tracemalloc.start()
    found = list(blocks(Endless()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(len(b.data), b.first_line, b.lines, b.truncated) for b in found] == [
        ((1 << 20) + 1, 0, 1, 1),
        (5, 1, 1, 0),
    ]
    assert peak < 6 << 20
