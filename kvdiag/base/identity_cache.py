"""Cache what is derived from values that live as long as the process, such as rules, by their identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

MOST = 8192  # values of one function in the cache, more than all rules have conditions

Key = TypeVar("Key")
Value = TypeVar("Value")


def cached_by_identity(function: Callable[[Key], Value]) -> Callable[[Key], Value]:
    """Return the function with a cache: a rule holds mappings, so it has no hash, and comparing it takes long."""
    known: dict[int, tuple[Key, Value]] = {}

    def cached(key: Key) -> Value:
        found = known.get(id(key))
        if found is None or found[0] is not key:
            if len(known) >= MOST:
                known.clear()
            found = known[id(key)] = (key, function(key))
        return found[1]

    return cached
