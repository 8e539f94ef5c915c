r"""Rewrite logs that are in one line with escaped line ends, as in a JSON string or an export of tickets.

    {"body":"I0715 03:49:33.850919    1432 kubelet.go:1] \"Started\"\nI0715 03:49:34.051002    1432 kubelet.go:2168] …

In a JSON string quotes are escaped too, and everything once more if that is in another string. If quotes are not
escaped, a line ends only before the next record, since line ends in messages are escaped in the same way. Such a line
may have any length; it is read in pieces of 256 KB.
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
# The text between strings in JSON: keys, numbers, names.
_GLUE = lazy_regex(rb"[\s:,{}\[\]\\]*+[\w.\-]*+[\s:,{}\[\]\\]*+")
# How often the text was escaped, by the number of backslashes of a line end.
_TIMES = {1: 1, 2: 2, 4: 3}


def detect(head: bytes) -> LineRewriter | None:
    """Return the rewriter if the line ends in the first bytes are escaped; else None."""
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
    """Yield the lines of a log that was escaped `times` times; 0 if its quotes are not escaped."""
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
        else:  # the line may continue, and its end may be incomplete
            parts, held = [*parts[:-1], b""], b"".join(parts[-2:])
        yield from ((number, _read(text, times)) for text in _texts(parts))
    yield from ((lines.number + 1, _read(text, times)) for text in _texts(ends.split(held)))


def _texts(parts: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the texts between the separators, without the JSON between strings."""
    marks = [b"", *parts[1::2], b""]
    for number, text in enumerate(parts[::2]):
        is_beside_quote = b'"' in marks[number] + marks[number + 1]
        if text.strip() and not (is_beside_quote and _GLUE.fullmatch(text)):
            yield text


def _ends(times: int) -> re.Pattern[bytes]:
    """Return the pattern of a line's end: an escaped line end, or a quote with fewer escapes than the log's own."""
    if not times:
        return re.compile(rb"(?<!\\)(\\n)" + _BEGINS)
    fewer = 2**times - 2
    return re.compile(rb'(?<!\\)(\\{%d}n|\\{0,%d}")' % (2 ** (times - 1), fewer))


def _read(line: bytes, times: int) -> bytes:
    """Return a line with `times` levels of escapes removed."""
    line = line.rstrip(b"\r\n")
    for _ in range(times):
        try:
            line = json.loads(b'"' + line + b'"').encode("utf-8", "surrogatepass")
        except ValueError:
            line = _ESCAPE.sub(_character, line)
    return line.removesuffix(rb"\r").replace(b"\n", b" ").rstrip(b"\r")


def _character(found: re.Match[bytes]) -> bytes:
    return _CHARACTERS.get(found[1], found[1])
