r"""Join lines of logs copied from a terminal or a mail that were wrapped at a width.

    I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD" source="api" pods=
    ["shop/web-0"]

A terminal wraps at its last column, also inside words and ids; a mail between words. The width is that of the longest
lines at the beginning: if the lines after them begin no record, they were wrapped. Other text is not changed.
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
_SURELY = 0.9  # share of full lines that must be followed by a continuation
_FEW_LINES = 50
_MOST_LINES = 1000  # that are looked at
_BEGINS = lazy_regex(rb"\t|  |" + openings.KLOG + rb"|" + openings.TIMED)


def detect(head: bytes) -> LineRewriter | None:
    """Return the rewriter if the lines in the first bytes are wrapped; else None."""
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
    """A line of a record, its width, whether it is the first, and the next line if it may continue this one."""

    text: bytes
    width: int
    is_first: bool
    rest: bytes


def _records(lines: Sequence[bytes]) -> list[_Line]:
    """Return the lines of records, each up to a blank line: text between records is not part of the log."""
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
    """Return whether a line may continue the one above: it begins no record and is not indented."""
    return bool(line.strip()) and not _BEGINS.match(line) and classify(line) != HEAD


def _is_terminal(records: Sequence[_Line], width: int, lines: int) -> bool:
    """Return whether only lines of the full width are continued, and none is wider."""
    full = [record for record in records if record.width == width]
    if len(full) == 1 and lines <= _FEW_LINES:
        return _is_completed(full[0].text, full[0].rest)
    rests = sum(bool(record.rest) for record in full)
    if len(full) < 2 or rests < _SURELY * len(full) or any(one.width > width for one in records if one.is_first):
        return False
    heads = sum(record.is_first for record in records)
    return heads * 2 >= len(records) - rests


def _is_completed(line: bytes, rest: bytes) -> bool:
    """Return whether a line is truncated by itself, and complete with the next one."""
    cut, whole = read_body(peel(line).body), read_body(peel(line + rest).body)
    is_cut = cut is not None and (cut.truncated or line.endswith(b"="))
    return is_cut and whole is not None and not whole.truncated and _is_rest(rest)


def _is_mail(records: Sequence[_Line], width: int) -> bool:
    """Return whether the first word of each continuation does not fit into the line above."""
    pairs = [record for record in records if record.rest]
    if len(pairs) < _FEWEST_PAIRS or len(pairs) * 4 < len(records):
        return False
    full = sum(record.width + 1 + _first_word(record.rest) > width for record in pairs)
    ragged = sum(record.width < width - 1 for record in pairs)  # a terminal breaks at one column
    return full >= _SURELY * len(pairs) <= ragged * 10


def _first_word(line: bytes) -> int:
    return len(line.split(None, 1)[0]) if line.strip() else 0


def _joined(lines: Lines, glue: Callable[[bytes, bytes], bytes | None]) -> Iterator[Line]:
    """Join each line with its continuations; `glue` returns the text between two lines, None if they do not join."""
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
    """Return the text at a terminal's edge: none, or a blank that was not copied; None if the line is shorter."""
    size = _width(above)
    if size == width:
        return b""
    return b" " if size == width - 1 else None


def _mail(above: bytes, below: bytes, width: int) -> bytes | None:
    return b" " if _width(above) + 1 + _first_word(below) > width else None
