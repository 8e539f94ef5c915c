"""The trie names every word that occurs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kvdiag.inputs.scan.trie import Trie

WORDS = st.lists(st.text("ab.(", min_size=1, max_size=9).map(str.encode), max_size=8)


@given(WORDS, st.text("ab.(\n", max_size=40).map(str.encode))
def test_nothing_is_missed(words, text):
    """Words that overlap, or begin one another, are all named when they are in the text."""
    assert {word for word in words if word in text} <= set(Trie(words).occurring(text)) <= set(words)


def test_what_does_not_occur():
    """Words that begin like nothing in the text are not named."""
    assert Trie([b"SyLoo AD", b"SyLoo DELETE", b"Po"]).occurring(b"SyLoX Pi") == []
