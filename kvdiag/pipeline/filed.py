"""One file beside the logs → its facts and how it was read."""

from __future__ import annotations

from dataclasses import dataclass

from kvdiag.correlate.standing import Standing
from kvdiag.errors import InputError
from kvdiag.evidence.fact import Fact
from kvdiag.evidence.readers import LARGEST, read_evidence
from kvdiag.inputs.folders import SkippedError
from kvdiag.inputs.readers import read_up_to
from kvdiag.inputs.source import Source
from kvdiag.model.report import Reading


@dataclass(frozen=True, slots=True)
class Filed:
    """What a file says, and how it was read."""

    standing: Standing
    reading: Reading


def read_file(source: Source) -> Filed:
    """Read a file that begins as evidence; what is wrong with it goes to the source's `problem`."""
    with source.open() as reader:
        data = read_up_to(reader, LARGEST + 1)
    text = data[:LARGEST].decode("utf-8", "replace")
    facts = tuple(_facts(source, text, is_whole=len(data) <= LARGEST))
    return Filed(
        Standing(source.name, facts, source.place),
        Reading(
            source=source.name,
            format=source.evidence,
            component="",
            lines=len(text.splitlines()),
            records=len(facts),
            recognised=len(facts),
            unread=0,
            node=source.place.node,
        ),
    )


def _facts(source: Source, text: str, *, is_whole: bool) -> list[Fact]:
    """The facts up to where the file is too long or broken."""
    facts: list[Fact] = []
    if not is_whole:
        why = f"it has more than {LARGEST >> 20} MiB, of which the beginning was read"
        source.problem(SkippedError(source.name, why))
    try:
        facts.extend(read_evidence(source.evidence, text))
    except (ValueError, RecursionError) as error:
        source.problem(_damaged(source, str(error)))
    return facts


def _damaged(source: Source, why: str) -> InputError:
    return SkippedError(
        source.name, f"it begins as {source.evidence} and cannot be read as such ({why}); collect it again"
    )
