"""Redact logs: line by line, with secrets of several lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kvdiag.base.errors import skip_faults
from kvdiag.base.regex import lazy_regex
from kvdiag.formats.carriers.peel import peel
from kvdiag.inputs.folded import rewriting_reader
from kvdiag.inputs.journal import detect_export
from kvdiag.inputs.lines import LineMap
from kvdiag.inputs.readers import BorrowedReader
from kvdiag.inputs.repair import Transcoded
from kvdiag.inputs.scan.blocks import blocks
from kvdiag.inputs.scan.partial_lines import join_parts
from kvdiag.inputs.sniff import is_log_name
from kvdiag.inputs.source import STDIN, Source
from kvdiag.model.record import LogRecord
from kvdiag.model.values import Level
from kvdiag.safe.forms.pem import without_keys
from kvdiag.safe.secrets import REDACTED, may_hold_secret, redacted, redacted_lines

MOST_LINES = 200  # lines of a group that are searched together
# The beginning of a line that does not continue the line above.
_BEGINS = lazy_regex(
    r"[IWEF]\d{4} \d\d:|[A-Z][a-z]{2} [ \d]\d \d\d:|\d{4}[-/]\d\d[-/]\d\d[T ]|time=|ts=|\{\"|<\d{1,3}>|\[ *\d+\.\d"
)

_DOCKER = lazy_regex(r"\{\"log\": ?\"(?P<body>(?:[^\"\\]|\\.)*?)(?:\\r)?(?:\\n)?\"(?=,|\})")


class Part(NamedTuple):
    """A line split into the carrier's prefix, the text, and the carrier's suffix."""

    head: str
    body: str
    tail: str


def group_lines(lines: Iterable[str]) -> Iterator[list[Part]]:
    """Yield groups of lines that continue each other."""
    group: list[Part] = []
    is_carried = False
    for line in lines:
        part = _part(line)
        is_start = bool(_BEGINS.match(part.body))
        if group and (len(group) >= MOST_LINES or is_start or (bool(part.head) and not is_carried)):
            yield group
            group = []
        is_carried = bool(part.head) or (is_carried and bool(group))
        group.append(part)
    if group:
        yield group


def without_secrets(group: Sequence[Part]) -> list[str]:
    """Return the lines of a group without secrets, also those that only several lines together reveal."""
    # A line with a suffix is complete.
    widths = [0 if part.tail.strip() else len(part.head + part.body) for part in group]
    bodies = redacted_lines([part.body for part in group], widths)
    shown = (part.head + body + part.tail for part, body in zip(group, bodies, strict=True))
    # A carrier's prefix rarely contains a secret or the name of one, and searching it would double the time.
    return [
        redacted(line) if part.head and may_hold_secret(part.head + part.tail) else line
        for part, line in zip(group, shown, strict=True)
    ]


class Redactor:
    """Redacts lines as they come, together with the lines above them: some secrets span several lines."""

    def __init__(self) -> None:
        """Start without lines."""
        self._above: list[str] = []

    def lines(self, lines: list[bytes]) -> list[bytes]:
        """Return the next lines without secrets."""
        texts = [*self._above, *(line.decode("utf-8", "surrogateescape") for line in lines)]
        groups = list(group_lines(texts))
        shown = [line for group in groups for line in without_secrets(group)]
        above = len(self._above)
        self._above = texts[max(len(texts) - len(groups[-1]), len(texts) - MOST_LINES // 2) :] if groups else []
        while self._above and not self._above[-1]:
            self._above.pop()  # the text after the last newline is empty
        return [line.encode("utf-8", "surrogateescape") for line in shown[above:]]


def redact_texts(texts: Sequence[str]) -> list[str]:
    """Redact consecutive texts: secrets within each, and those announced by the text above."""
    return redacted_lines(texts, [len(text) for text in texts])


def redacted_records(records: Iterable[LogRecord]) -> Iterator[LogRecord]:
    """Redact secrets that the message above announces; the caller redacts each message itself."""
    group: list[LogRecord] = []
    for record in records:
        if group and (len(group) >= MOST_LINES or not _continues(record, group[-1])):
            yield from _group(group)
            group = []
        group.append(record)
    yield from _group(group)


def _continues(record: LogRecord, above: LogRecord) -> bool:
    is_bare = not record.caller and not record.fields and record.level is Level.INFO
    return is_bare and (record.origin.source, record.node, record.component) == (
        above.origin.source,
        above.node,
        above.component,
    )


def _group(group: Sequence[LogRecord]) -> Iterator[LogRecord]:
    if len(group) < 2:
        yield from group
        return
    messages = redact_texts([record.message for record in group])
    yield from (record._replace(message=message) for record, message in zip(group, messages, strict=True))


def _part(line: str) -> Part:
    """Split a line into prefix, text and suffix; without a carrier all of it is text."""
    text = line.rstrip("\r\n")
    end = line[len(text) :]
    docker = _DOCKER.match(text)
    if docker:  # the text stays escaped as in the JSON
        return Part(text[: docker.start("body")], docker["body"], text[docker.end("body") :] + end)
    written = text.encode("utf-8", "surrogateescape")
    peeled = peel(written)
    if peeled.carrier == "plain" or not peeled.body or not written.endswith(peeled.body):
        return Part("", text, end)
    head = written[: -len(peeled.body)].decode("utf-8", "surrogateescape")
    return Part(head, text[len(head) :], end)


Rewrite = Callable[[str], str]

PACKED = {".gz", ".bz2", ".xz", ".zst"}
ENDINGS = {".log", ".txt", ".json", ".yaml", ".yml", ".journal"}


@dataclass(slots=True)
class RedactionCounts:
    """Counts of the output: lines, redacted lines, cut lines, lines that are not text, and the first of these."""

    lines: int = 0
    secrets: int = 0
    cut: int = 0
    unread: int = 0
    first_unread: str = ""


def lines(source: Source, counts: RedactionCounts | None = None) -> Iterator[str]:
    """Yield the lines of a source, with their line ends."""
    counts = counts or RedactionCounts()
    with source.open() as reader:
        readable = rewriting_reader(Transcoded(BorrowedReader(reader)), LineMap(), (detect_export,))
        for block in without_keys(join_parts(blocks(readable))):
            counts.cut += block.truncated
            try:
                text = block.data.decode()
            except UnicodeDecodeError:
                text = block.data.decode("utf-8", "surrogateescape")
                _count_unreadable(text, source.name, block.first_line, counts)
            yield from _split(text)


def redacted_bytes(source: Source, change: Rewrite, counts: RedactionCounts) -> Iterator[bytes]:
    """Yield the lines of one source, redacted and changed. After a fault of kvdiag no further line is written."""
    with skip_faults(source.name, source.problem):
        for group in group_lines(lines(source, counts)):
            for part, line in zip(group, without_secrets(group), strict=True):
                shown = change(line or REDACTED)  # an empty last line without newline would vanish
                counts.lines += 1
                counts.secrets += line != part.head + part.body + part.tail
                yield shown.encode("utf-8", "surrogateescape")


def with_output_paths(found: Iterable[Source], folder: Path, change: Rewrite) -> Iterator[tuple[Source, Path]]:
    """Yield each source with its output file: under its own path, unpacked, never outside of the folder."""
    used: set[Path] = set()
    for source in found:
        parts = [part for part in Path(change(source.name)).parts if part not in {"/", ".", ".."}]
        path = folder.joinpath(*parts or [STDIN])
        path = path.with_suffix("") if path.suffix in PACKED else path
        path = _named_as_log(path, Path(source.name))
        while path in used:
            path = path.with_name(f"{path.name}.more")
        used.add(path)
        yield source, path


def _named_as_log(path: Path, was: Path) -> Path:
    """Return the path with the suffix and the word `log` of the old name, by which files are recognized as logs."""
    was = was.with_suffix("") if was.suffix in PACKED else was
    path = path.with_suffix(was.suffix) if was.suffix in ENDINGS and was.suffix != path.suffix else path
    return path.with_stem(f"{path.stem}-log") if is_log_name(was.name) and not is_log_name(path.name) else path


def _split(text: str) -> list[str]:
    """Split text into lines at newlines only."""
    lines = [line + "\n" for line in text.split("\n")]
    rest = lines.pop()[:-1]
    return [*lines, rest] if rest else lines


def _count_unreadable(text: str, name: str, first_line: int, counts: RedactionCounts) -> None:
    """Count the lines that are not text, and remember the place of the first."""
    for number, line in enumerate(text.split("\n"), first_line + 1):
        if any("\udc80" <= character <= "\udcff" for character in line):
            counts.unread += 1
            counts.first_unread = counts.first_unread or f"{name}:{number}"
