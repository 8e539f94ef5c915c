"""Decode the nodes of a YAML file into annotated types; every error has file:line:column and names what was meant.

    class Step(NamedTuple):
        name: str
        run: tuple[str, ...] = ()
        place: str = ""

    STEP = Record(Step, name=matching(WORDS, "use lower-case words"))
    STEP(node)

The keys are the fields, a field without a default is required, and the annotation decides how a value is read. A field
whose values need more than their type gets a reader of its own. `place` is no key: it is the place of the node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum, IntEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin

from kvdiag.base.clock import parse_duration
from kvdiag.base.errors import PatternError
from kvdiag.base.fields import fields_of, is_record
from kvdiag.base.suggestions import suggestion
from kvdiag.base.versions import read_range
from kvdiag.base.yamlread import Node, Word

Made = TypeVar("Made")
Reader = Callable[[Node], Made]
PLACE = "place"  # the field for the place of the node


class Record(Generic[Made]):
    """Reads a mapping as a NamedTuple or dataclass. It is itself a reader, for records in records.

    A key is the field's name with dashes, or as `keys` says. `given` fields are no keys: the caller passes the values.
    `missing` are values for absent keys, `others` keys that the caller reads; `required` are keys that must be there
    although they have a default.
    """

    def __init__(
        self,
        kind: type[Made],
        *,
        keys: Mapping[str, str] | None = None,
        given: Collection[str] = (),
        others: Collection[str] = (),
        required: Collection[str] = (),
        missing: Mapping[str, object] | None = None,
        **readers: Reader[Any],
    ) -> None:
        """Take the type, and readers for the fields whose annotation does not suffice."""
        whole: Any = kind  # mypy holds a type for unhashable
        fields = [field for field in fields_of(whole) if field.name not in {PLACE, *given}]
        names = {field.name: (keys or {}).get(field.name, field.name.replace("_", "-")) for field in fields}
        self._kind, self._missing = kind, missing or {}
        self._readers = {names[field.name]: (field.name, field.kind, readers.get(field.name)) for field in fields}
        self._required = [
            *(names[field.name] for field in fields if not field.has_default and field.name not in self._missing),
            *required,
        ]
        self.keys = tuple(dict.fromkeys((*self._readers, *others)))
        self._has_place = any(field.name == PLACE for field in fields_of(whole)) and PLACE not in given

    def table(self, node: Node) -> Mapping[str, Node]:
        """Return the nodes by key. Raise PatternError for an unknown key and for one that is missing."""
        return node.mapping(self.keys, self._required)

    def __call__(self, node: Node, **given: object) -> Made:
        """Return the value of a mapping. Raise PatternError at the first error."""
        table = self.table(node)
        values = {**self._missing, **given, **({PLACE: node.place} if self._has_place else {})}
        for key, (name, kind, reader) in self._readers.items():
            if key in table:
                values[name] = (reader or reader_of(kind))(table[key])
        return self._kind(**values)


@cache
def reader_of(kind: Any) -> Reader[Any]:  # noqa: ANN401 (a type, or an alias of types)
    """Return the reader that an annotation describes."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return reader_of(next(one for one in arguments if one is not NoneType))
    if origin is Mapping:
        return table(reader_of(arguments[1]))
    if origin is not None:
        return one_of(arguments) if origin is Literal else _COLLECTIONS[origin](reader_of(arguments[0]))
    if kind in _SCALARS:
        return _SCALARS[kind]
    return Record(kind) if is_record(kind) else _member(kind)


def each(reader: Reader[Made]) -> Reader[tuple[Made, ...]]:
    """Return a reader of lists; a missing value is an empty list."""
    return lambda node: tuple([reader(item) for item in node.sequence()])


def one_or_more(reader: Reader[Made]) -> Reader[tuple[Made, ...]]:
    """Return a reader of one value, or of a list of values."""
    return lambda node: tuple(
        [reader(item) for item in (node.sequence() if isinstance(node.value, tuple) else (node,))]
    )


def table(reader: Reader[Made]) -> Reader[dict[str, Made]]:
    """Return a reader of mappings with any keys; a missing value is an empty one."""
    return lambda node: {} if node.empty else {key: reader(child) for key, child in node.table().items()}


def set_of(reader: Reader[Made]) -> Reader[frozenset[Made]]:
    """Return a reader of lists whose order does not matter."""
    return lambda node: frozenset([reader(item) for item in node.sequence()])


_COLLECTIONS: Mapping[Any, Callable[[Reader[Any]], Reader[Any]]] = {tuple: each, frozenset: set_of}
_SCALARS: Mapping[Any, Reader[Any]] = {
    str: Node.text,
    int: Node.integer,
    bool: Node.flag,
    Word: Node.word,
    Node: lambda node: node,
}


def one_of(words: Collection[str], what: str = "") -> Reader[Word]:
    """Return a reader of one of these words; `what` names them in the error."""

    def read(node: Node) -> Word:
        if node.text() not in words:
            raise node.error(f"unknown {f'{what} ' if what else ''}{node.text()!r}{suggestion(node.text(), words)}")
        return node.word()

    return read


def _member(kind: type[Enum]) -> Reader[Enum]:
    """Return a reader of the members of an enum: of an IntEnum by their names, of others by their values."""
    members = {one.name.lower() if issubclass(kind, IntEnum) else str(one.value): one for one in kind}
    read = one_of(members)
    return lambda node: members[read(node)]


def matching(pattern: re.Pattern[str], rule: str) -> Reader[str]:
    """Return a reader of texts that the whole pattern matches; `rule` says in the error what is right."""

    def read(node: Node) -> str:
        if not pattern.fullmatch(node.text()):
            raise node.error(f"{node.text()!r}: {rule}")
        return node.text()

    return read


def known(words: Iterable[str], among: Collection[str], what: str = "") -> Iterator[PatternError]:
    """Yield an error for each word that is not among these, at its place; `what` names it in the error."""
    for word in words:
        if word not in among:
            shown = f"{what} {str(word)!r}" if what else repr(str(word))
            yield error_at(word, f"unknown {shown}{suggestion(word, among)}")


def error_at(word: str, problem: str) -> PatternError:
    """Return an error at the place of a word of the file."""
    return PatternError(word.place if isinstance(word, Word) else "", problem)


def line(node: Node) -> str:
    """Return the text in one line."""
    return " ".join(node.text().split())


def block(node: Node) -> str:
    """Return the text with its line breaks, without blanks around it."""
    return node.text().strip()


def prose(node: Node) -> str:
    """Return the text with one line for each paragraph; an empty line divides paragraphs."""
    return "\n\n".join(" ".join(part.split()) for part in node.text().split("\n\n")).strip()


def duration(node: Node) -> int:
    """Return the microseconds of `90s` or `5m`."""
    span = parse_duration(node.text())
    if span is None or span < 0:
        raise node.error(f"{node.text()!r} is not a duration; write 90s, 5m")
    return span


def version_range(node: Node) -> str:
    """Return the text of a version range such as `>=1.22 <1.27`."""
    read_range(node.text(), node.place)
    return node.text()
