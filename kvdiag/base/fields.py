"""Fields of annotated types (NamedTuples and dataclasses), with their types resolved on first use."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, ForwardRef, NamedTuple, get_type_hints

PLAIN: Mapping[str, Any] = {
    "str": str,
    "int": int,
    "bool": bool,
    "Mapping[str, str]": Mapping[str, str],
    "tuple[str, ...]": tuple[str, ...],
}
"""Annotations that need no evaluation: nine of ten. Evaluating one takes 12 µs, and a start-up needs a hundred."""


class Field(NamedTuple):
    """One field of a type. `kind` is its resolved annotation."""

    name: str
    kind: Any


@cache
def fields_of(kind: type) -> tuple[Field, ...]:
    """Return the fields of a NamedTuple or dataclass in their order."""
    return tuple(Field(name, _resolved(kind, annotation)) for name, annotation in kind.__annotations__.items())


def is_record(kind: object) -> bool:
    """Return whether the type has annotated fields: a NamedTuple or a dataclass."""
    return isinstance(kind, type) and (hasattr(kind, "_field_defaults") or dataclasses.is_dataclass(kind))


def _resolved(kind: type, annotation: object) -> Any:  # noqa: ANN401 (a type, or an alias of types)
    text = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
    if not isinstance(text, str):
        return text
    if text in PLAIN:
        return PLAIN[text]
    holder = SimpleNamespace(__annotations__={"it": text})
    return get_type_hints(holder, vars(sys.modules[kind.__module__]))["it"]
