"""Entries of the tables of the anatomy: primitives, operations, owners of objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

ANY = "any"  # the form of a sentence or check for an object of another kind, or none
COMMAND_SLOTS = frozenset(
    [
        "object",
        "parent",
        "name",
        "address",
        "port",
        "user",
        "verb",
        "resource",
        "subresource",
        "namespace",
        "cluster",
        "node",
    ]
)
"""The slots of a check: the object of the cause, its parts, what a user may not do, and the node."""
MAKE, REMOVE, QUERY = "make", "remove", "query"
GUARDS = ("cleanup", "nothing", "guesses", "harmless", "optional")


class Part(NamedTuple):
    """A literal of a text: within `room` characters after the part before; in the same clause if `is_near`.

    With `ends_word`, no letter or digit follows that continues its last word.
    """

    literal: str
    room: int = 0
    is_near: bool = False
    ends_word: bool = False

    def ends(self, low: str, end: int) -> bool:
        """Return whether the literal, which ends here in a text, is complete there."""
        return not (self.ends_word and low[end - 1].isalnum() and low[end : end + 1].isalnum())


class Primitive(NamedTuple):
    """A class of causes: the texts by which programs print it, and what to say about it by the kind of its object.

    `where` are operations outside of which the texts mean something else, `unless_before` words in front of a text and
    `unless_after` words behind it that take away its meaning. With `gone`, it is expected while something is removed.
    With `quotes`, the clause follows the sentence. `number` is that of an errno.
    """

    id: str
    strength: int
    texts: tuple[tuple[Part, ...], ...]
    objects: tuple[str, ...]
    owner: str
    says: Mapping[str, str]
    check: Mapping[str, str]
    where: tuple[str, ...]
    unless_before: tuple[str, ...]
    unless_after: tuple[str, ...]
    gone: bool
    quotes: bool
    number: int


class Operation(NamedTuple):
    """An operation that callers name in front of an error; `callee` is who should have answered.

    `kinds` are the kinds of events that report its failure.
    """

    id: str
    label: str
    direction: str
    callee: str
    kinds: tuple[str, ...]
    texts: tuple[tuple[Part, ...], ...]


class Owner(NamedTuple):
    """The program that owns known objects, if one of the operations `where` failed; `check` shows whether it runs."""

    match: tuple[str, ...]
    owner: str
    check: str
    missing: str
    where: tuple[str, ...]


class Peer(NamedTuple):
    """The other side of a call: known by globs over the object or URL, by the object's kind, or by the operation."""

    id: str
    match: tuple[str, ...]
    objects: tuple[str, ...]
    operations: tuple[str, ...]


class Tables(NamedTuple):
    """All tables of the anatomy. `groups` are names for several primitives."""

    primitives: tuple[Primitive, ...]
    operations: tuple[Operation, ...]
    owners: tuple[Owner, ...]
    peers: tuple[Peer, ...]
    groups: Mapping[str, tuple[str, ...]]
    programs: Mapping[str, Mapping[str, str]]
    packages: Mapping[str, str]
    guards: Mapping[str, tuple[str, ...]]
