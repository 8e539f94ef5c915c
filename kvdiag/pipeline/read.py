"""One input → its testimony and how it was read."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from typing import Protocol

from kvdiag.clock import is_yearless
from kvdiag.correlate.testimony import Testimony
from kvdiag.errors import InputError
from kvdiag.events.calls import calls
from kvdiag.events.recognise import Recogniser, Sighting
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.formats.gopanic import is_start
from kvdiag.formats.klog import preamble
from kvdiag.formats.records import classify
from kvdiag.inputs.journal import unfolded
from kvdiag.model.place import NOWHERE, Place
from kvdiag.pipeline.survey import Survey
from kvdiag.scan.blocks import Block, Reader, blocks
from kvdiag.scan.protocol import Scanner

ENDS = 300  # lines at either end of an input in which its first and last time are looked for
PREAMBLE = 8
SAID_WITHIN = 8_000  # lines in which a line that says its own date is looked for
_OWN_DAY = re.compile(
    rb"^(?:[^\n]{0,80} )?[IWEF](?P<month>\d\d)(?P<day>\d\d) \d\d:"
    rb"[^\n]{0,1500}?\b(?P<year>20\d\d)-(?P=month)-(?P=day)[ T]\d\d:",
    re.MULTILINE,
)

Progress = Callable[[str, int], None]


class Readable(Protocol):
    """An input: `kvdiag.inputs.source.Source`, or a text in memory."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    @property
    def modified(self) -> float | None:
        """Seconds since 1970, when it has a date."""

    @property
    def place(self) -> Place:
        """Of which node and container it is, where its path says so."""

    def open(self) -> AbstractContextManager[Reader]:
        """Its bytes from the beginning."""


@dataclass(frozen=True, slots=True)
class Text:
    """A log in memory, such as the excerpt in a rule's test."""

    name: str
    data: bytes
    modified: float | None = None
    place: Place = NOWHERE

    def open(self) -> BytesIO:
        """The bytes."""
        return BytesIO(self.data)


@dataclass(frozen=True, slots=True)
class Read:
    """What an input said, and how much of it was understood."""

    testimony: Testimony
    survey: Survey
    recognised: int


def begins_record(line: bytes) -> bool:
    """Whether a line begins a record of a known format; blocks are cut before such a line.

    Not before a crash dump: it has no time of its own but that of the line above.
    """
    return classify(line) == "head" and not is_start(line)


def read_source(
    source: Readable,
    vocabulary: Vocabulary,
    scanner: Scanner,
    problem: Callable[[InputError], None],
    progress: Progress,
) -> Read:
    """Scan one input from end to end. What broke on the way is told to `problem`; what was read until then counts."""
    recogniser, survey = Recogniser(vocabulary), Survey()
    first, last, year, said = None, None, None, None
    tail: Block | None = None
    numbers: array[int] = array("I")
    for block in _blocks(source, problem, numbers):
        if tail is None:
            year = _preamble_year(block)
            first = _edge(block, recogniser, backwards=False)
        recogniser.feed(block.data, block.first_line, scanner.scan(block.data))
        survey.add(block)
        if said is None and block.first_line < SAID_WITHIN:
            said = _said_year(block)
        progress(source.name, len(block.data))
        tail = block
    if tail is not None:
        last = _edge(tail, recogniser, backwards=True)
    survey.close()
    sightings = _placed([*recogniser.sightings, *calls(recogniser.heard, vocabulary)], numbers)
    sightings.sort(key=lambda sighting: sighting.line)
    testimony = Testimony(
        source=source.name,
        sightings=sightings,
        first=first,
        last=last,
        lines=numbers[-1] if numbers else survey.lines,
        wordings=frozenset(recogniser.wordings),
        yearless=recogniser.stamper.klog_is_yearless or (first is not None and is_yearless(first)),
        preamble_year=year,
        said_year=said,
        modified=source.modified,
        formats=survey.formats,
        place=source.place,
    )
    return Read(testimony, survey, recogniser.recognised)


def _blocks(source: Readable, problem: Callable[[InputError], None], numbers: array[int]) -> Iterator[Block]:
    """The blocks of an input; of a journal whose entries have many lines, with one line for each."""
    try:
        with source.open() as reader:
            yield from blocks(unfolded(reader, numbers), begins=begins_record)
    except InputError as error:
        problem(error)
    except (OSError, EOFError) as error:
        problem(InputError(source.name, f"could not be read to its end ({error}); what was read until then is used"))


def _placed(sightings: list[Sighting], numbers: Sequence[int]) -> list[Sighting]:
    """Sightings at the lines of the input, where entries of many lines were read as one."""
    if not numbers:
        return sightings
    return [sighting._replace(line=numbers[sighting.line - 1]) for sighting in sightings]


def _edge(block: Block, recogniser: Recogniser, *, backwards: bool) -> int | None:
    """The time of the first or last line of a block that has one."""
    lines = block.data.split(b"\n", ENDS)[:ENDS] if not backwards else block.data.rsplit(b"\n", ENDS)[-ENDS:][::-1]
    stamps = (recogniser.stamper.read(line).stamp for line in lines if line and classify(line) == "head")
    return next((stamp for stamp in stamps if stamp is not None), None)


def _said_year(block: Block) -> int | None:
    """The year in a line that says its own day in full: `I0917 10:02:19.1 … podCreationTimestamp="2024-09-17 …`."""
    found = _OWN_DAY.search(block.data)
    return int(found["year"]) if found else None


def _preamble_year(block: Block) -> int | None:
    """The year in `Log file created at: 2024/07/15 03:49:33`, the only one a klog file has."""
    for line in block.data.split(b"\n", PREAMBLE)[:PREAMBLE]:
        said = preamble(line)
        if said and said[0] == "Log file created at" and said[1][:4].isdecimal():
            return int(said[1][:4])
    return None
