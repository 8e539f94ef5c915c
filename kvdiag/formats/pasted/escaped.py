r"""Whole logs that stand in one line, their line ends written out, as in a text of JSON or an export of tickets.

    {"body":"I0715 03:49:33.850919    1432 kubelet.go:1] \"Started\"\nI0715 03:49:34.051002    1432 kubelet.go:2168] …

In a text of JSON quotes are written out too, and everything once more when that is in a text again. Where quotes stand
as they are, a line ends only before the next record: what a message has broken is written in the same way. Such a line
may have any length; it is read by pieces of 256 KB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.carriers import openings
from kvdiag.inputs.lines import LONGEST, Line, LineRewriter, Lines

_FEWEST = 2
_BEGINS = (
    rb"(?=[ \t]{0,40}(?:" + openings.KLOG + rb'|time=\\{0,7}"\d{4}-|' + openings.TIMED + rb"|\d{4}-\d\d-\d\d \d\d:"
    rb'|<\d{1,3}>|\[ {0,8}\d{1,9}\.\d{6}\]|\{\\{0,7}"[\w.@]{1,40}\\{0,7}":))'
)
_BREAK = lazy_regex(rb"(?<!\\)(\\{1,2}|\\{4})n" + _BEGINS)
_LINE = lazy_regex(rb'(?:\n|(?<!\\)")' + _BEGINS)
_QUOTE = lazy_regex(rb'(\\*+)"')
_ESCAPE = lazy_regex(rb'\\(["\\/tr])')
_CHARACTERS = {b"t": b"\t", b"r": b""}
# What stands around texts in JSON: keys, numbers, the names of things.
_GLUE = lazy_regex(rb"[\s:,{}\[\]\\]*+[\w.\-]*+[\s:,{}\[\]\\]*+")
# Of the ends of lines, by how many backslashes each has: how often the text was written out.
_TIMES = {1: 1, 2: 2, 4: 3}


def detect(head: bytes) -> LineRewriter | None:
    """Tell by the first bytes of an input whether the lines of its log are written out; None when they are not."""
    if head.count(rb"\n") < _FEWEST:
        return None
    breaks = list(_BREAK.finditer(head))
    if len(breaks) < _FEWEST or len(breaks) <= len(_LINE.findall(head)):
        return None
    times = _TIMES[len(breaks[0][1])]
    quotes = [len(found[1]) for found in _QUOTE.finditer(head, breaks[0].end())]
    escaped = sum(count >= 2**times - 1 for count in quotes)
    return partial(_lines, times=times if escaped * 2 >= len(quotes) else 0)


def _lines(lines: Lines, times: int) -> Iterator[Line]:
    """Give the lines of a log that was written out so many times; none where its quotes stand as they are."""
    ends, held = _ends(times), b""
    is_split, is_end = False, True
    while piece := lines.piece():
        is_split = _BREAK.search(piece) is not None if is_end else is_split
        is_end = piece.endswith(b"\n")
        number = lines.number + (not is_end)
        if not is_split:
            yield number, piece.rstrip(b"\r\n")
            continue
        parts = ends.split(held + piece)
        if is_end or len(parts[-1]) > LONGEST:
            held = b""
        else:  # it may go on, and so may what ends it
            parts, held = [*parts[:-1], b""], b"".join(parts[-2:])
        yield from ((number, _read(text, times)) for text in _texts(parts))
    yield from ((lines.number + 1, _read(text, times)) for text in _texts(ends.split(held)))


def _texts(parts: Sequence[bytes]) -> Iterator[bytes]:
    """Of texts and the marks between them the texts, but for what is only glue between texts of JSON."""
    marks = [b"", *parts[1::2], b""]
    for number, text in enumerate(parts[::2]):
        is_beside_quote = b'"' in marks[number] + marks[number + 1]
        if text.strip() and not (is_beside_quote and _GLUE.fullmatch(text)):
            yield text


def _ends(times: int) -> re.Pattern[bytes]:
    """What ends a line: a written line end, and a quote that is not written out often enough to be one of the log."""
    if not times:
        return re.compile(rb"(?<!\\)(\\n)" + _BEGINS)
    fewer = 2**times - 2
    return re.compile(rb'(?<!\\)(\\{%d}n|\\{0,%d}")' % (2 ** (times - 1), fewer))


def _read(line: bytes, times: int) -> bytes:
    """A line as it was before it was written out so many times."""
    line = line.rstrip(b"\r\n")
    for _ in range(times):
        try:
            line = json.loads(b'"' + line + b'"').encode("utf-8", "surrogatepass")
        except ValueError:
            line = _ESCAPE.sub(_character, line)
    return line.removesuffix(rb"\r").replace(b"\n", b" ").rstrip(b"\r")


def _character(found: re.Match[bytes]) -> bytes:
    return _CHARACTERS.get(found[1], found[1])
