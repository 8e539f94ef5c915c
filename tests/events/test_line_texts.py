"""Texts of lines come back as they were added, however many there are and whoever added them."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.events.line_texts import LineTexts

LINES = st.lists(st.binary(max_size=3_000).map(lambda line: line.replace(b"\n", b" ")), max_size=60)


def many(count, seed=1):
    """Give lines that no dictionary shortens, of all lengths up to that of evidence."""
    numbers = Random(seed)  # noqa: S311 (no secret)
    return [
        b"%d " % number + numbers.randbytes(numbers.randrange(8_192)).replace(b"\n", b"-") for number in range(count)
    ]


def made(lines):
    """Give texts, and the place of each line."""
    texts = LineTexts()
    return texts, [texts.add(line) for line in lines]


@given(LINES)
def test_any_lines(lines):
    """Each line is at its place; equal ones in a row share one."""
    texts, places = made(lines)
    assert [texts[place] for place in places] == lines
    assert [one == two for one, two in pairwise(lines)] == [one == two for one, two in pairwise(places)]


def test_in_any_order():
    """Portions are read when they are asked for, and more of them than stay decompressed."""
    lines = many(700)
    texts, places = made(lines)
    order = list(range(len(lines)))
    Random(2).shuffle(order)  # noqa: S311 (no secret)
    assert all(texts[places[at]] == lines[at] for at in order)
    assert (len(texts), list(texts), texts[5:7]) == (700, lines, lines[5:7])


def test_lines_of_a_log_take_little_memory():
    """Log lines are compressed, a second dictionary is not kept."""
    text = b'I1120 20:39:22.381204    6175 kubelet.go:2168] "SyncLoop ADD" source="api" pods=["shop/web-%d"]'
    texts, _ = made(text % number for number in range(20_000))
    portions, dictionaries = texts.packed()
    packed = sum(len(data) for *_, data in portions)
    assert packed < 20_000 * len(text) / 8
    assert [len(one) for one in dictionaries][:1] == [0]
    assert len(dictionaries) == 2


def test_of_another_process():
    """What is added after that of others has places after theirs, and each portion its own dictionary."""
    texts, places = made(many(9))
    for seed in (2, 3):
        other, theirs = made(many(40, seed))
        first = texts.extend(other.packed())
        assert [texts[first + place] for place in theirs] == many(40, seed)
        places.append(texts.add(b"between %d" % seed))
    assert [texts[place] for place in places] == [*many(9), b"between 2", b"between 3"]
    assert LineTexts().extend(texts.packed()) == 0


def test_no_texts():
    """A part of a log may have no event."""
    packed = LineTexts().packed()
    assert not packed.portions
    texts, _ = made(many(5))
    assert (texts.extend(packed), list(texts)) == (5, many(5))


def test_a_copy_does_not_grow():
    """A log that is still read may be analyzed meanwhile."""
    texts, _ = made(many(5))
    copy = texts.copy()
    for line in many(100, seed=7):
        texts.add(line)
    assert list(copy) == many(5)
    assert copy.add(b"more") == 5
    assert texts != copy
    assert copy == copy.copy()


def test_what_is_forgotten():
    """Texts before a place are gone, but for those in its portion; the others stay where they are."""
    lines = many(100)
    texts, places = made(lines)
    texts.forget(places[60])
    assert [texts[place] for place in places[60:]] == lines[60:]
    with pytest.raises(IndexError):
        texts[0]
    with pytest.raises(IndexError):
        texts[100]
