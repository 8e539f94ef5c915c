"""One thing that a file beside the logs says, and the objects of Kubernetes in such a file, as JSON or as YAML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kvdiag.base.errors import PatternError
from kvdiag.base.regex import lazy_regex
from kvdiag.model.event import Ref
from kvdiag.model.record import NO_PROVENANCE, Provenance

if TYPE_CHECKING:
    from kvdiag.base.yamlread import Node

VERSION = "version.found"
DRIVER_SUFFIX = " CSI driver"  # behind a driver's name for people, where its version stands
SNAPSHOT_KINDS = frozenset((
    *(f"csi.state.{state}" for state in ("published", "unpublished", "staged", "unstaged")),
    *(f"attachment.{state}" for state in ("found", "waiting", "left")),
    *("mount.found", "sandbox.found", "container.found", VERSION, "node.hostname"),
))  # fmt: skip
"""The kinds of facts: what was true at the end, whose time is not known."""

_MOST_MISSED = 8  # each costs a look at the whole text
Plain = Mapping[str, object]
# The keys as kubectl and all of Go sort them; what a client has typed tells no kind of the members of a list.
_YAML = lazy_regex(
    r"(?:(?:---|\#)[^\n]*\n)*(?:apiVersion: \S+\n)?(?P<list>items:\n *- (?:apiVersion: \S+\n +)?)?"
    r"(?:kind: (?P<kind>\w+)|metadata:)\n"
)


class SnapshotFact(NamedTuple):
    """What a line says, as an event of that kind; `node` where the line names it.

    Of an object the line is the one where its name or value stands, `text` is short and not the line itself.
    """

    line: int
    kind: str
    text: str
    refs: tuple[Ref, ...] = ()
    attrs: Mapping[str, str] = {}
    node: str = ""


class Snapshot(NamedTuple):
    """The facts of one file."""

    source: str
    facts: Sequence[SnapshotFact]
    place: Provenance = NO_PROVENANCE


def version(line: int, component: str, version_text: str, text: str, node: str = "") -> SnapshotFact:
    """Make the fact that a component has a version."""
    return SnapshotFact(line, VERSION, text, (), {"component": component, "version": version_text}, node)


class Word(str):
    """A text of YAML, which knows its line."""

    __slots__ = ("line",)
    line: int


def begins_yaml(kind: str, name: str, head: str) -> bool:
    """Whether a text is YAML and begins as an object of a kind, or as a list of such; `name` is that of its file.

    A list that tells no kind is known by its file: `nodes.yaml`.
    """
    found = _YAML.match(head)
    if found is None:
        return False
    if found["kind"]:
        return found["kind"] in {kind, f"{kind}List"}
    return found["list"] is not None and name.rpartition("/")[2].startswith(f"{kind.lower()}s.")


def objects(text: str, key: str) -> Iterator[Plain]:
    """Give the objects of a list under a key, or the one object there is, from JSON or YAML.

    Raises ValueError for neither, in YAML behind the objects that stand before the fault.
    """
    if text.lstrip()[:1] not in {"{", "[", ""}:
        yield from _of_yaml(text, key)
        return
    root = json.loads(text)
    items = root.get(key, [root]) if isinstance(root, dict) else ()
    yield from (item for item in items if isinstance(item, dict)) if isinstance(items, list) else ()


def _of_yaml(text: str, key: str) -> Iterator[Plain]:
    from kvdiag.base.yamlread import read_items

    try:
        yield from (item for node in read_items(text, "line", key) if isinstance(item := _json_value(node), dict))
    except PatternError as fault:
        raise ValueError(str(fault)) from fault


def _json_value(node: Node) -> object:
    """Give a value of YAML as JSON has it, but for numbers: nobody asks for them."""
    if isinstance(node.value, Mapping):
        return {key: _json_value(child) for key, child in node.value.items()}
    if isinstance(node.value, tuple):
        return [_json_value(child) for child in node.value]
    if not node.quoted and node.value in {"true", "false"}:
        return node.value == "true"
    value = Word(node.value)
    value.line = node.line
    return value


def pair(key: str, value: str) -> str:
    """Give a key and its value as the file has them."""
    return f"{key}: {value}" if isinstance(value, Word) else f'"{key}": "{value}"'


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


class LineIndex:
    """Where in a text words stand, each behind the one before; after some that are not there nothing is looked for."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line, self._missed = text, 0, 1, 0

    def line_of(self, value: str, key: str = "") -> int:
        """Give the number of a value's line, in JSON of its key's if given; of one that is not there the last one's."""
        if isinstance(value, Word):
            return value.line
        searched = key or value
        at = self._text.find(json.dumps(searched), self._at) if self._missed < _MOST_MISSED else -1
        if at < 0:
            self._missed += 1
            return self._line
        self._line += self._text.count("\n", self._at, at)
        self._at = at + 1
        return self._line
