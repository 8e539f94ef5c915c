"""Rewrite JSON documents that contain a log, as lists of entries or objects with many lines, to one line an entry.

Grafana, Google Cloud and `jq -s` export one list, CloudWatch and Elasticsearch an object with a list in it, `jq` and
`kubectl` objects of many lines. A tokenizer reads documents of any size, with one entry in memory at a time. Of a
truncated or invalid document the entries before the fault are used; text that is no entry is passed through as lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.lines import Line, LineRewriter, Lines, json_line
from kvdiag.inputs.status_events import events_of, is_pod

_LONGEST_ENTRY = 4 << 20  # bytes; a longer entry is passed through as lines
_LONGEST_KEY = 64
_DEEPEST = 64
# Paths of the lists that contain the entries.
_LISTS = frozenset((
    *((), ("events",), ("items",), ("entries",), ("logs",), ("results",)),
    *(("hits", "hits"), ("data", "result", "values")),
))  # fmt: skip
_START = lazy_regex(
    rb'(?:\xef\xbb\xbf)?\s*(?:\[\s*(?:\{\s*"|\[\s*"|"(?:[IWEF]\d{4} |time=|\w{3} [ \d]\d |\d{4}-\d\d-))|\{\s*\n\s*")'
)
_HOLDS_LIST = lazy_regex(
    rb'(?:\xef\xbb\xbf)?\s*\{[^\n]{0,4000}?"(?:events|items|entries|logs|results|values|hits)"\s*:\s*\[\s*(?:[{\[]|\])'
)
_LOG_FIELD = lazy_regex(rb'"(?:ts|time|msg|message|level|log|line|MESSAGE|__REALTIME_TIMESTAMP|__CURSOR)"\s*:')
_STRING = lazy_regex(rb'[^"\\]*+(?>(?:\\.[^"\\]*+)*)', re.DOTALL)
_TOKEN = lazy_regex(rb'["{}\[\]]')
_LOGGED = lazy_regex(
    rb'"(?:MESSAGE|message|line|textPayload|log)"\s*:\s*"[^"\n]{0,120}?(?:[IWEF]\d{4} \d\d:|time=\\"|level=[a-z])'
    rb'|[\[,]\s*"(?:[IWEF]\d{4} \d\d:|time=\\"\d)'
    rb'|"kind"\s*:\s*"(?:(?:Event(?:List)?|PodList)"|Pod"(?s:.){1,4000}?"(?:spec|metadata)"\s*:\s*\{)|"(?:[iI]nvolvedObject|regarding)"\s*:\s*\{'
)
# How `kubectl cluster-info dump` encloses the logs between its documents.
_LOG_BEGINS, _LOG_ENDS = b"==== START logs for container ", b"==== END logs for container "
_MESSAGE_KEY = lazy_regex(rb'"(?:MESSAGE|[mM]essage|line|textPayload|log|msg|note)"\s*:')
_POD_KEY = lazy_regex(rb'"(?:containerStatuses|phase)"\s*:')


def detect(head: bytes) -> LineRewriter | None:
    """Return the rewriter if the first bytes are those of such a document."""
    if _START.match(head):
        return _entries
    listed = _HOLDS_LIST.match(head)
    return _entries if listed and not _LOG_FIELD.search(head, 0, listed.end()) else None


def holds_log(head: bytes) -> bool:
    """Return whether the entries in the first bytes of such a document are log lines or events."""
    return _LOGGED.search(head) is not None


def _entries(lines: Lines) -> Iterator[Line]:
    document, is_log = _Document(), False
    while piece := lines.piece():
        number = lines.number + (not piece.endswith(b"\n"))
        is_log = is_log or (document.is_outside and piece.startswith(_LOG_BEGINS))
        if is_log or (document.is_outside and piece.lstrip()[:1] not in (b"{", b"[", b"")):
            yield number, piece.rstrip(b"\r\n")
            is_log = is_log and _LOG_ENDS not in piece
            continue
        yield from document.feed(piece, number)
    yield from document.remaining()


class _Open(NamedTuple):
    """A list or an object that is not closed yet, and its path of keys."""

    is_list: bool
    path: tuple[str, ...]


class _Document:
    """The position in a document, and the entry that is being read."""

    def __init__(self) -> None:
        self._stack: list[_Open] = []
        self._too_deep = 0
        self._in_string = self._escaped = False
        self._key = b""
        self._entry: _Entry | None = None
        self._last = 0  # the number of the last entry

    @property
    def is_outside(self) -> bool:
        """Return whether no document is open."""
        return not self._stack

    def feed(self, piece: bytes, number: int) -> Iterator[Line]:
        """Read a piece; yield the entries that end in it, and too long or invalid ones as lines."""
        at = begins = 0
        while at < len(piece):
            if self._in_string:
                at = self._through_string(piece, at)
                ends = not self._in_string and self._ends()
            else:
                found = _TOKEN.search(piece, at)
                if found is None:
                    break
                at = found.end()
                if found.group() in b'"{[' and self._begin(number):
                    begins = found.start()
                ends = self._accept(found.group())
            if ends and self._entry:
                self._entry.add(piece[begins:at])
                for number_of_entry, text in self._entry.rewritten(self._last):
                    self._last = number_of_entry
                    yield number_of_entry, text
                self._entry = None
        is_broken = self._is_broken(piece)
        if self._entry:
            self._entry.add(piece[begins:])
            yield from self._entry.lines(at_once=is_broken)
            self._entry = None if is_broken else self._entry

    def remaining(self) -> Iterator[Line]:
        """Yield the lines of an entry that is not complete at the end of the input."""
        if self._entry:
            yield from self._entry.lines(at_once=True)

    def _is_broken(self, piece: bytes) -> bool:
        """Return whether the line ends inside a string, which is invalid JSON: the entry ends there."""
        if not (self._in_string and piece.endswith(b"\n")):
            return False
        depth = self._entry.depth if self._entry else 0
        self._in_string, self._too_deep = False, 0
        del self._stack[depth:]
        return True

    def _through_string(self, piece: bytes, at: int) -> int:
        """Skip to the end of a string; keep its beginning, since it may be a key."""
        if self._escaped:
            at, self._escaped = at + 1, False
        found = _STRING.match(piece, at)
        end = found.end() if found else at
        self._key = (self._key + piece[at : min(end, at + _LONGEST_KEY)])[:_LONGEST_KEY]
        self._in_string = piece[end : end + 1] != b'"'
        self._escaped = self._in_string and end < len(piece)  # the piece ends after a backslash
        return end + 1

    def _accept(self, token: bytes) -> bool:
        """Process a quote or a bracket; return whether it ends the entry."""
        if token == b'"':
            self._in_string, self._key = True, b""
        elif token in b"{[":
            self._push(is_list=token == b"[")
        elif self._too_deep:
            self._too_deep -= 1
        elif self._stack:
            self._stack.pop()
            return self._ends()
        return False

    def _ends(self) -> bool:
        return self._entry is not None and len(self._stack) == self._entry.depth

    def _begin(self, number: int) -> bool:
        """Begin an entry if one can begin here: an item of a list of entries, or a whole document."""
        top = self._stack[-1] if self._stack else None
        if self._entry or not (top is None or (top.is_list and top.path in _LISTS)):
            return False
        self._entry = _Entry(number, len(self._stack))
        return True

    def _push(self, *, is_list: bool) -> None:
        if len(self._stack) >= _DEEPEST:
            self._too_deep += 1
            return
        above = self._stack[-1] if self._stack else None
        path = above.path if above else ()
        if above is not None and not above.is_list:
            key = self._key.decode("utf-8", "replace")
            path = (*path, key[:1].lower() + key[1:])
        self._stack.append(_Open(is_list, path))
        if is_list and path in _LISTS and self._entry and self._entry.depth == 0:
            self._entry = None  # the document is not an entry but contains the list of them


class _Entry:
    """An entry as far as it was read, with its first line and its depth in the document."""

    def __init__(self, number: int, depth: int) -> None:
        self.depth = depth
        self._number = number
        self._held = bytearray()
        self._is_given = False

    def add(self, piece: bytes) -> None:
        """Append the next bytes."""
        self._held += piece

    def rewritten(self, last: int) -> Iterator[Line]:
        """Yield the entry as one line, numbered as the line of its message; invalid JSON as it is.

        Where several entries are on one line, each has a number of its own: that after `last`.
        """
        try:
            entry = json.loads(self._held)
        except (ValueError, RecursionError):
            entry = None
        if entry is None or self._is_given:
            yield from self.lines(at_once=True)
            return
        is_of_pod = isinstance(entry, dict) and is_pod(entry)
        message_key = (_POD_KEY if is_of_pod else _MESSAGE_KEY).search(self._held)
        number = self._number + self._held.count(b"\n", 0, message_key.start() if message_key else 0)
        for text in _lines_of(entry):
            yield max(number, last + 1), text

    def lines(self, *, at_once: bool) -> Iterator[Line]:
        """Yield the lines of an entry that is invalid or too long."""
        if not at_once and len(self._held) < _LONGEST_ENTRY:
            return
        self._is_given = True
        lines = bytes(self._held).split(b"\n")
        self._held.clear()
        for offset, line in enumerate(lines):
            text = line.strip(b" \t\r").removesuffix(b",")
            if text:
                yield self._number + offset, text
        self._number += len(lines) - 1


def _lines_of(entry: object) -> Iterator[bytes]:
    """Yield an entry as log lines: texts as they are, objects as JSON; unwrap the formats of some exports."""
    if isinstance(entry, str):
        yield from entry.encode("utf-8", "replace").split(b"\n")
        return
    if isinstance(entry, dict) and isinstance(entry.get("_source"), dict):
        entry = entry["_source"]
    elif isinstance(entry, list):
        entry = _row(entry)
    if isinstance(entry, dict) and "InvolvedObject" in entry:
        entry = _in_lower_case(entry)
    if isinstance(entry, dict) and is_pod(entry):
        for event in events_of(entry):
            yield json_line(event)
        return
    yield json_line(entry)


def _in_lower_case(value: object) -> object:
    """Return an event with lower-case keys; dumps of Kubernetes up to 1.8 have Go's names (`InvolvedObject`)."""
    if not isinstance(value, dict):
        return value
    return {key[:1].lower() + key[1:]: _in_lower_case(inner) for key, inner in value.items()}


def _row(entry: list[object]) -> object:
    """Convert `["1795…", "line"]` of Loki and `[{"field": "@message", "value": …}, …]` of CloudWatch to an object."""
    if len(entry) >= 2 and isinstance(entry[0], str) and isinstance(entry[1], str):
        return {"timestamp": entry[0], "line": entry[1]}
    cells = [cell for cell in entry if isinstance(cell, dict) and "field" in cell]
    return {str(cell["field"]).lstrip("@"): cell.get("value") for cell in cells} if cells else entry
