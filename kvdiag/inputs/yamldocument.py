"""Lists of events as YAML, as `kubectl get events -o yaml` and OpenShift's must-gather write them: an event a line.

    apiVersion: v1
    items:
    - apiVersion: v1
      count: 13
      involvedObject:

Each event is read alone: a list takes the memory of one of them. One that is cut or broken stays lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from kvdiag.inputs.lines import Line, Lines, Rewriting
from kvdiag.regex import lazy_regex

_LONGEST_EVENT = 256 << 10  # bytes; a longer one stays lines
_START = lazy_regex(
    rb"(?:\xef\xbb\xbf)?(?:---[^\n]{0,200}\n)?(?:apiVersion: \S{1,60}\s*\n)?(?:kind: \w{0,60}List\s*\n)?"
    rb"items:[ \r]*\n {0,8}- "
)
_ABOUT = lazy_regex(rb"\n *(?:involvedObject|regarding): *\r?\n")
_AROUND = lazy_regex(rb"---|(?:apiVersion|kind|items|metadata): *| +(?:resourceVersion|selfLink): ")
_SAID = lazy_regex(rb"^(?: *- | +)(?:message|note):", re.MULTILINE)


def fold(head: bytes) -> Rewriting | None:
    """Tell by the first bytes of an input whether it is such a list."""
    return _events if _START.match(head) and _ABOUT.search(head) else None


def _events(lines: Lines) -> Iterator[Line]:
    """The events of a list as JSON, each at the line of its message; of what is around them what tells anything."""
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


def _event(item: bytes, number: int) -> Iterator[Line]:
    """One item of a list; what is no YAML, or too long to be one event, as the lines it has."""
    from kvdiag.errors import PatternError
    from kvdiag.yamlread import read_yaml

    try:
        (event,) = read_yaml(item.decode("utf-8", "replace"), "").sequence() if len(item) < _LONGEST_EVENT else ()
    except (PatternError, ValueError):
        yield from enumerate(item.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n"), number)
        return
    said = _SAID.search(item)
    text = json.dumps(event.plain(), ensure_ascii=False, separators=(",", ":"))
    yield number + item.count(b"\n", 0, said.start() if said else 0), text.encode("utf-8", "replace")
