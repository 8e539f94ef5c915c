"""Inputs that are no lines of a log yet, rewritten to such: a journal's entries, JSON, YAML, OTLP, recordings.

Which they are is told by their first bytes; any other input is given as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from kvdiag.inputs import described, journal, jsondocument, otlp, recording, yamldocument
from kvdiag.inputs.lines import LineRewriter, Lines, Receiver, RewrittenReader
from kvdiag.inputs.readers import ReplayReader, read_up_to

if TYPE_CHECKING:
    from kvdiag.inputs.readers import Reader

HEAD = 64 << 10

Detector: TypeAlias = Callable[[bytes], LineRewriter | None]
"""From the first bytes of an input: how its lines are rewritten; None when it is of another kind."""

DETECTORS: tuple[Detector, ...] = (
    journal.detect,
    otlp.detect,
    recording.detect,
    jsondocument.detect,
    yamldocument.detect,
    described.detect,
)


def is_rewritable(head: bytes) -> bool:
    """Whether the first bytes are those of such a journal, or of a document with events or lines of a log in it."""
    if any(detect(head) is not None for detect in (journal.detect, otlp.detect, yamldocument.detect, described.detect)):
        return True
    return jsondocument.detect(head) is not None and jsondocument.holds_log(head)


def rewriting_reader(
    reader: Reader, line_map: Receiver, detectors: Sequence[Detector] = DETECTORS, most: int = HEAD
) -> Reader:
    """Give the input with one line per entry when its first bytes, up to `most`, are of such a kind, else as it is.

    `line_map` receives, for each line that was rewritten, the line of the input it stands for: that of its message.
    """
    head = read_up_to(reader, most)
    replayed = ReplayReader(head, reader)
    for detect in detectors:
        rewriting = detect(head)
        if rewriting is not None:
            return RewrittenReader(rewriting(Lines(replayed)), line_map)
    return replayed
