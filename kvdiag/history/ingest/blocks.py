"""Read an input of any format as blocks of repaired lines, with one line per entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from kvdiag.base.errors import InputError
from kvdiag.formats.pasted.escaped import detect as written_out
from kvdiag.formats.pasted.framed import detect as framed
from kvdiag.formats.pasted.wrapped import detect as wrapped
from kvdiag.inputs.folded import DETECTORS, HEAD, rewriting_reader
from kvdiag.inputs.lines import Receiver
from kvdiag.inputs.readers import BorrowedReader, ByteSource
from kvdiag.inputs.repair import TextRepair, Transcoded
from kvdiag.inputs.scan.blocks import Block, blocks
from kvdiag.inputs.scan.partial_lines import join_parts
from kvdiag.model.record import Provenance
from kvdiag.safe.forms.pem import without_keys


class Input(Protocol):
    """An input: `kvdiag.inputs.source.Source`, or a text in memory."""

    @property
    def name(self) -> str:
        """Return the name that the user gave."""

    @property
    def modified(self) -> float | None:
        """Return its date in seconds since 1970, if it has one."""

    @property
    def is_named(self) -> bool:
        """Return whether the user named it; False if it was found in a folder or an archive."""

    @property
    def place(self) -> Provenance:
        """Return node and container according to the path."""

    def open(self) -> AbstractContextManager[ByteSource]:
        """Open its bytes from the beginning."""


def read_blocks(
    source: Input,
    problem: Callable[[InputError], None],
    line_map: Receiver,
    begins: Callable[[bytes], bool] | None = None,
    most: int = HEAD,
) -> Iterator[Block]:
    """Yield the blocks of an input. Errors go to `problem`.

    If lines are rewritten, `line_map` receives the line number in the input of each. The format is detected by the
    first bytes, up to `most`; of an input that still grows, by those that are available. Private keys with many lines
    are redacted here, since a single line of one cannot be recognized later.
    """
    text_repair = TextRepair()
    try:
        with source.open() as reader:
            lines = rewriting_reader(
                Transcoded(BorrowedReader(reader), most), line_map, (written_out, *DETECTORS, framed, wrapped), most
            )
            yield from without_keys(join_parts(_repaired(block, text_repair) for block in blocks(lines, begins=begins)))
    except InputError as error:
        problem(error)
    except (OSError, EOFError) as error:
        problem(InputError(source.name, f"only partly read ({error}); what was read is used"))


def _repaired(block: Block, text_repair: TextRepair) -> Block:
    repaired = text_repair.repair(block.data)
    torn = tuple(block.first_line + line for line in repaired.torn)
    return Block(repaired.data, block.first_line, block.lines, block.truncated + repaired.cut, torn)
