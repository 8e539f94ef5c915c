r"""Logs copied from a terminal or a mail, whose lines were broken at a width, put together again.

    I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD" source="api" pods=
    ["shop/web-0"]

A terminal breaks at its last column, within words and ids; a mail between words. The width is that of the longest lines
at the beginning: when what follows such lines begins no record, they were broken there. Elsewhere nothing is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from kvdiag.formats import openings
from kvdiag.formats.bodies import HEAD, classify, read_body
from kvdiag.formats.peel import peel
from kvdiag.inputs.lines import LONGEST, Line, Lines, Rewriting
from kvdiag.regex import regex

_NARROWEST, _WIDEST, _WIDEST_MAIL = 40, 1000, 200
_FEWEST_PAIRS = 3
_SURELY = 0.9  # of the lines that may be rests of others
_FEW_LINES = 50
_MOST_LINES = 1000  # that are looked at
_BEGINS = regex(rb"\t|  |" + openings.KLOG + rb"|" + openings.TIMED)


def fold(head: bytes) -> Rewriting | None:
    """Tell by the first bytes of an input whether its lines are broken; None when they are not."""
    lines = [line.rstrip(b"\r") for line in head.split(b"\n", _MOST_LINES)[:_MOST_LINES]]
    widths = [_width(line) for line in lines]
    width = max((size for line, size in zip(lines, widths, strict=True) if b" " in line.strip()), default=0)
    if _NARROWEST <= width <= _WIDEST_MAIL and _is_mail(lines, widths, width):
        return partial(_joined, glue=partial(_mail, width=width))
    width = max(widths, default=0)
    if _NARROWEST <= width <= _WIDEST and _is_terminal(lines, widths, width):
        return partial(_joined, glue=partial(_terminal, width=width))
    return None


def _width(line: bytes) -> int:
    return len(line) if line.isascii() else len(line.decode("utf-8", "replace"))


def _is_rest(line: bytes) -> bool:
    """Whether a line may be the rest of the one above it: no record begins with it, nor is it set in below one."""
    return bool(line.strip()) and not _BEGINS.match(line) and classify(line) != HEAD


def _is_terminal(lines: Sequence[bytes], widths: Sequence[int], width: int) -> bool:
    """Whether lines of the full width, and no others, are followed by rests."""
    full = [number for number, size in enumerate(widths[:-1]) if size == width]
    if len(full) == 1 and len(lines) <= _FEW_LINES:
        return _is_completed(lines[full[0]], lines[full[0] + 1])
    rests = sum(_is_rest(lines[number + 1]) for number in full)
    if len(full) < 2 or rests < _SURELY * len(full):
        return False
    below = {number + 1 for number in full}
    others = [line for number, line in enumerate(lines) if line.strip() and number not in below]
    return sum(classify(line) == HEAD for line in others) * 2 >= len(others)


def _is_completed(line: bytes, rest: bytes) -> bool:
    """Whether a line by itself is cut off, and is whole with the rest behind it."""
    cut, whole = read_body(peel(line).body), read_body(peel(line + rest).body)
    is_cut = cut is not None and (cut.truncated or line.endswith(b"="))
    return is_cut and whole is not None and not whole.truncated and _is_rest(rest)


def _is_mail(lines: Sequence[bytes], widths: Sequence[int], width: int) -> bool:
    """Whether the first word of each rest had no room in the line above."""
    pairs = [number for number in range(len(lines) - 1) if lines[number].strip() and _is_rest(lines[number + 1])]
    if len(pairs) < _FEWEST_PAIRS or len(pairs) * 4 < len(lines):
        return False
    full = sum(widths[number] + 1 + _first_word(lines[number + 1]) > width for number in pairs)
    ragged = sum(widths[number] < width - 1 for number in pairs)  # a terminal breaks at one column
    return full >= _SURELY * len(pairs) <= ragged * 10


def _first_word(line: bytes) -> int:
    return len(line.split(None, 1)[0]) if line.strip() else 0


def _joined(lines: Lines, glue: Callable[[bytes, bytes], bytes | None]) -> Iterator[Line]:
    """Join each line with those below that are its rests; `glue` tells what stood between, None where nothing did."""
    held: list[bytes] = []
    number, size = 0, 0
    while (line := lines.next()) is not None:
        between = glue(held[-1], line) if held and size < LONGEST else None
        if between is None or not _is_rest(line):
            if held:
                yield number, b"".join(held)
            held, number, size = [line], lines.number, len(line)
            continue
        held += [between, line] if between else [line]
        size += len(line)
    if held:
        yield number, b"".join(held)


def _terminal(above: bytes, _below: bytes, width: int) -> bytes | None:
    """Nothing stood at a terminal's edge, or a blank that was not copied."""
    size = _width(above)
    if size == width:
        return b""
    return b" " if size == width - 1 else None


def _mail(above: bytes, below: bytes, width: int) -> bytes | None:
    return b" " if _width(above) + 1 + _first_word(below) > width else None
