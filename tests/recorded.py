"""A text read as an input is, from bytes to records."""

from __future__ import annotations

from collections.abc import Iterable

from kvdiag.base.errors import InputError
from kvdiag.history.ingest.blocks import read_blocks
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.history.ingest.records import RawRecord, read_records
from kvdiag.inputs.lines import LineMap


def records_of(text: bytes) -> list[RawRecord]:
    """Give all records of a text; nothing in it may be a problem."""
    numbers = LineMap()
    return list(read_records(read_blocks(TextInput("x", text), _fail, numbers), numbers))


def records_of_lines(lines: Iterable[bytes]) -> list[RawRecord]:
    """Give all records of some lines."""
    return records_of(b"\n".join(lines))


def _fail(problem: InputError) -> None:
    raise AssertionError(str(problem))
