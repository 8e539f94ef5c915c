r"""Lines that are one text, looked through together: a value may stand on the line below its name.

    Mar 14 08:10:10 worker-1 agent[7]: password: |
    Mar 14 08:10:10 worker-1 agent[7]:   …

Each may stand behind a carrier of its own, as journald writes what a program prints over several lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kvdiag.formats.carriers.peel import peel
from kvdiag.model.record import LogRecord
from kvdiag.model.values import Level
from kvdiag.redaction.secrets import redacted
from kvdiag.regex import lazy_regex

MOST_TOGETHER = 200  # lines of a text, looked through at once
# A line that says by its beginning that it goes on with none above it.
_BEGINS = lazy_regex(
    r"[IWEF]\d{4} |[A-Z][a-z]{2} [ \d]\d \d\d:|\d{4}[-/]\d\d[-/]\d\d[T ]|time=|ts=|\{\"|<\d{1,3}>|\[ *\d+\.\d"
)


def together(lines: Iterable[str]) -> Iterator[list[tuple[str, str]]]:
    """Lines with those that go on with them, each as what its carrier wrote and what that carries."""
    group: list[tuple[str, str]] = []
    for line in lines:
        head = _head(line)
        goes_on = (
            not _BEGINS.match(line)
            if not head
            else bool(group and group[-1][0]) and not _BEGINS.match(line[len(head) :])
        )
        if group and (len(group) >= MOST_TOGETHER or not goes_on):
            yield group
            group = []
        group.append((head, line[len(head) :]))
    if group:
        yield group


def redacted_together(texts: Sequence[str]) -> list[str]:
    """Texts that stand below each other, without the secrets of each and those that the one above it tells."""
    safe = redacted("\n".join(texts)).split("\n")
    return safe if len(safe) == len(texts) else [redacted(text) for text in texts]


def redacted_records(records: Iterable[LogRecord]) -> Iterator[LogRecord]:
    """Records whose messages have no secrets that one above them tells; those of each alone are for who shows them."""
    group: list[LogRecord] = []
    for record in records:
        if group and (len(group) >= MOST_TOGETHER or not _goes_on(record, group[-1])):
            yield from _group(group)
            group = []
        group.append(record)
    yield from _group(group)


def _goes_on(record: LogRecord, above: LogRecord) -> bool:
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
    messages = redacted_together([record.message for record in group])
    yield from (record._replace(message=message) for record, message in zip(group, messages, strict=True))


def _head(line: str) -> str:
    """What a carrier wrote before the text of a line; nothing where there is none, or it escapes what it carries."""
    text = line.rstrip("\r\n").encode("utf-8", "surrogateescape")
    peeled = peel(text)
    if peeled.carrier == "plain" or not peeled.body or not text.endswith(peeled.body):
        return ""
    return text[: -len(peeled.body)].decode("utf-8", "surrogateescape")
