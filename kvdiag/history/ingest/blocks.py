"""An input as legible blocks of lines, one line an entry, whatever it was when it came; for all that read inputs."""

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
from kvdiag.model.provenance import Provenance
from kvdiag.safe.forms.pem import without_keys


class Input(Protocol):
    """An input: `kvdiag.inputs.source.Source`, or a text in memory."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    @property
    def modified(self) -> float | None:
        """Seconds since 1970, when it has a date."""

    @property
    def is_named(self) -> bool:
        """Whether the user named it, and it was not only found in a folder or an archive."""

    @property
    def place(self) -> Provenance:
        """Of which node and container it is, where its path says so."""

    def open(self) -> AbstractContextManager[ByteSource]:
        """Its bytes from the beginning."""


def read_blocks(
    source: Input,
    problem: Callable[[InputError], None],
    line_map: Receiver,
    begins: Callable[[bytes], bool] | None = None,
    most: int = HEAD,
) -> Iterator[Block]:
    """Give the blocks of an input. What breaks on the way is told to `problem`.

    Where lines were rewritten, `line_map` receives for each the line of the input it stands for; none where none
    was. What the input is, its first bytes tell, up to `most`: of one that still grows, those that are at hand.
    Nothing is given of a private key that spreads over lines: a line of one cannot be told by itself.
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
