r"""Rewrite a view of k9s that was copied with its frame: join lines that were wrapped at the frame's width.

    │   Warning  FailedMount  1s (x4 over 5s)  kubelet  MountVolume.MountDevice failed for volume "data" : rpc er │
    │ ror: code = Internal desc = exit status 32                                                                  │

A line that reaches the frame continues in the next one, also inside words. The left side of the frame is often not
copied in the first line. Other text is not changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.registry import HEAD, classify
from kvdiag.inputs.lines import LONGEST, Line, LineRewriter, Lines

_FEWEST = 3
_MOST = 0.7  # of the lines are framed at one width
_MOST_LINES = 1000  # that are looked at
_NARROWEST = 40
_FRAMED = lazy_regex(rb"(?:\xe2\x94\x82 ?)?([^\n]*?) ?\xe2\x94\x82[ \t]*$")
_BEGINS = lazy_regex(rb"\t|  ")


def detect(head: bytes) -> LineRewriter | None:
    """Return the rewriter if the lines in the first bytes have a frame; else None."""
    if b"\xe2\x94\x82" not in head:
        return None
    lines = [line.rstrip(b"\r") for line in head.split(b"\n", _MOST_LINES)[:_MOST_LINES] if line.strip()]
    widths = Counter(_width(found[1]) for line in lines if (found := _FRAMED.match(line)))
    width, same = widths.most_common(1)[0] if widths else (0, 0)
    if width < _NARROWEST or same < _FEWEST or same < _MOST * len(lines):
        return None
    return partial(_unframed, width=width)


def _width(text: bytes) -> int:
    return len(text) if text.isascii() else len(text.decode("utf-8", "replace"))


def _unframed(lines: Lines, width: int) -> Iterator[Line]:
    """Remove the frame, and join each line that reaches it with the next one."""
    held, number, is_full = b"", 0, False
    while (line := lines.next()) is not None:
        found = _FRAMED.match(line)
        text = found[1] if found else line
        if is_full and len(held) < LONGEST and text.strip() and not _BEGINS.match(text) and classify(text) != HEAD:
            held += text
        else:
            if number:
                yield number, held.rstrip()
            held, number = text, lines.number
        is_full = bool(found) and _width(text) == width and not text.endswith(b" ")
    if number:
        yield number, held.rstrip()
