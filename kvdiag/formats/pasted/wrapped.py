r"""Logs copied from a terminal or a mail, whose lines were broken at a width, put together again.

    I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD" source="api" pods=
    ["shop/web-0"]

A terminal breaks at its last column, within words and ids; a mail between words. The width is that of the longest lines
at the beginning: when what follows such lines begins no record, they were broken there. Elsewhere nothing is touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.registry import HEAD, classify, read_body
from kvdiag.formats.carriers import openings
from kvdiag.formats.carriers.peel import peel
from kvdiag.inputs.lines import LONGEST, Line, LineRewriter, Lines

_NARROWEST, _WIDEST, _WIDEST_MAIL = 40, 1000, 200
_FEWEST_PAIRS = 3
_SURELY = 0.9  # of the lines that may be rests of others
_FEW_LINES = 50
_MOST_LINES = 1000  # that are looked at
_BEGINS = lazy_regex(rb"\t|  |" + openings.KLOG + rb"|" + openings.TIMED)


def detect(head: bytes) -> LineRewriter | None:
    """Tell by the first bytes of an input whether its lines are broken; None when they are not."""
    lines = [line.rstrip(b"\r") for line in head.split(b"\n", _MOST_LINES)[:_MOST_LINES]]
    records = _records(lines)
    if not any(record.rest for record in records):
        return None
    width = max((record.width for record in records if b" " in record.text.strip()), default=0)
    if _NARROWEST <= width <= _WIDEST_MAIL and _is_mail(records, width):
        return partial(_joined, glue=partial(_mail, width=width))
    width = Counter(record.width for record in records if record.rest).most_common(1)[0][0]
    if _NARROWEST <= width <= _WIDEST and _is_terminal(records, width, len(lines)):
        return partial(_joined, glue=partial(_terminal, width=width))
    return None


class _Line(NamedTuple):
    """A line of a record, its width, whether the record begins with it, and the line below that may be its rest."""

    text: bytes
    width: int
    is_first: bool
    rest: bytes


def _records(lines: Sequence[bytes]) -> list[_Line]:
    """The lines of records, each as far as a blank line: what somebody wrote between them is no part of a log."""
    records: list[_Line] = []
    is_within = False
    rests = [_is_rest(line) for line in lines]
    for line, below, is_rest, is_continued in zip_longest(lines, lines[1:], rests, rests[1:], fillvalue=b""):
        is_first = bool(line.strip()) and not is_rest
        is_within = is_first or (is_within and bool(line.strip()))
        if is_within:
            records.append(_Line(line, _width(line), is_first, below if is_continued else b""))
    return records


def _width(line: bytes) -> int:
    return len(line) if line.isascii() else len(line.decode("utf-8", "replace"))


def _is_rest(line: bytes) -> bool:
    """Whether a line may be the rest of the one above it: no record begins with it, nor is it set in below one."""
    return bool(line.strip()) and not _BEGINS.match(line) and classify(line) != HEAD


def _is_terminal(records: Sequence[_Line], width: int, lines: int) -> bool:
    """Whether lines of the full width, and no others, are followed by rests, and none is wider."""
    full = [record for record in records if record.width == width]
    if len(full) == 1 and lines <= _FEW_LINES:
        return _is_completed(full[0].text, full[0].rest)
    rests = sum(bool(record.rest) for record in full)
    if len(full) < 2 or rests < _SURELY * len(full) or any(one.width > width for one in records if one.is_first):
        return False
    heads = sum(record.is_first for record in records)
    return heads * 2 >= len(records) - rests


def _is_completed(line: bytes, rest: bytes) -> bool:
    """Whether a line by itself is cut off, and is whole with the rest behind it."""
    cut, whole = read_body(peel(line).body), read_body(peel(line + rest).body)
    is_cut = cut is not None and (cut.truncated or line.endswith(b"="))
    return is_cut and whole is not None and not whole.truncated and _is_rest(rest)


def _is_mail(records: Sequence[_Line], width: int) -> bool:
    """Whether the first word of each rest had no room in the line above."""
    pairs = [record for record in records if record.rest]
    if len(pairs) < _FEWEST_PAIRS or len(pairs) * 4 < len(records):
        return False
    full = sum(record.width + 1 + _first_word(record.rest) > width for record in pairs)
    ragged = sum(record.width < width - 1 for record in pairs)  # a terminal breaks at one column
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
