"""The tables of patterns/anatomy: primitives, operations, owners of objects, exit codes and guards."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kvdiag.anatomy.entries import Primitive, Tables
from kvdiag.base.cache import cached, digest
from kvdiag.base.pattern_folder import builtin_patterns

FOLDER = "anatomy"


@cache
def tables() -> Tables:
    """Return the built-in tables, from the cache if their files are unchanged. Raises PatternError for a wrong file."""
    files = {path.name: path.read_text("utf-8") for path in sorted((builtin_patterns() / FOLDER).glob("*.yaml"))}
    key = digest(text.encode() for pair in files.items() for text in pair)
    return cached("anatomy", key, Tables, lambda: _parsed(files))


def _parsed(files: Mapping[str, str]) -> Tables:
    from kvdiag.anatomy.data_file import parse  # slow import (YAML), not needed if the cache is filled

    return parse({f"{builtin_patterns() / FOLDER / name}": text for name, text in files.items()})


@cache
def errnos() -> Mapping[int, Primitive]:
    """Return the primitives of errnos by their number."""
    return {one.number: one for one in tables().primitives if one.number}
