"""Words that are looked for by their rarest pair of characters: none is missed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.safe import secrets
from kvdiag.safe.forms import tokens
from kvdiag.safe.forms.anchors import Anchors, pairs_of

WORDS = st.text(alphabet="abc-=: ékİ", min_size=1, max_size=5)


@pytest.mark.hypothesis
@given(st.lists(WORDS, max_size=8), st.text(alphabet="abc-=: ékİ", max_size=40))
def test_each_word_that_is_in_a_text(words, text):
    """The words present are those that `in` finds."""
    assert sorted(Anchors(words).present(text, pairs_of(text))) == sorted({word for word in words if word in text})


@pytest.mark.parametrize("anchors", [tokens.numbers_by_anchor()[0], secrets.anchors()], ids=["tokens", "names"])
def test_each_anchor_alone_and_within_a_line(anchors):
    """Every anchor of a secret's form is found, also between other words."""
    words = {word for of_pair in anchors._by_pair.values() for word in of_pair} | {*anchors._single}
    assert len(words) > 50
    for word in words:
        for text in (word, f"i0312 08:30:00 kubelet {word}x"):
            assert word in anchors.present(text, pairs_of(text))
