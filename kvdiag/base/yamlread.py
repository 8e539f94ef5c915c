"""YAML as a tree of nodes that have their place: `file:line:column`.

The tree is built from the parser's events and not by a loader: a word stays the word that was written (`kind: yes` is
the text "yes"), dates stay text, and anchors, aliases and tags, of which pattern files need none, are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from kvdiag.base.errors import PatternError
from kvdiag.base.regex import lazy_regex
from kvdiag.base.suggestions import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]

MAX_DEPTH = 40
_INTEGER = lazy_regex(r"[-+]?\d{1,18}")
_FLOAT = lazy_regex(r"[-+]?\d{1,18}\.\d{1,18}")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


class Word(str):
    """A text with its place: a key of a mapping, or a name that is checked when the rest of the file is read."""

    __slots__ = ("place",)
    place: str

    @classmethod
    def at(cls, text: str, place: str) -> Word:
        """Return the text with its place."""
        word = cls(text)
        word.place = place
        return word


class Node(NamedTuple):
    """One value of a file: a scalar's text, a tuple of nodes, or a mapping of nodes; with its place (from 1).

    `quoted` distinguishes `"12"` from `12`. Every method below raises PatternError at this place if the type is wrong.
    """

    value: str | tuple[Node, ...] | Mapping[str, Node]
    file: str
    line: int
    column: int
    quoted: bool = False

    @property
    def place(self) -> str:
        """Return `file:line:column`, as editors understand it."""
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def empty(self) -> bool:
        """Return whether the value is missing or null."""
        return not self.quoted and isinstance(self.value, str) and _WORDS.get(self.value, "") is None

    def error(self, problem: str) -> PatternError:
        """Return a PatternError at this place, for the caller to raise."""
        return PatternError(self.place, problem)

    def mapping(self, allowed: Collection[str], required: Collection[str] = ()) -> Mapping[str, Node]:
        """Return the children by key, if all keys are allowed and no required key is missing."""
        table = self.table()
        for key, child in table.items():
            if key not in allowed:
                place = key.place if isinstance(key, Word) else child.place
                raise PatternError(place, f"unknown key '{key}'{suggestion(key, allowed)}")
        for key in required:
            if key not in table:
                raise self.error(f"the key '{key}' is missing")
        return table

    def table(self) -> Mapping[str, Node]:
        """Return the children by key, with any keys."""
        if isinstance(self.value, Mapping):
            return self.value
        raise self.error(f"keys with values are expected here, not {self._describe()}")

    def sequence(self) -> tuple[Node, ...]:
        """Return the items of a list; a missing value is an empty list."""
        if isinstance(self.value, tuple):
            return self.value
        if self.empty:
            return ()
        raise self.error(f"a list is expected here, not {self._describe()}")

    def text(self) -> str:
        """Return the text as it was written; never empty."""
        if isinstance(self.value, str) and not self.empty and self.value:
            return self.value
        raise self.error(f"a text is expected here, not {self._describe()}")

    def scalar(self) -> str:
        """Return the text as it was written, which may be empty."""
        if isinstance(self.value, str):
            return self.value
        raise self.error(f"a text is expected here, not {self._describe()}")

    def word(self) -> Word:
        """Return the text with its place, for checks that need more of the file than this node."""
        return Word.at(self.text(), self.place)

    def only(self, keys: Collection[str]) -> Node:
        """Return the mapping with these of its keys."""
        return self._replace(value={key: child for key, child in self.table().items() if key in keys})

    def integer(self) -> int:
        """Return a whole number that is not in quotes."""
        if isinstance(self.value, str) and not self.quoted and _INTEGER.fullmatch(self.value):
            return int(self.value)
        raise self.error(f"a whole number is expected here, not {self._describe()}")

    def flag(self) -> bool:
        """Return true or false; `yes` and `on` are refused, since YAML 1.1 and 1.2 disagree about them."""
        if self.value in {"true", "false"} and not self.quoted:
            return self.value == "true"
        raise self.error(f"true or false is expected here, not {self._describe()}")

    def texts(self) -> Mapping[str, str]:
        """Return a mapping of texts, such as `{kubelet: ">=1.27"}`; a missing value is an empty one."""
        return {} if self.empty else {key: child.text() for key, child in self.table().items()}

    def places(self, path: str = "") -> Iterator[tuple[str, str]]:
        """Yield the path of each value, such as `fix.0.run`, with its place; for a list or mapping that of its key."""
        if isinstance(self.value, str):
            yield path, self.place
            return
        named = self.value.items() if isinstance(self.value, Mapping) else enumerate(self.value)
        for key, child in named:
            inner = f"{path}.{key}" if path else str(key)
            if isinstance(key, Word) and not isinstance(child.value, str):
                yield inner, key.place
            yield from child.places(inner)

    def plain(self) -> Plain:
        """Return the value without places; unquoted numbers, true, false and null become Python values."""
        if isinstance(self.value, tuple):
            return [child.plain() for child in self.value]
        if isinstance(self.value, Mapping):
            return {key: child.plain() for key, child in self.value.items()}
        return self.value if self.quoted else _plain_scalar(self.value)

    def _describe(self) -> str:
        if self.empty:
            return "nothing"
        if isinstance(self.value, str):
            return f"'{self.value[:40]}'"
        return "a list" if isinstance(self.value, tuple) else "keys with values"


def read_text(path: Path) -> str:
    """Return the text of a pattern file. Raises PatternError if it cannot be read or is not UTF-8."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PatternError(f"{path}:1:1", f"cannot be read: {error}") from None


