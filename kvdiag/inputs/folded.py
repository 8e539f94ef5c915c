"""Inputs that are no lines of a log yet, rewritten to such: a journal's entries, JSON, YAML, OTLP, recordings.

Which they are is told by their first bytes; any other input is given as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from kvdiag.inputs import described, journal, jsondocument, otlp, recording, yamldocument
from kvdiag.inputs.lines import Lines, Receiver, Rewriting, Rewritten
from kvdiag.inputs.readers import Replayed, read_up_to

if TYPE_CHECKING:
    from kvdiag.inputs.readers import Reader

HEAD = 64 << 10

Fold: TypeAlias = Callable[[bytes], Rewriting | None]
"""From the first bytes of an input: how its lines are rewritten; None when it is of another kind."""

FOLDS: tuple[Fold, ...] = (
    journal.fold,
    otlp.fold,
    recording.fold,
    jsondocument.fold,
    yamldocument.fold,
    described.fold,
)


def is_folded(head: bytes) -> bool:
    """Whether the first bytes are those of such a journal, or of a document with events or lines of a log in it."""
    if any(fold(head) is not None for fold in (journal.fold, otlp.fold, yamldocument.fold, described.fold)):
        return True
    return jsondocument.fold(head) is not None and jsondocument.holds_log(head)


def unfolded(reader: Reader, line_map: Receiver, folds: Sequence[Fold] = FOLDS, most: int = HEAD) -> Reader:
    """Give the input with one line per entry when its first bytes, up to `most`, are of such a kind, else as it is.

    `line_map` receives, for each line that was rewritten, the line of the input it stands for: that of its message.
    """
    head = read_up_to(reader, most)
    again = Replayed(head, reader)
    for fold in folds:
        rewriting = fold(head)
        if rewriting is not None:
            return Rewritten(rewriting(Lines(again)), line_map)
    return again
