"""Rewrite lists of events or pods in YAML, as `kubectl get events -o yaml` and must-gather write them, to lines.

    apiVersion: v1
    items:
    - apiVersion: v1
      count: 13
      involvedObject:

Only one event is in memory at a time. A truncated or invalid one is passed through as lines. A single pod, as `kubectl
get pod NAME -o yaml` prints it, is read as a list of one. In a part of such a document a message over several lines is
joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvdiag.base.errors import PatternError
from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.lines import Line, LineRewriter, Lines, json_line
from kvdiag.inputs.status_events import events_of, is_pod

_LONGEST_EVENT = 256 << 10  # bytes; a longer one is passed through as lines
_START = lazy_regex(
    rb"(?:\xef\xbb\xbf)?(?:---[^\n]{0,200}\n)?(?:apiVersion: \S{1,60}\s*\n)?(?:kind: \w{0,60}List\s*\n)?"
    rb"items:[ \r]*\n {0,8}- "
)
_ALONE = lazy_regex(rb"(?:\xef\xbb\xbf)?(?:---[^\n]{0,200}\n)?apiVersion: v1 *\r?\nkind: Pod *\r?\n")
_ENDED = lazy_regex(rb"(?s)\nstatus: *\r?\n.*?(?<=\n) {2,8}containerStatuses: *\r?\n")
_ABOUT = lazy_regex(rb"\n *(?:involvedObject|regarding): *\r?\n")
_POD = lazy_regex(rb"(?s)(?:\n|- ) *kind: Pod\s.*?\n *(?:containers|containerStatuses):")
_POD_KEY = lazy_regex(rb"^ *(?:phase|containerStatuses):", re.MULTILINE)
_POD_KEYS = {b"metadata": (b"name:", b"namespace:"), b"spec": (b"nodeName:",)}  # of a pod, besides its status
_AROUND = lazy_regex(rb"---|(?:apiVersion|kind|items|metadata): *| +(?:resourceVersion|selfLink): ")
_MESSAGE_KEY = lazy_regex(rb"^(?: *- | +)(?:message|note):", re.MULTILINE)


_FOLDED = lazy_regex(
    rb"(?m)^( *)(?:- )?message: (?:(['\"])(?!.*\2[ \r]*$)\S.*|(?!\|)[^'\"\s].*)\n"
    rb"(?=(?:\1 {1,8})(?![ \r\n])(?![A-Za-z]+: ).)"
)
_WHOLE = lazy_regex(rb"(?m)^(?:- )?apiVersion: ")
_STATUS = lazy_regex(rb"(?m)^ *(?:- )?(?:reason|exitCode|lastTransitionTime): ")
_BLOCK = lazy_regex(rb"^>[-+\d]{0,2} ")
_MESSAGE = lazy_regex(rb"( *)(?:- )?message: +(?!\|[-+\d]{0,2}\s*$)(\S.*)")  # a literal block is output
_ESCAPED = lazy_regex(rb"\\(.)")  # in double quotes
_BREAKS = {b"n": b" ", b"r": b"", b"t": b" "}


def detect(head: bytes) -> LineRewriter | None:
    """Return the rewriter if the first bytes are those of such a list, or of a pod with its status."""
    if _ALONE.match(head) and _ENDED.search(head):
        return _pod
    if _START.match(head) and (_ABOUT.search(head) or _POD.search(head)):
        return _events
    is_part = _STATUS.search(head) and not _WHOLE.search(head)
    return _joined if is_part and _FOLDED.search(head) else None


def _events(lines: Lines) -> Iterator[Line]:
    """Yield the events of a list as JSON, each at the line of its message, and other lines except the list's frame."""
    held, number, before = bytearray(), 0, 0
    while piece := lines.piece():
        at = lines.number + (not piece.endswith(b"\n"))
        inner = piece.lstrip(b" ")
        indented = len(piece) - len(inner)
        if held and (indented > before or not inner.strip()) and len(held) < _LONGEST_EVENT:
            held += piece
            continue
        if held:
            yield from _event(bytes(held), number)
            held.clear()
        if inner.startswith(b"- "):
            held += piece
            number, before = at, indented
        elif inner.strip() and not _AROUND.match(piece):
            yield at, piece.rstrip(b"\r\n")
    if held:
        yield from _event(bytes(held), number)


