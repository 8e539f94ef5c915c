r"""Rewrite logs whose quotes within values have lost their backslashes, as in text that was pasted into a page.

    E0715 03:49:33.850919    1432 a.go:1] "Error syncing pod" err="failed to "Start" for "app": busy" pod="shop/web-0"

A value ends at a quote before the next key or the end of the line. A quote behind `=` within it begins a value of the
text inside: `plugin type="bridge" name="podnet" failed (add): …`.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.lines import Line, LineRewriter, Lines

_MOST_LINES = 1000  # that are looked at
_FEWEST = 4  # one of so many lines with values has such quotes
_KEY = rb"[ \t]{1,8}[A-Za-z_][\w.\-/]{0,200}="
# A value without backslashes behind whose closing quote neither a key nor the end follows.
_SUSPECT = lazy_regex(rb'="[^"\\\n]*"(?!\s|\Z)|="[^"\\\n]*"[ \t](?![ \t]*(?:\Z|\n|[A-Za-z_][\w.\-/]*=))')
# The opening quote of klog's message or of a value of logrus; not a doubled one, as in CSV.
_OPENING = lazy_regex(rb'(?:\.go:\d{1,6}\] |\b(?:time|level|msg)=)(?="(?!"))')
_NEXT = lazy_regex(_KEY + rb'(?=")')
_QUOTE = lazy_regex(rb'(?<!\\)"')
_CLOSES = lazy_regex(rb"[ \t]*\Z|" + _KEY)
_VALUE = rb'="'


def detect(head: bytes) -> LineRewriter | None:
    """Return the rewriter if some lines in the first bytes have such quotes; else None."""
    if not _SUSPECT.search(head):
        return None
    lines = [line.rstrip(b"\r") for line in head.split(b"\n", _MOST_LINES)[:_MOST_LINES] if _VALUE in line]
    changed = sum(escaped(line) != line for line in lines)
    return _lines if changed * _FEWEST >= len(lines) > 0 else None


def _lines(lines: Lines) -> Iterator[Line]:
    while (line := lines.next()) is not None:
        yield lines.number, escaped(line)


def escaped(line: bytes) -> bytes:
    """Return a line with the quotes inside its values escaped; as it is if a value does not end."""
    opening = _OPENING.search(line) if _SUSPECT.search(line) else None
    parts, at = [], 0
    while opening is not None:
        begin = opening.end()
        end = _closing(line, begin)
        if end < 0:
            return line
        parts += [line[at : begin + 1], _QUOTE.sub(rb'\\"', line[begin + 1 : end])]
        at = end
        opening = _NEXT.search(line, end + 1)
    return b"".join([*parts, line[at:]])


def _closing(line: bytes, begin: int) -> int:
    """Return the quote that ends the value whose opening quote is at `begin`; -1 if there is none."""
    inner = False  # within a value of the text inside
    for quote in _QUOTE.finditer(line, begin + 1):
        at = quote.start()
        if inner or (at > begin + 1 and line[at - 1 : at] == b"="):
            inner = not inner
        elif _CLOSES.match(line, at + 1):
            return at
    return -1
