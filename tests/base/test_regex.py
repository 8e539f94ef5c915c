"""Patterns that are compiled late are those that were written, and all of them can be compiled."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from re import _parser

import pytest

from kvdiag.base.regex import _Later, lazy_regex
from kvdiag.events.vocabulary import read_vocabulary

ROOT = Path(__file__).parents[2]
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


def variables() -> Iterator[tuple[str, object]]:
    """What stands in every module, with the module's name."""
    for module in MODULES:
        try:
            values = vars(import_module(module)).values()
        except ModuleNotFoundError as missing:  # an extra that is not installed here
            if missing.name in {"mcp", "pyarrow", "duckdb", "fsspec", "distributed"}:
                continue
            raise
        for value in values:
            yield module, value


def test_every_pattern_compiles():
    """A pattern that no log of the tests has needed is no trap for the first that does."""
    found = [(module, pattern) for module, value in variables() for pattern in patterns(value)]
    assert len(found) > 100
    for module, pattern in found:
        assert pattern.groups >= 0, module


_POSSESSIVE = re.compile(r"[*+?}]\+")
SINGLE = {"LITERAL", "NOT_LITERAL", "IN", "ANY"}


def faults(parsed: object) -> Iterator[object]:
    """Possessive repetitions, at any depth of a parsed regex, of what is not one character."""
    if isinstance(parsed, _parser.SubPattern):
        for operation, given in parsed:
            if str(operation) == "POSSESSIVE_REPEAT" and not is_single(given[2]):
                yield given[2]
            yield from faults(given)
    elif isinstance(parsed, tuple | list):
        for part in parsed:
            yield from faults(part)


def is_single(item: _parser.SubPattern) -> bool:
    """Whether what is repeated is one character."""
    return len(item) == 1 and str(item[0][0]) in SINGLE


def faulty(pattern: str | bytes, flags: int = 0) -> bool:
    """Whether a regex means something else before Python 3.11.5 than after: no other has a sign of repetition and a plus."""
    if not _POSSESSIVE.search(pattern if isinstance(pattern, str) else pattern.decode("latin-1")):
        return False
    return bool(list(faults(_parser.parse(pattern, flags & ~re.UNICODE if isinstance(pattern, bytes) else flags))))


def compiled(value: object) -> Iterator[tuple[str | bytes, int]]:
    """Regexes of a module's variable and their flags: itself, or what a table holds."""
    if isinstance(value, _Later):
        yield value._pattern, value._flags
    elif isinstance(value, re.Pattern):
        yield value.pattern, value.flags
    elif isinstance(value, dict | tuple | list):
        for part in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from compiled(part)


def constants(module: str) -> Iterator[str | bytes]:
    """Texts in a module's source that could be regexes, or parts of one."""
    source = (ROOT / Path(*module.split("."))).with_suffix(".py").read_bytes()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            yield node.value


REASON = "before Python 3.11.5 (?:…)*+ takes half a group, with groups in it later too: write (?>(?:…)*)"


def test_only_characters_are_repeated_possessively():
    """Every regex of a module means the same in all Pythons that pyproject admits."""
    regexes = [(module, *regex) for module, value in variables() for regex in compiled(value)]
    assert len(regexes) > 100
    assert [(module, pattern) for module, pattern, flags in regexes if faulty(pattern, flags)] == [], REASON


def faulty_text(text: str | bytes) -> bool:
    """Whether a text is a regex, and a faulty one."""
    try:
        return faulty(text)
    except re.error:
        return False


@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
def test_only_characters_are_repeated_possessively_within_functions():
    """So does every text that is a regex or a part of one, wherever it is put together."""
    texts = [(module, text) for module in MODULES for text in constants(module)]
    assert len(texts) > 1000
    assert [(module, text) for module, text in texts if faulty_text(text)] == [], REASON


def test_only_characters_are_repeated_possessively_in_wordings():
    """So do the regexes that are made from the wordings of the vocabulary."""
    words = read_vocabulary(ROOT / "patterns" / "events")
    matchers = [words.matcher(number) for number in range(len(words.wordings))]
    patterns = [pattern for matcher in matchers for pattern in (matcher.full.pattern, matcher.message)]
    assert [pattern for pattern in patterns if faulty(pattern)] == [], REASON


@pytest.mark.parametrize("pattern", ["(?:ab?c)*+", "(?>x(?:ab?c)?+)", "(?:y|(?=(?:ab){2,3}+))", rb"(?:(a)|b)++"])
def test_what_is_looked_for(pattern):
    """A fault is found at any depth; one character, and an atomic group, are none."""
    assert faulty(pattern)
    assert not faulty(r"(?>(?:ab?c)*)[^\n]*+x?+\d{1,9}+.*+[^x]++")


def test_a_pattern_does_what_a_compiled_one_does():
    """Text and bytes, flags, each method, and again."""
    late, compiled = lazy_regex(r"(a+)(b)?", re.IGNORECASE), re.compile(r"(a+)(b)?", re.IGNORECASE)
    for _ in range(2):
        assert late.fullmatch("AAb").groups() == compiled.fullmatch("AAb").groups()
        assert late.sub("-", "xaAbx") == compiled.sub("-", "xaAbx")
        assert [found.span() for found in late.finditer("a ab")] == [(0, 1), (2, 4)]
        assert late.search("x") is None
    assert lazy_regex(rb"\d+").match(b"12 ", 1).group() == b"2"


def test_a_pattern_is_compiled_when_it_is_used():
    """Making one costs nothing, a fault in it included; using it says what is wrong."""
    faulty = lazy_regex("(")
    with pytest.raises(re.error, match="unterminated subpattern"):
        faulty.match("x")
