"""Lines that a terminal or a mail has broken are put together; lines that only look alike are left alone."""

from __future__ import annotations

import textwrap

import pytest

from kvdiag.formats.pasted.wrapped import detect
from tests.rewriting import rewritten

POD = 'I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD" source="api" pods=["shop/web-{}"]'
SHORT = 'I0715 03:49:33.850919    1432 kubelet.go:1] "Started"'
LINES = [line for number in range(6) for line in (POD.format("x" * number), SHORT)]


def read(lines: list[str]) -> tuple[list[str], list[int]]:
    """Give the lines as they are read, and the numbers of those that were rewritten."""
    text, numbers = rewritten("\n".join([*lines, ""]).encode(), detect)
    return text.decode().splitlines(), numbers


def broken(lines: list[str], width: int) -> list[str]:
    """Break lines as a terminal does."""
    return [line[at : at + width] for line in lines for at in range(0, len(line), width)]


@pytest.mark.parametrize("width", [60, 72, 80, 90])
def test_terminal(width):
    """Lines broken at a width, within words too, are whole again, each at the number of its first line."""
    wrapped = broken(LINES, width)
    lines, numbers = read(wrapped)
    assert lines == LINES
    assert [wrapped[number - 1] for number in numbers] == [line[:width] for line in LINES]


def test_blank_at_the_edge():
    """A blank in the last column is not copied; it is put back."""
    lines = [POD.replace("2168", "2" * (number % 5 + 1)).format(number) for number in range(20)]
    wrapped = [part.rstrip() for part in broken(lines, POD.index(" pods"))]
    assert read(wrapped)[0] == lines


def test_one_line():
    """One line that was broken is put together when it is cut without its rest and whole with it."""
    assert read(broken([POD.format(0)], 80))[0] == [POD.format(0)]
    assert read([SHORT, "and a line that is none of it"])[1] == []


def test_mail():
    """Lines broken between words get their blanks back."""
    lines = [POD.replace("2168", "2" * (number % 5 + 1)).format(number) for number in range(20)]
    wrapped = [part for line in lines for part in textwrap.wrap(line, 76, break_long_words=False)]
    assert read(wrapped)[0] == lines


@pytest.mark.parametrize(
    "lines",
    [
        LINES,
        [POD.format(n) for n in range(9)],  # all of one length, nothing broken
        [line for n in range(9) for line in (POD.format(n), POD.format(n)[:30])],  # cut short, not broken
        [line for n in range(9) for line in (SHORT, "\tat line", "\tof a trace that is longer")],
        [line for n in range(9) for line in (POD.format("a" * n), "the error of another program")],
        ["words that are no log, of forty and more characters each", "x"] * 9,
        ['{"msg":"x"}', "y"],
        [],
        [""],
    ],
)
def test_what_is_not_broken(lines):
    """Lines of one length, records of many lines and prose are left alone."""
    assert read(lines) == (lines, [])


def test_text_in_the_log_of_a_container():
    """Lines that begin with their time are whole, however alike their widths are and however far their text is set in."""
    lines = [
        b"2024-03-12T08:00:00.1Z stdout F     at com.example.Shop.web%s(Shop.java)" % (b"x" * (n % 9))
        for n in range(40)
    ]
    assert detect(b"\n".join(lines)) is None
