"""Survey how many lines of an input have a known format: all of the first blocks and the last, then one block in 48.

The analysis reads only lines with hits. An unknown format, or a damaged second half of a file, would not be noticed
without classifying a sample of all lines (0.5 µs each).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.registry import HEAD, classify, read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.inputs.scan.blocks import Block

if TYPE_CHECKING:
    from kvdiag.events.snapshots.fact import SnapshotFact
    from kvdiag.events.snapshots.outputs import CommandOutput

WHOLE = 4  # blocks that are classified completely before sampling begins
EVERY = 48
LOOKED_AT = 16  # lines of a block whose format is read
# How the output of a command begins of which `kvdiag.events.snapshots.outputs` reads facts.
_PRINTED = lazy_regex(
    rb"(?:\* )?(?:[ih]i  |Name: {2}|Linux \S+ \d|Client Version: |NAME +STATUS|CONTAINER|POD ID|SANDBOX ID|\|"
    rb"|[0-9a-f]{13} |Kubernetes v\d|containerd \S+\.\S|\S{1,200}\.(?:x86_64|aarch64)\s*$)"
)


class Surveyed(NamedTuple):
    """The result of a survey, in 200 bytes; the counters take 2 KB, and a bundle may have 100,000 logs.

    `records` and `unread` are lines, scaled to the whole input where it was `sampled`; `format` is the commonest body
    inside its carrier, such as `journal-short/klog`, and `node` the host that its lines name most, or empty.
    """

    lines: int
    records: int
    unread: int
    truncated: int
    format: str
    node: str
    sampled: bool


class Survey:
    """Counts lines by class and format in the sampled blocks; `scaled` extrapolates to the whole input."""

    def __init__(self, *, is_bare: bool = False, line_of: Callable[[int], int] = int, whole: int = WHOLE) -> None:
        """`is_bare` when each line is a record though it is in no format, as dmesg prints them without times.

        All lines of the first `whole` blocks are classified.

        `line_of` gives the line of the input that a line of a block stands for.
        """
        self._is_bare, self._line_of, self._whole = is_bare, line_of, whole
        self._output: CommandOutput | None = None
        self.lines = self.looked_at = self.truncated = 0
        self.classes, self.formats = Counter[str](), Counter[str]()
        self.carriers, self.nodes = Counter[str](), Counter[str]()
        self._number = 0
        self._skipped: Block | None = None

    def add(self, block: Block) -> None:
        """Add the next block of the input."""
        self.lines += block.lines
        self.truncated += block.truncated
        if self._number < self._whole or self._number % EVERY == 0:
            self._classify_lines(block)
            self._skipped = None
        else:
            self._skipped = block
        self._number += 1

    def pass_over(self, blocks: Iterable[Block]) -> None:
        """Count the lines of a section that is no log; only facts are read from it."""
        for block in blocks:
            self._find_facts(enumerate(block.data.split(b"\n"), block.first_line + 1))
            self.lines += block.lines
            self.truncated += block.truncated
        self.looked_at = self.classes["unread"] = self.lines

    def count_as_text(self) -> None:
        """Count a section as text that is not expected to be a log: a table, output of another program."""
        self.formats["text"] += 1

    def close(self) -> None:
        """Finish: classify the last block, which is always in the sample."""
        if self._skipped is not None:
            with suppress(KeyError):  # its line numbers in a rewritten input may be dropped already
                self._classify_lines(self._skipped)
            self._skipped = None

    @property
    def facts(self) -> Sequence[SnapshotFact]:
        """Return the facts in output of commands between the lines of the log."""
        return () if self._output is None else self._output.facts

    @property
    def sampled(self) -> bool:
        """Return whether only a sample of the lines was classified."""
        return self.looked_at < self.lines

    def scaled(self, what: str) -> int:
        """Return how many lines of the input are of a class; exact if all lines were classified."""
        return round(self.classes[what] * self.lines / self.looked_at) if self.looked_at else 0

    @property
    def result(self) -> Surveyed:
        """Return the result so far."""
        node = self.nodes.most_common(1)[0][0] if self.nodes else ""
        records, unread = self.scaled("head"), self.scaled("unread")
        return Surveyed(self.lines, records, unread, self.truncated, self.format, node, self.sampled)

    @property
    def format(self) -> str:
        """Return the most common format with its carrier: `klog`, `journal-short/klog`."""
        body = self.formats.most_common(1)[0][0] if self.formats else "unknown"
        carrier = self.carriers.most_common(1)[0][0] if self.carriers else "plain"
        return body if carrier == "plain" else f"{carrier}/{body}"

    def _classify_lines(self, block: Block) -> None:
        lines = block.data.split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        self.looked_at += len(lines)
        numbers: Sequence[int] = range(block.first_line + 1, block.first_line + 1 + len(lines))
        blank = lines.count(b"")
        if blank:  # a log may have millions of them
            self.classes[classify(b"")] += blank
            numbers = [number for number, line in zip(numbers, lines, strict=True) if line]
            lines = [line for line in lines if line]
        classes = list(map(classify, lines))
        if self._is_bare:
            classes = ["head" if one == "unread" else one for one in classes]
        self.classes.update(classes)
        heads = [line for line, line_class in zip(lines, classes, strict=True) if line_class == "head"]
        for line in heads[:: max(1, len(heads) // LOOKED_AT)]:
            peeled = peel(line)
            body = read_body(peeled.body)
            self.formats[body.format if body else "plain"] += 1
            self.carriers[peeled.carrier] += 1
            if peeled.node:
                self.nodes[peeled.node] += 1
        self._find_facts(compress(zip(numbers, lines, strict=True), (one != HEAD for one in classes)))

    def _find_facts(self, lines: Iterable[tuple[int, bytes]]) -> None:
        """Read facts in output of commands between the lines of the log."""
        for number, line in lines:
            if self._output is None:
                if not _PRINTED.match(line):
                    continue
                from kvdiag.events.snapshots.outputs import CommandOutput  # 3 ms, which few logs need

                self._output = CommandOutput()
            self._output.add(self._line_of(number), line.decode("utf-8", "replace"))
