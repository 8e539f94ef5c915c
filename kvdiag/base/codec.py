"""Values of annotated types as JSON for the cache, and back: converters are built from the annotations of a type.

    CODEC = Codec(Entry)
    CODEC.decode(CODEC.encode(entry)) == entry

A NamedTuple or dataclass becomes the list of its fields, a union of them a pair of name and list. What JSON can write
and read as it is (texts, numbers, mappings of them) is not touched, so that most values need no call.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Generic, NamedTuple, TypeVar, Union, get_args, get_origin

from kvdiag.base.fields import fields_of, is_record, named_types

Value = TypeVar("Value")
Convert = Callable[[Any], Any]


class _Converters(NamedTuple):
    """How a value becomes JSON, and how it is read again; None if it stays as it is."""

    pack: Convert | None
    unpack: Convert | None


class Codec(Generic[Value]):
    """Writes and reads values of one type. The type is looked at on first use."""

    def __init__(self, kind: type[Value]) -> None:
        """Take a type made of NamedTuples, dataclasses, enums, tuples, frozensets, mappings, texts and numbers."""
        self._kind: Any = kind  # mypy holds a type for unhashable

    def encode(self, value: Value) -> bytes:
        """Return the value as one line of JSON."""
        pack = _converters(self._kind).pack
        packed = pack(value) if pack else value
        return json.dumps(packed, ensure_ascii=False, separators=(",", ":")).encode()

    def decode(self, data: bytes) -> Value:
        """Return the value of the bytes. Raise ValueError if they have another shape."""
        unpack = _converters(self._kind).unpack
        try:
            packed = json.loads(data)
            return unpack(packed) if unpack else packed  # type: ignore[no-any-return]
        except (KeyError, TypeError, IndexError, RecursionError) as error:
            raise ValueError(f"of another shape: {error}") from None


def shape_of(kind: Any) -> str:  # noqa: ANN401 (a type, or an alias of types)
    """Return a digest of the fields of a type and of all types in it, for the key of a cache.

    Annotations are not resolved for it: a start-up decodes few of the types whose shape it needs.
    """
    seen: dict[Any, str] = {}
    queue = [kind]
    while queue:
        one = queue.pop()
        if is_record(one):
            if one not in seen:
                seen[one] = f"{one.__qualname__} {one.__annotations__}"
                queue += named_types(one)
        elif not isinstance(one, type):
            queue += get_args(one)
    return hashlib.sha256("\n".join((str(kind), *seen.values())).encode()).hexdigest()


@cache
def _converters(kind: Any) -> _Converters:  # noqa: ANN401
    """Return the converters of a type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return _union(arguments)
    if origin in {tuple, frozenset}:
        return _collection(origin, arguments)
    if origin is Mapping:
        return _mapping(arguments[1])
    if is_record(kind):
        return _record(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _Converters(None, kind)  # JSON writes an IntEnum or StrEnum as its value
    return _Converters(None, None)


def _collection(origin: type, arguments: tuple[Any, ...]) -> _Converters:
    if origin is tuple and Ellipsis not in arguments:
        return _Converters(None, tuple)  # a pair of texts or numbers
    pack, unpack = _converters(arguments[0])
    begin: Callable[[Iterable[Any]], Any] = sorted if origin is frozenset else list
    return _Converters(
        (lambda value: begin(map(pack, value))) if pack else sorted if origin is frozenset else None,
        (lambda packed: origin([unpack(one) for one in packed])) if unpack else origin,
    )


def _mapping(kind: Any) -> _Converters:  # noqa: ANN401
    pack, unpack = _converters(kind)
    return _Converters(
        (lambda value: {key: pack(one) for key, one in value.items()}) if pack else None,
        (lambda packed: {key: unpack(one) for key, one in packed.items()}) if unpack else None,
    )


def _union(kinds: tuple[Any, ...]) -> _Converters:
    """Return the converters of `Kind | None`, or of several NamedTuples, whose name is then written beside them."""
    others = [kind for kind in kinds if kind is not NoneType]
    if len(others) == 1:
        pack, unpack = _converters(others[0])
        return _Converters(
            (lambda value: None if value is None else pack(value)) if pack else None,
            (lambda packed: None if packed is None else unpack(packed)) if unpack else None,
        )
    by_name = {kind.__name__: kind for kind in others if is_record(kind)}

    def tagged(value: Any) -> list[Any]:  # noqa: ANN401
        kind: Any = type(value)
        pack = _converters(kind).pack
        return [kind.__name__, pack(value) if pack else value]

    def read_tagged(packed: list[Any]) -> Any:  # noqa: ANN401
        name, row = packed
        unpack = _converters(by_name[name]).unpack
        return unpack(row) if unpack else row

    return _Converters(tagged, read_tagged) if by_name else _Converters(None, None)


def _record(kind: Any) -> _Converters:  # noqa: ANN401
    """Return the converters of a NamedTuple or dataclass."""
    fields = fields_of(kind)
    each = [(at, field.name, _converters(field.kind)) for at, field in enumerate(fields)]
    packs = [(at, pack) for at, _, (pack, _) in each if pack]
    unpacks = [(at, unpack) for at, _, (_, unpack) in each if unpack]
    is_dataclass = dataclasses.is_dataclass(kind)

    def pack_row(value: Any) -> list[Any]:  # noqa: ANN401
        row = [getattr(value, field.name) for field in fields]
        for at, pack in packs:
            row[at] = pack(row[at])
        return row

    def unpack_row(row: list[Any]) -> Any:  # noqa: ANN401
        for at, unpack in unpacks:  # in place, as the list was just read from JSON: half the time of a second list
            row[at] = unpack(row[at])
        return make(row)

    def make_dataclass(row: list[Any]) -> Any:  # noqa: ANN401
        return kind(**dict(zip((field.name for field in fields), row, strict=True)))

    make: Convert = make_dataclass if is_dataclass else kind._make
    return _Converters(pack_row if packs or is_dataclass else None, unpack_row if unpacks else make)