def read_yaml(text: str, name: str) -> Node:
    """Parse the single document in `text` as a tree of nodes; `name` is the file name for messages.

    Raises PatternError with the place of a syntax error, a duplicate key, an anchor, alias or tag, or too deep nesting.
    """
    with _as_pattern_error(text, name):
        return _builder(text, name).document()


def read_items(text: str, name: str, key: str) -> Iterator[Node]:
    """Yield the items of the list under a key of each document, one at a time; of other documents the whole document.

    Only one item is in memory at a time. Raises PatternError as `read_yaml` does, after the items before the error.
    """
    with _as_pattern_error(text, name):
        yield from _builder(text, name).items(key)


def _builder(text: str, name: str) -> _Builder:
    import yaml

    return _Builder(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)), name)


@contextmanager
def _as_pattern_error(text: str, name: str) -> Iterator[None]:
    """Raise errors of the YAML parser as PatternError."""
    import yaml

    try:
        yield
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else f"{name}:1:1"
        raise PatternError(place, problem.problem or "not valid YAML") from None
    except yaml.YAMLError as problem:  # a control character: the reader knows its offset only
        offset = getattr(problem, "position", 0)
        line = text.count("\n", 0, offset) + 1
        raise PatternError(f"{name}:{line}:1", f"not valid YAML: {getattr(problem, 'reason', problem)}") from None


def _plain_scalar(text: str) -> str | int | float | bool | None:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


class _Builder:
    """Builds nodes from the parser events of one file."""

    def __init__(self, events: Iterator[Any], name: str) -> None:
        self._events, self._name = events, name

    def document(self) -> Node:
        """Return the single document of the stream."""
        next(self._events)  # the stream begins
        if type(next(self._events)).__name__ == "StreamEndEvent":
            return Node("", self._name, 1, 1)
        node = self._node(next(self._events), 0)
        next(self._events)  # the document ends
        event = next(self._events)
        if type(event).__name__ != "StreamEndEvent":
            raise self._error(event, "only one document a file is read; remove the `---`")
        return node

    def items(self, key: str) -> Iterator[Node]:
        """Yield from all documents the items of the list under a key, or the whole document."""
        for event in self._events:
            kind = type(event).__name__
            if kind == "MappingStartEvent":
                yield from self._list_items(event, key)
            elif kind in {"SequenceStartEvent", "ScalarEvent"}:
                self._node(event, 0)

    def _list_items(self, begins: Any, key: str) -> Iterator[Node]:  # noqa: ANN401
        pairs: dict[str, Node] = {}
        has_list = False
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            name, event = self._node(event, 1), next(self._events)
            if name.value == key and type(event).__name__ == "SequenceStartEvent":
                has_list = True
                yield from self._items(1)
            else:
                pairs[str(name.value)] = self._node(event, 1)
        if not has_list:
            yield self._make_node(begins, pairs)

    def _node(self, event: Any, depth: int) -> Node:  # noqa: ANN401 (PyYAML's events share no useful type)
        kind = type(event).__name__
        if kind == "AliasEvent" or event.anchor:
            raise self._error(event, "anchors and aliases (& and *) are not used here; write the text out")
        if event.tag and event.tag != "!":
            raise self._error(event, f"the tag {event.tag} is not used here")
        if depth > MAX_DEPTH:
            raise self._error(event, f"nested deeper than {MAX_DEPTH} levels")
        if kind == "ScalarEvent":
            return self._make_node(event, event.value, quoted=event.style not in {None, ""})
        if kind == "SequenceStartEvent":
            return self._make_node(event, tuple(self._items(depth)))
        return self._make_node(event, self._pairs(depth))

    def _items(self, depth: int) -> Iterator[Node]:
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            yield self._node(event, depth + 1)

    def _pairs(self, depth: int) -> Mapping[str, Node]:
        pairs: dict[str, Node] = {}
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            key = self._node(event, depth + 1)
            if not isinstance(key.value, str):
                raise key.error("a key must be a word")
            if key.value in pairs:
                raise key.error(f"the key '{key.value}' is given twice, first in line {pairs[key.value].line}")
            pairs[Word.at(key.value, key.place)] = self._node(next(self._events), depth + 1)
        return pairs

    def _make_node(
        self,
        event: Any,  # noqa: ANN401
        value: str | tuple[Node, ...] | Mapping[str, Node],
        *,
        quoted: bool = False,
    ) -> Node:
        mark = event.start_mark
        return Node(value, self._name, mark.line + 1, mark.column + 1, quoted)

    def _error(self, event: Any, problem: str) -> PatternError:  # noqa: ANN401
        mark = event.start_mark
        return PatternError(f"{self._name}:{mark.line + 1}:{mark.column + 1}", problem)
