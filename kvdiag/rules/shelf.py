"""Rules on a shelf: of each its head is read, and the rest only when it is asked for.

Kept as one line of JSON with all heads and the lengths of the rules' lines, which follow. In most logs nine rules of
ten cannot hold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, overload

from kvdiag.model.rule import Rule
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.packed import pack, pack_entry, unpack, unpack_entry
from kvdiag.rules.sought import Clauses, are_heard, sought


class Head(NamedTuple):
    """What tells whether a rule is wanted, and whether it can hold; `lines` are entries of its own (`Rule.lines`)."""

    id: str
    name: str
    status: str
    clauses: Clauses
    lines: tuple[Entry, ...]


class Packed:
    """A rule as it is kept, read once for all shelves that it is on."""

    __slots__ = ("_kept",)

    def __init__(self, kept: memoryview) -> None:
        """`kept` is its line of JSON."""
        self._kept: memoryview | Rule = kept

    def read(self) -> Rule:
        """Read it, when it is asked for the first time."""
        if isinstance(self._kept, memoryview):
            self._kept = unpack(json.loads(bytes(self._kept)))
        return self._kept


Place = tuple[Head, Packed | Rule]


class Shelf(Sequence[Rule]):
    """Rules in order of their ids, each read when it is asked for."""

    def __init__(self, places: Iterable[Place]) -> None:
        """Each head with its rule, as it was packed or read."""
        self._places = sorted(places, key=lambda place: place[0].id)

    def __len__(self) -> int:
        """How many rules there are."""
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Rule: ...
    @overload
    def __getitem__(self, at: slice) -> Shelf: ...
    def __getitem__(self, at: int | slice) -> Rule | Shelf:
        """The rule in that place, or a shelf of some."""
        if isinstance(at, slice):
            return Shelf(self._places[at])
        _, rule = self._places[at]
        return rule.read() if isinstance(rule, Packed) else rule

    @property
    def heads(self) -> list[Head]:
        """The head of each rule."""
        return [head for head, _ in self._places]

    def those(self, keeps: Callable[[Head], bool]) -> Shelf:
        """A shelf of the rules that are wanted."""
        return Shelf(place for place in self._places if keeps(place[0]))

    def joined(self, other: Shelf) -> Shelf:
        """A shelf of the rules of both."""
        return Shelf([*self._places, *other._places])

    def possible(self, heard: AbstractSet[str]) -> Iterator[Rule]:
        """The rules of which each clause has a kind that was heard; the others are not read."""
        return (self[at] for at, (head, _) in enumerate(self._places) if are_heard(head.clauses, heard))


def possible(rules: Iterable[Rule], heard: AbstractSet[str]) -> Iterator[Rule]:
    """The rules of which each clause has a kind that was heard."""
    if isinstance(rules, Shelf):
        return rules.possible(heard)
    return (rule for rule in rules if sought(rule).can_hold(heard))


def shelved(rules: Iterable[Rule]) -> bytes:
    """The rules without their tests, as they are kept."""
    heads, bodies = [], []
    for rule in rules:
        clauses = [sorted(clause) for clause in sought(rule).clauses]
        body = _json(pack(rule)) + b"\n"
        heads.append([len(body), rule.id, rule.name, rule.status, clauses, [pack_entry(entry) for entry in rule.lines]])
        bodies.append(body)
    return b"\n".join([_json(heads), b"".join(bodies)])


def read_shelf(kept: bytes) -> Shelf:
    """What was kept. Raises ValueError for anything else."""
    try:
        return Shelf(_places(kept))
    except (KeyError, TypeError) as error:
        raise ValueError(error) from None


def _places(kept: bytes) -> Iterator[Place]:
    end = kept.index(b"\n") + 1
    whole = memoryview(kept)
    for length, name, other, status, clauses, lines in json.loads(kept[:end]):
        start, end = end, end + length
        head = Head(name, other, status, tuple(map(frozenset, clauses)), tuple(map(unpack_entry, lines)))
        yield head, Packed(whole[start:end])
    if end != len(kept):
        raise ValueError("the rules are shorter or longer than their heads tell")


def _json(value: Any) -> bytes:  # noqa: ANN401 (what JSON can say)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
