"""Inputs that are not log lines and are rewritten to one line an entry: journals, JSON, YAML, OTLP, recordings.

The first bytes decide which format it is; any other input is passed through.
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
"""Takes the first bytes of an input; returns how its lines are rewritten, None if it has another format."""

DETECTORS: tuple[Detector, ...] = (
    journal.detect,
    otlp.detect,
    recording.detect,
    jsondocument.detect,
    yamldocument.detect,
    described.detect,
)


def is_rewritable(head: bytes) -> bool:
    """Return whether the first bytes are those of a journal, or of a document that contains events or log lines."""
    if any(detect(head) is not None for detect in (journal.detect, otlp.detect, yamldocument.detect, described.detect)):
        return True
    return jsondocument.detect(head) is not None and jsondocument.holds_log(head)


def rewriting_reader(
    reader: Reader, line_map: Receiver, detectors: Sequence[Detector] = DETECTORS, most: int = HEAD
) -> Reader:
    """Return a reader with one line per entry if the first bytes, up to `most`, have such a format, else of the input.

    `line_map` receives the line number of the input for each rewritten line: that of its message.
    """
    head = read_up_to(reader, most)
    replayed = ReplayReader(head, reader)
    for detect in detectors:
        rewriting = detect(head)
        if rewriting is not None:
            return RewrittenReader(rewriting(Lines(replayed)), line_map)
    return replayed
