r"""Lines that are one text, looked through together: a value may stand on the line below its name.

    Mar 14 08:10:10 worker-1 agent[7]: password: |
    Mar 14 08:10:10 worker-1 agent[7]:   …

Each may stand behind a carrier of its own, as journald writes what a program prints over several lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.carriers.peel import peel
from kvdiag.model.record import LogRecord
from kvdiag.model.values import Level
from kvdiag.safe.secrets import may_hold_secret, redacted, redacted_lines

MOST_LINES = 200  # lines of a text, looked through at once
# A line that says by its beginning that it goes on with none above it.
_BEGINS = lazy_regex(
    r"[IWEF]\d{4} \d\d:|[A-Z][a-z]{2} [ \d]\d \d\d:|\d{4}[-/]\d\d[-/]\d\d[T ]|time=|ts=|\{\"|<\d{1,3}>|\[ *\d+\.\d"
)

_DOCKER = lazy_regex(r"\{\"log\": ?\"(?P<body>(?:[^\"\\]|\\.)*?)(?:\\r)?(?:\\n)?\"(?=,|\})")


class Part(NamedTuple):
    """A line as what its carrier wrote, what that carries, and what the carrier wrote behind it."""

    head: str
    body: str
    tail: str


def group_lines(lines: Iterable[str]) -> Iterator[list[Part]]:
    """Lines with those that go on with them."""
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
    """The lines of a group without the secrets of each, and without those that another one of them tells."""
    widths = [0 if part.tail.strip() else len(part.head + part.body) for part in group]  # one with a tail is whole
    bodies = redacted_lines([part.body for part in group], widths)
    shown = (part.head + body + part.tail for part, body in zip(group, bodies, strict=True))
    # What a carrier wrote rarely holds a secret or the name of one; looking all through again takes as long as before.
    return [
        redacted(line) if part.head and may_hold_secret(part.head + part.tail) else line
        for part, line in zip(group, shown, strict=True)
    ]


class Redactor:
    """Redacts lines as they come, each together with those above it: in pieces a secret could not be told."""

    def __init__(self) -> None:
        """No line was seen yet."""
        self._above: list[str] = []

    def lines(self, lines: list[bytes]) -> list[bytes]:
        """Give the next lines without secrets."""
        texts = [*self._above, *(line.decode("utf-8", "surrogateescape") for line in lines)]
        groups = list(group_lines(texts))
        shown = [line for group in groups for line in without_secrets(group)]
        above = len(self._above)
        self._above = texts[max(len(texts) - len(groups[-1]), len(texts) - MOST_LINES // 2) :] if groups else []
        while self._above and not self._above[-1]:
            self._above.pop()  # the end of the last line is no line
        return [line.encode("utf-8", "surrogateescape") for line in shown[above:]]


def redact_texts(texts: Sequence[str]) -> list[str]:
    """Texts that stand below each other, without the secrets of each and those that the one above it tells."""
    return redacted_lines(texts, [len(text) for text in texts])


def redacted_records(records: Iterable[LogRecord]) -> Iterator[LogRecord]:
    """Records whose messages have no secrets that one above them tells; those of each alone are for who shows them."""
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
    """A line taken apart; one that no carrier wrote is all body."""
    text = line.rstrip("\r\n")
    end = line[len(text) :]
    docker = _DOCKER.match(text)
    if docker:  # what it carries stays as JSON has it
        return Part(text[: docker.start("body")], docker["body"], text[docker.end("body") :] + end)
    written = text.encode("utf-8", "surrogateescape")
    peeled = peel(written)
    if peeled.carrier == "plain" or not peeled.body or not written.endswith(peeled.body):
        return Part("", text, end)
    head = written[: -len(peeled.body)].decode("utf-8", "surrogateescape")
    return Part(head, text[len(head) :], end)
