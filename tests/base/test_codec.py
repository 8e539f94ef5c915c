"""A value of annotated types comes back from JSON as it was, and bytes of another shape are an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pytest

from kvdiag.base.codec import Codec, shape_of
from kvdiag.model.values import Role, Severity


class Leaf(NamedTuple):
    """A value of plain fields."""

    name: str
    count: int = 0
    labels: Mapping[str, str] = {}


class Both(NamedTuple):
    """All terms; `of` is part of the value."""

    terms: tuple[Term, ...]
    of: Literal["both"] = "both"


class Neither(NamedTuple):
    """Another case of the union, which contains itself."""

    term: Term


Term = Leaf | Both | Neither


@dataclass(frozen=True, kw_only=True)
class Whole:
    """All kinds of fields."""

    leaf: Leaf
    term: Term
    severity: Severity
    role: Role | None = None
    other: Leaf | None = None
    kinds: tuple[frozenset[str], ...] = ()
    pairs: tuple[tuple[str, int], ...] = ()
    globs: Mapping[str, tuple[str, ...]]
    leaves: Mapping[str, Leaf]
    is_last: bool = True


WHOLE = Whole(
    leaf=Leaf("a", 1, {"k": "v"}),
    term=Both((Neither(Leaf("b")), Both(()))),
    severity=Severity.HIGH,
    role=Role.CAUSE,
    kinds=(frozenset({"x", "y"}), frozenset()),
    pairs=(("one", 1),),
    globs={"error": ("*busy*", "!*done*")},
    leaves={"c": Leaf("c")},
)


def test_a_value_comes_back():
    """What was encoded is decoded, with the types of its fields."""
    codec = Codec(Whole)
    again = codec.decode(codec.encode(WHOLE))
    assert again == WHOLE
    assert [type(one) for one in (again.severity, again.role, again.kinds[0], again.pairs[0])] == [
        Severity,
        Role,
        frozenset,
        tuple,
    ]


def test_it_is_one_line():
    """Encoded values can be divided by line feeds."""
    assert b"\n" not in Codec(Leaf).encode(Leaf("two\nlines"))


@pytest.mark.parametrize("data", [b"", b"{", b"null", b"3", b"[]", b'["a"]', b'["a",1,{},4]', b"[" * 10_000])
def test_another_shape(data):
    """Bytes that are no such value are refused with ValueError, whatever they are."""
    with pytest.raises(ValueError, match=r"."):
        Codec(Leaf).decode(data)


def test_a_shape_tells_the_fields():
    """Types with other fields have other shapes, also where they are inside."""
    assert len({shape_of(kind) for kind in (Leaf, Both, Whole, tuple[Leaf, ...], tuple[Whole, ...])}) == 5
