"""Fields of annotated types (NamedTuples and dataclasses), with their types resolved on first use."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from types import GenericAlias, SimpleNamespace
from typing import Any, ForwardRef, NamedTuple, get_type_hints

from kvdiag.base.regex import lazy_regex

PLAIN: Mapping[str, Any] = {
    "str": str,
    "int": int,
    "bool": bool,
    "Mapping[str, str]": Mapping[str, str],
    "tuple[str, ...]": tuple[str, ...],
    "frozenset[str]": frozenset[str],
}
"""Annotations that need no evaluation: nine of ten. Evaluating one takes 12 µs, and a start-up needs a hundred."""


_NAME = lazy_regex(r"[A-Za-z_]\w*")


class Field(NamedTuple):
    """One field of a type. `kind` is its resolved annotation; `has_default` is true if it may be left out."""

    name: str
    kind: Any
    has_default: bool


@cache
def fields_of(kind: type) -> tuple[Field, ...]:
    """Return the fields of a NamedTuple or dataclass in their order."""
    if dataclasses.is_dataclass(kind):
        missing = dataclasses.MISSING
        optional = {
            one.name
            for one in dataclasses.fields(kind)
            if one.default is not missing or one.default_factory is not missing
        }
    else:
        optional = set(getattr(kind, "_field_defaults", ()))
    return tuple(
        Field(name, _resolved(kind, annotation), name in optional) for name, annotation in kind.__annotations__.items()
    )


def named_types(kind: type) -> Iterator[Any]:
    """Yield the types of its module that the annotations of a type name, and some others; nothing is resolved."""
    names = vars(sys.modules[kind.__module__])
    for annotation in kind.__annotations__.values():
        for name in _NAME.findall(_text_of(annotation)):
            if name in names:
                yield names[name]


def is_record(kind: object) -> bool:
    """Return whether the type has annotated fields: a NamedTuple or a dataclass."""
    return isinstance(kind, type) and (hasattr(kind, "_field_defaults") or dataclasses.is_dataclass(kind))


def _resolved(kind: type, annotation: object) -> Any:  # noqa: ANN401 (a type, or an alias of types)
    text = _text_of(annotation)
    return _type_of(text, vars(sys.modules[kind.__module__])) if text else annotation


def _type_of(text: str, names: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return the type that an annotation means; the usual forms without evaluating them."""
    if text in PLAIN or text in names:
        return PLAIN.get(text) or names[text]
    if text.startswith("tuple[") and text.endswith(", ...]"):
        return GenericAlias(tuple, (_type_of(text[len("tuple[") : -len(", ...]")], names), ...))
    if text.endswith(" | None") and "[" not in text:
        return _type_of(text.removesuffix(" | None"), names) | None
    return get_type_hints(SimpleNamespace(__annotations__={"it": text}), dict(names))["it"]


def _text_of(annotation: object) -> str:
    """Return an annotation as it is written; empty if it is a type that is already resolved."""
    if isinstance(annotation, ForwardRef):
        return annotation.__forward_arg__
    return annotation if isinstance(annotation, str) else ""
