r"""Redact secrets whose value is on the line below their name.

    Mar 14 08:10:10 worker-1 agent[7]: password: |
    Mar 14 08:10:10 worker-1 agent[7]:   …

Each line may have its own carrier prefix, as journald adds one to every line of a multi-line message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.carriers.peel import peel
from kvdiag.model.record import LogRecord
from kvdiag.model.values import Level
from kvdiag.safe.secrets import may_hold_secret, redacted, redacted_lines

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
    widths = [
        0 if part.tail.strip() else len(part.head + part.body) for part in group
    ]  # a line with a suffix is complete
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
