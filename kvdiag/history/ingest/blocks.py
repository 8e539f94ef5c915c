"""Read an input of any format as blocks of repaired lines, with one line per entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from kvdiag.base.errors import InputError
from kvdiag.formats.pasted.detectors import LINES, WHOLE
from kvdiag.inputs.folded import DETECTORS, HEAD, rewriting_reader
from kvdiag.inputs.lines import Receiver
from kvdiag.inputs.readers import BorrowedReader, ByteSource, Reader
from kvdiag.inputs.repair import TextRepair, Transcoded, utf16_encoding
from kvdiag.inputs.scan.blocks import Block, blocks
from kvdiag.inputs.scan.partial_lines import PartJoiner, join_parts
from kvdiag.inputs.scan.sections import has_sections
from kvdiag.inputs.source import Source
from kvdiag.model.record import Provenance
from kvdiag.safe.forms.pem import KeyRedactor, without_keys

EXCERPT = 64 << 10  # bytes of a text that is held back until it is known whether its last lines are of a key
_DETECTORS = (*WHOLE, *DETECTORS, *LINES)


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
    with _reported(source.name, problem), source.open() as reader:
        lines = rewriting_reader(Transcoded(BorrowedReader(reader), most), line_map, _DETECTORS, most)
        yield from BlockRepair().blocks(lines, begins)


def is_plain(head: bytes) -> bool:
    """Return whether an input that begins so is one log whose lines are not rewritten: its stretches can be read."""
    is_rewritten = any(detect(head[:HEAD]) is not None for detect in _DETECTORS)
    return not (utf16_encoding(head) or is_rewritten or has_sections(head))


class BlockRepair:
    """What is done with the lines of a log before they are read: repairs, joined parts, redacted private keys."""

    def __init__(self) -> None:
        """Begin with a log, or with a stretch of it."""
        self._text_repair, self._joiner, self._keys = TextRepair(), PartJoiner(), KeyRedactor()

    def blocks(
        self, lines: Reader, begins: Callable[[bytes], bool] | None = None, first_line: int = 0
    ) -> Iterator[Block]:
        """Yield the blocks; `first_line` lines of the log are before them."""
        whole = (_repaired(block, self._text_repair) for block in blocks(lines, begins=begins, first_line=first_line))
        return _whole_excerpt(without_keys(join_parts(whole, self._joiner), self._keys), self._keys)

    @property
    def is_finished(self) -> bool:
        """Return whether the lines that follow the last block would be read in the same way alone."""
        return not (self._text_repair.is_active or self._joiner.ended_within or self._keys.ended_within)


def _whole_excerpt(parts: Iterator[Block], keys: KeyRedactor) -> Iterator[Block]:
    """Yield the blocks; the last lines of a short text, which may be of a key, stay in one block with those above.

    Else an error would lose its last line: `RawError: { "error": { "code": "InvalidParameter", …`.
    """
    for first in parts:
        if first.first_line or len(first.data) > EXCERPT or keys.is_idle:
            yield first
            continue
        rest = next(parts, None)
        if rest is not None and rest.first_line == first.lines:
            yield Block(
                first.data + rest.data,
                first.first_line,
                first.lines + rest.lines,
                first.truncated + rest.truncated,
                (*first.torn, *rest.torn),
            )
        else:
            yield first
            if rest is not None:
                yield rest


def stretch_blocks(
    source: Source,
    problem: Callable[[InputError], None],
    repair: BlockRepair,
    begins: Callable[[bytes], bool],
    first_line: int = 0,
) -> Iterator[Block]:
    """Yield the blocks of a stretch of a file that `is_plain`; `first_line` lines of the log are before it."""
    with _reported(source.name, problem), source.open() as reader:
        lines = BorrowedReader(reader) if source.begins else Transcoded(BorrowedReader(reader))
        yield from repair.blocks(lines, begins, first_line)


@contextmanager
def _reported(name: str, problem: Callable[[InputError], None]) -> Iterator[None]:
    """Pass a fault while an input is opened or read to `problem`; it ends the input."""
    try:
        yield
    except InputError as error:
        problem(error)
    except (OSError, EOFError) as error:
        problem(InputError(name, f"only partly read ({error}); what was read is used"))


def _repaired(block: Block, text_repair: TextRepair) -> Block:
    repaired = text_repair.repair(block.data)
    torn = tuple(block.first_line + line for line in repaired.torn)
    return Block(repaired.data, block.first_line, block.lines, block.truncated + repaired.cut, torn)
