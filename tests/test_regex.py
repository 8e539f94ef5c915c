"""Patterns that are compiled late are those that were written, and all of them can be compiled."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from kvdiag.regex import _Later, regex

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "kvdiag").rglob("*.py")
    if path.name not in {"__init__.py", "__main__.py", "regex.py"}
)


def patterns(value: object) -> list[_Later]:
    """Those of a module's variable: itself, or what a tuple of tuples holds."""
    if isinstance(value, _Later):
        return [value]
    return [pattern for part in value for pattern in patterns(part)] if isinstance(value, tuple) else []


@pytest.mark.parametrize("module", MODULES)
def test_every_pattern_compiles(module):
    """A pattern that no log of the tests has needed is no trap for the first that does."""
    for value in vars(import_module(module)).values():
        for pattern in patterns(value):
            assert pattern.groups >= 0


def test_a_pattern_does_what_a_compiled_one_does():
    """Text and bytes, flags, each method, and again."""
    late, compiled = regex(r"(a+)(b)?", re.IGNORECASE), re.compile(r"(a+)(b)?", re.IGNORECASE)
    for _ in range(2):
        assert late.fullmatch("AAb").groups() == compiled.fullmatch("AAb").groups()
        assert late.sub("-", "xaAbx") == compiled.sub("-", "xaAbx")
        assert [found.span() for found in late.finditer("a ab")] == [(0, 1), (2, 4)]
        assert late.search("x") is None
    assert regex(rb"\d+").match(b"12 ", 1).group() == b"2"


def test_a_pattern_is_compiled_when_it_is_used():
    """Making one costs nothing, a fault in it included; using it says what is wrong."""
    faulty = regex("(")
    with pytest.raises(re.error, match="unterminated subpattern"):
        faulty.match("x")
