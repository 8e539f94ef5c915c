"""Read `events` of a rule file: which events its names stand for.

failed: {kind: [unmount-errors, csi.call.failed], cause: EBUSY, any: [{driver: "*.a.org"}, {node: "worker-*"}]}
boom: {line: "my driver says {error}", anchor: "my driver says"}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from kvdiag.base.decode import Record, each, line, one_or_more
from kvdiag.base.suggestions import suggestion
from kvdiag.base.yamlread import Node, Word
from kvdiag.model.rule import Selector, Where
from kvdiag.model.values import EMPTY
from kvdiag.model.vocabulary import Entry, Wording

Groups = Mapping[str, tuple[str, ...]]
SelectorsAndLines = tuple[dict[str, Selector], tuple[Entry, ...]]

GLOB_BECAUSE = "glob-because"
RESERVED_KEYS = ("any", GLOB_BECAUSE)  # keys that do not name a value of a line


class _Line(NamedTuple):
    """The keys of a raw line."""

    line: Word
    anchor: str
    fields: Mapping[str, str] = EMPTY
    component: str = ""
    verbosity: int = 0
    scope: Literal["subject", "node"] = "subject"
    poll: bool = False
    place: str = ""


_LINE = Record(_Line)
LINE_KEYS = _LINE.keys
_TEXTS = one_or_more(Node.text)


def read_groups(node: Node) -> Groups:
    """Return the named groups of kinds of a `kinds.yaml`. Raise PatternError for a name with a dot, which is a kind."""
    groups: dict[str, tuple[str, ...]] = {}
    for name, child in node.table().items():
        if "." in name:
            raise child.error(f"'{name}' is not a name for a group: kinds have dots, groups have none")
        groups[name] = each(Node.text)(child)
    return groups


def read_events(node: Node, rule: str, groups: Groups) -> SelectorsAndLines:
    """Return the selectors of a rule, and the entries of its raw lines."""
    selectors: dict[str, Selector] = {}
    lines: list[Entry] = []
    for name, item in node.table().items():
        keys = item.table()
        if "line" in keys:
            entry = _line_entry(item, rule, name)
            lines.append(entry)
            selectors[name] = _selector(name, (entry.kind,), keys, LINE_KEYS)
        elif "kind" in keys:
            selectors[name] = _selector(name, tuple(_kinds(keys["kind"], groups)), keys, ("kind",))
        else:
            raise item.error(f"{name!r} has neither 'kind' nor 'line'")
    return selectors, tuple(lines)


def _kinds(node: Node, groups: Groups) -> Iterable[str]:
    """Yield the named kinds; a word without a dot stands for its group."""
    for item in _items(node):
        word = item.text()
        if word not in groups and "." not in word:
            raise item.error(f"unknown group of kinds {word!r}{suggestion(word, groups)}")
        yield from groups.get(word, (word,))


def _items(node: Node) -> tuple[Node, ...]:
    return node.sequence() if isinstance(node.value, tuple) else (node,)


def _at_least_one(node: Node) -> tuple[Node, ...]:
    items = _items(node)
    if not items:
        raise node.error("expected at least one item")
    return items


def _selector(name: str, kinds: tuple[str, ...], keys: Mapping[str, Node], reserved: tuple[str, ...]) -> Selector:
    return Selector(
        name=name,
        kinds=kinds,
        where=_where(keys, (*reserved, *RESERVED_KEYS)),
        any_of=tuple(_where(item.table(), ()) for item in _at_least_one(keys["any"])) if "any" in keys else (),
        glob_because=line(keys[GLOB_BECAUSE]) if GLOB_BECAUSE in keys else "",
    )


def _where(keys: Mapping[str, Node], reserved: tuple[str, ...]) -> Where:
    return {key: _TEXTS(value) for key, value in keys.items() if key not in reserved}


def _line_entry(item: Node, rule: str, name: str) -> Entry:
    if "anchor" not in item.table():
        raise item.error(f"the line of {name!r} needs an anchor: a literal part of it for the scanner to look for")
    line = _LINE(item.only(LINE_KEYS))
    wording = Wording(line.anchor, str(line.line), line.fields, verbosity=line.verbosity, place=line.line.place)
    return Entry(
        kind=f"line.{rule}.{name.replace('_', '-')}",
        component=line.component,
        wordings=(wording,),
        verbosity=line.verbosity,
        scope=line.scope,
        poll=line.poll,
        place=line.place,
    )
