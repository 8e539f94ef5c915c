"""One thing that a file beside the logs says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kvdiag.model.event import Ref

VERSION = "version.found"
STANDING = frozenset((
    *(f"csi.state.{state}" for state in ("published", "unpublished", "staged", "unstaged")),
    *(f"attachment.{state}" for state in ("found", "waiting", "left")),
    *("mount.found", "sandbox.found", "container.found", VERSION, "node.hostname"),
))  # fmt: skip
"""The kinds of facts: what was true at the end, whose time is not known."""

_MOST_MISSED = 8  # each costs a look at the whole text
Plain = Mapping[str, object]


class Fact(NamedTuple):
    """What a line says, as an event of that kind; `node` where the line names it.

    In JSON the line is the one where the object's name stands, `text` is short and not the line itself.
    """

    line: int
    kind: str
    text: str
    refs: tuple[Ref, ...] = ()
    attrs: Mapping[str, str] = {}
    node: str = ""


def version(line: int, component: str, said: str, text: str, node: str = "") -> Fact:
    """Make the fact that a component has a version."""
    return Fact(line, VERSION, text, (), {"component": component, "version": said}, node)


def objects(text: str, key: str) -> Iterator[Plain]:
    """Give the objects of a list under a key, or the one object there is. Raises ValueError for no JSON."""
    root = json.loads(text)
    items = root.get(key, [root]) if isinstance(root, dict) else ()
    yield from (item for item in items if isinstance(item, dict)) if isinstance(items, list) else ()


def inner(item: Plain, *path: str) -> Plain:
    """Give the object at a path of keys, empty when there is none."""
    for key in path:
        found = item.get(key)
        item = found if isinstance(found, dict) else {}
    return item


def word(item: Plain, key: str) -> str:
    """Give a text value, empty when there is none."""
    value = item.get(key)
    return value if isinstance(value, str) else ""


class Lines:
    """Where in a text words stand, each behind the one before; after some that are not there nothing is looked for."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line, self._missed = text, 0, 1, 0

    def of(self, wanted: str) -> int:
        """Give the number of the line, that of the last one found when it is not there."""
        at = self._text.find(json.dumps(wanted), self._at) if self._missed < _MOST_MISSED else -1
        if at < 0:
            self._missed += 1
            return self._line
        self._line += self._text.count("\n", self._at, at)
        self._at = at + 1
        return self._line
