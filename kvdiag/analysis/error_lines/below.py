"""The lines below the head of an error: of a value that it begins, and of its message."""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.formats.bodies.registry import CHATTER, HEAD, classify, is_head, is_separate
from kvdiag.formats.carriers.peel import peel

LONGEST_SAMPLE = 8 << 10
MOST_BELOW = 12  # lines of a message that a sample includes
LONGEST_VALUE = 120  # lines of a value that begins with `err=<`


def with_value(data: bytes, line: bytes, end: int) -> tuple[bytes, int]:
    """Return a line together with the lines of the value that it begins, and the number of these lines."""
    rest = lines_behind(data, end)
    for number, below in enumerate(rest, start=1):
        body = peel(below).body
        if is_head(body):
            return line, 0
        if body.lstrip().startswith(b">") if line.endswith(b"<") else body.startswith(b"}"):
            has_error = line.endswith(b"{") and number < len(rest) and peel(rest[number]).body.startswith(b": ")
            return b"\n".join([line, *(peel(one).body for one in rest[: number + has_error])]), number + has_error
    return line, 0


def lines_behind(data: bytes, end: int) -> list[bytes]:
    """Return the next lines after the place where a line ends."""
    return data[end + 1 : end + 1 + LONGEST_SAMPLE].split(b"\n", LONGEST_VALUE)[:LONGEST_VALUE]


def below_head(data: bytes, begin: int) -> Iterator[bytes]:
    """Yield the lines of a message that have no header of their own; a runtime prints its carrier before each."""
    for line in data[begin : begin + LONGEST_SAMPLE].split(b"\n", MOST_BELOW)[:MOST_BELOW]:
        if not line.strip() or classify(line) in {HEAD, CHATTER} or is_separate(line):
            return
        peeled = peel(line)
        yield line if peeled.stamp is None else peeled.body
