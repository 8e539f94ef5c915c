"""Go's quoted strings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.formats.bodies.goquote import quote, unquote


@pytest.mark.parametrize(
    ("text", "told", "end", "terminated"),
    [
        (rb'"plain" rest', "plain", 7, True),
        (rb'""', "", 2, True),
        (rb'"a \"b\" c"', 'a "b" c', 11, True),
        (rb'"tab\tnew\nback\\slash"', "tab\tnew\nback\\slash", 23, True),
        (rb'"\a\b\f\v\r\'"', "\a\b\f\v\r'", 14, True),
        (rb'"\xe2\x9c\x93"', "✓", 14, True),
        (rb'"\342\234\223"', "✓", 14, True),
        (rb'"\u2713 \U0001F600"', "✓ 😀", 19, True),
        (rb'"bad \q \xZZ \u12"', r"bad \q \xZZ \u12", 18, True),
        (rb'"\xff"', "�", 6, True),
        (rb'"\UFFFFFFFF"', r"\UFFFFFFFF", 12, True),
        (rb'"cut \"off', 'cut "off', 10, False),
        (b'"ends in slash\\', "ends in slash\\", 15, False),
        ('"Ünï"'.encode(), "Ünï", 7, True),
    ],
)
def test_every_escape_of_go(text: bytes, told: str, end: int, terminated) -> None:
    """Every escape of the Go specification is undone, what is none stays, and a missing end is told."""
    assert unquote(text) == (told, end, terminated)


def test_a_string_in_the_middle() -> None:
    """Reading begins at the given quote and ends behind the closing one."""
    assert unquote(b'key="a\\"b" more', 4) == ('a"b', 10, True)


@given(st.text())
def test_quote_and_unquote_are_inverse(text: str) -> None:
    """What is quoted can be read back, except for lone surrogates, which no log can hold."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        return
    quoted = quote(text)
    assert unquote(quoted) == (text, len(quoted), True)


@given(st.binary(), st.integers(0, 20))
def test_any_bytes_can_be_unquoted(text: bytes, start: int) -> None:
    """No input raises, and the end lies within it."""
    assert unquote(text, start).end <= max(len(text), start + 2)