def _joined(lines: Lines) -> Iterator[Line]:
    """Yield each message with the lines below it that are indented further, and all other lines unchanged."""
    held, number, indent = b"", 0, 0
    while (line := lines.next()) is not None:
        if held and len(line) - len(line.lstrip(b" ")) > indent and line.strip() and len(held) < _LONGEST_EVENT:
            is_split = held.startswith(b'"') and held.endswith(b"\\")  # in a word, or before a blank, which is escaped
            held = held[:-1] + line.strip() if is_split else held + b" " + line.strip()
            continue
        if held:
            yield number, _unquoted(held)
        found = _MESSAGE.match(line)
        held, number, indent = (found[2].rstrip(), lines.number, len(found[1])) if found else (b"", 0, 0)
        if not found:
            yield lines.number, line
    if held:
        yield number, _unquoted(held)


def _unquoted(value: bytes) -> bytes:
    """Return the text of a scalar on one line, without the quotes around it or the sign of a block in front of it."""
    value, quote = _BLOCK.sub(b"", value), value[:1]
    if len(value) < 2 or quote not in {b"'", b'"'} or not value.endswith(quote):
        return value
    if quote == b"'":
        return value[1:-1].replace(b"''", b"'")
    return _ESCAPED.sub(lambda found: _BREAKS.get(found[1], found[1]), value[1:-1]).rstrip()


def _pod(lines: Lines) -> Iterator[Line]:
    """Yield the events of a single pod; a too long document, and the lines after it, unchanged."""
    held, first, is_inside, begins = bytearray(), 0, True, True
    while piece := lines.piece():
        at = lines.number + (not piece.endswith(b"\n"))
        is_mark = begins and piece.startswith(b"---")
        if held and (is_mark or len(held) >= _LONGEST_EVENT):
            yield from _event(bytes(held), first)
            held.clear()
            is_inside = False
        if not is_inside:
            yield at, piece.rstrip(b"\r\n")
        elif not is_mark:
            first = at if not held else first
            held += (b"  " if held else b"- ") * begins + piece.removeprefix(b"\xef\xbb\xbf")
        begins = piece.endswith(b"\n")
    if held:
        yield from _event(bytes(held), first)


def _event(item: bytes, number: int) -> Iterator[Line]:
    """Yield one item of a list as events; invalid YAML, or a too long item, as its lines."""
    from kvdiag.base.yamlread import read_yaml

    text = _status_lines(item) if _POD.search(item) else item
    try:
        (event,) = read_yaml(text.decode("utf-8", "replace"), "").sequence() if len(item) < _LONGEST_EVENT else ()
    except (PatternError, ValueError):
        yield from enumerate(item.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n"), number)
        return
    plain = event.plain()
    is_of_pod = isinstance(plain, dict) and is_pod(plain)
    message_key = (_POD_KEY if is_of_pod else _MESSAGE_KEY).search(item)
    place = number + item.count(b"\n", 0, message_key.start() if message_key else 0)
    for one in events_of(plain) if is_of_pod and isinstance(plain, dict) else (plain,):
        yield place, json_line(one)


def _status_lines(item: bytes) -> bytes:
    """Return the lines of a pod with its name, node and status; parsing all takes ten times as long."""
    lines = item.split(b"\n")
    indent = len(lines[0]) - len(lines[0].lstrip(b" -"))
    kept = []
    key = b""
    for number, line in enumerate(lines):
        inner = line.lstrip(b" -" if not number else b" ")
        depth = indent if not number else len(line) - len(inner)
        if depth == indent and inner:
            key = inner.partition(b":")[0]
        if key not in _POD_KEYS or depth == indent or (depth == indent + 2 and inner.startswith(_POD_KEYS[key])):
            kept.append(line)
    return b"\n".join(kept)
