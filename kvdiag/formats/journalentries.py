"""The journal's modes that spread one entry over many lines: -o export, -o verbose and -o json-pretty.

    __REALTIME_TIMESTAMP=1795208969265106
    _HOSTNAME=worker-1
    SYSLOG_IDENTIFIER=kubelet
    MESSAGE=I1120 21:09:29.265106   17849 server.go:1] "Started kubelet"

verbose opens an entry by its date and indents the fields by four spaces, json-pretty indents by a TAB. A field that is
not printable has a length and raw bytes in export; such a message may hold line breaks and is read as far as the first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kvdiag.formats.carriers.carrier import Peeled
from kvdiag.formats.carriers.envelopes import journal_entry
from kvdiag.formats.carriers.prefixes import zoned
from kvdiag.regex import lazy_regex

_FIELD = lazy_regex(rb'(?:    )?([A-Z_][A-Z0-9_]{1,63})=(.*)|\t"([A-Z_][A-Z0-9_]{1,63})" : (.*?),?$', re.DOTALL)
_OPENING = lazy_regex(
    rb"(__CURSOR=s=[0-9a-f])|\{$|\S{2,12} (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}) (\S{1,6}) \[s=[0-9a-f]{8}"
)
_BINARY = b"MESSAGE"
_LENGTH_BYTES = 8
_MOST_LINES = 400


class Entry(NamedTuple):
    """A line as it stands, or a journal entry made of several: number of its MESSAGE line, what carried it, bytes."""

    number: int
    peeled: Peeled | None
    raw: bytes


def is_member(line: bytes) -> bool:
    """Whether a line is the opening, a field or the end of such an entry."""
    return bool(_FIELD.match(line) or _OPENING.match(line)) or line in (b"}", _BINARY)


def joined(lines: Iterable[tuple[int, bytes]]) -> Iterator[Entry]:
    """Give ordinary lines as they are, and one `Entry` with a `Peeled` for each entry that is spread over lines."""
    held: _Held | None = None
    for number, line in lines:
        text = line.rstrip(b"\r\n")
        opening = _OPENING.match(text)
        if held is not None and not opening and held.add(number, text):
            continue
        if held is not None:
            yield from held.entries()
            held = None
            if text in (b"", b"}"):
                continue
        if opening:
            held = _Held(number, text, opening)
        else:
            yield Entry(number, None, text)
    if held is not None:
        yield from held.entries()


class _Held:
    """The lines of an entry that is being read."""

    def __init__(self, number: int, text: bytes, opening: re.Match[bytes]) -> None:
        self._lines = [(number, text)]
        self._fields: dict[str, object] = {}
        self._message: tuple[int, bytes] = (number, text)
        self._binary = False
        _, clock, zone = opening.groups()
        if clock:
            self._fields["__REALTIME_TIMESTAMP"] = str(zoned(clock, zone))

    def add(self, number: int, text: bytes) -> bool:
        """Add a field; False when the line is none, so that the entry has ended."""
        if len(self._lines) > _MOST_LINES:
            return False
        found = _FIELD.match(text)
        if self._binary:
            self._set("MESSAGE", text[_LENGTH_BYTES:].decode("utf-8", "replace"), number, text)
            self._binary = False
        elif text == _BINARY:
            self._binary = True
        elif found is None:
            return False
        elif found.group(1) is not None:
            self._set(found.group(1).decode(), found.group(2).decode("utf-8", "replace"), number, text)
        else:
            self._set(found.group(3).decode(), _loaded(found.group(4)), number, text)
        self._lines.append((number, text))
        return True

    def entries(self) -> Iterator[Entry]:
        """Give the entry, or its lines when there was no message in them: then it was none."""
        peeled = journal_entry(self._fields) if "MESSAGE" in self._fields else None
        if peeled is None:
            yield from (Entry(number, None, text) for number, text in self._lines)
        else:
            number, text = self._message
            yield Entry(number, peeled, text)

    def _set(self, key: str, value: object, number: int, text: bytes) -> None:
        if key == "MESSAGE":
            self._message = (number, text)
        self._fields.setdefault(key, value)


def _loaded(value: bytes) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
