"""Rules that are read when they are asked for are those that were kept, and none is read that cannot hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.rules import rule_store
from kvdiag.rules.prefilter import prefilter_of
from kvdiag.rules.rule_store import decode_store, encode_store, possible_rules
from tests.patterns import library

RULES = library().rules
KEPT = encode_store(RULES)
KINDS = sorted({kind for rule in RULES for kind in prefilter_of(rule).kinds})


def test_what_was_kept_is_read():
    """Every rule comes back but for its tests, each under its head."""
    store = decode_store(KEPT)
    assert list(store) == [rule._replace(tests=(), survives={}, places={}) for rule in RULES]
    said = [(head.id, head.name, head.status, head.clauses, head.lines) for head in store.summaries]
    assert said == [(rule.id, rule.name, rule.status, prefilter_of(rule).clauses, rule.lines) for rule in RULES]
    assert store[3] is store[3]
    assert list(store[:2]) == list(store)[:2]


@given(st.sets(st.sampled_from(KINDS), max_size=40))
def test_possible(heard):
    """A store gives the same rules as all that were read."""
    store = decode_store(KEPT)
    assert [rule.name for rule in possible_rules(store, heard)] == [rule.name for rule in possible_rules(RULES, heard)]


def test_what_cannot_hold_is_not_read(monkeypatch):
    """Of rules that look for what was not heard, and of those that are not wanted, only the head is read."""
    store = decode_store(KEPT)
    monkeypatch.setattr(rule_store.RULE, "decode", lambda _data: pytest.fail("a rule was read"))
    wanted = store.filter(lambda head: head.clauses != ())
    assert list(possible_rules(wanted, frozenset())) == []
    assert len(wanted.merged(store)) == len(wanted) + len(RULES)


@pytest.mark.parametrize(
    "kept",
    [
        *(b"", b"null", b"null\n", b"[[]]\n", b"[1]\n{}", b'[[["a","b","c",[],[]],"2"]]\n{}'),
        *(b'[[["a","b","c",[],[]],2]]', b'[[["a","b","c",[],[]],2]]\n{', b'[[["a","b","c",1,[]],2]]\n{}'),
        b'[[["a","b","c",[],[]],2]]\n{}{}',
    ],
)
def test_what_is_no_store(kept):
    """Anything else is an error, and no store with fewer rules."""
    with pytest.raises(ValueError, match=r"."):
        decode_store(kept)
