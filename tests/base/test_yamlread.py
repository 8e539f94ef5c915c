"""YAML is read with places, and nothing is guessed."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.errors import PatternError
from kvdiag.base.yamlread import read_yaml


def fault(text, read=lambda node: node):
    """Give the message of the error that reading `text` ends in."""
    with pytest.raises(PatternError) as caught:
        read(read_yaml(text, "x.yaml"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("", None),
        ("a: 1", {"a": 1}),
        ("a: '1'", {"a": "1"}),
        ("a: 1.5", {"a": 1.5}),
        ("a: yes", {"a": "yes"}),
        ("a: off", {"a": "off"}),
        ("a: true", {"a": True}),
        ("a:", {"a": None}),
        ("a: 2024-07-15", {"a": "2024-07-15"}),
        ("a: 1e3", {"a": "1e3"}),
        ("a: [x, y]", {"a": ["x", "y"]}),
        ("a: {b: c}", {"a": {"b": "c"}}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
    ],
)
def test_plain_values(text, plain):
    """Only numbers, true, false and null that are not quoted become other than text."""
    assert read_yaml(text, "x.yaml").plain() == plain


def test_places_count_from_one():
    """A node knows its line and column as editors count them."""
    node = read_yaml("a:\n  - b: c\n", "x.yaml").mapping({"a"})["a"].sequence()[0].mapping({"b"})["b"]
    assert node.place == "x.yaml:2:8"


def test_text_is_what_was_written():
    """A word that YAML would take for a boolean or a number is the text it is."""
    node = read_yaml("kind: yes\nversion: 1.20", "x.yaml").table()
    assert (node["kind"].text(), node["version"].text()) == ("yes", "1.20")


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        ("a: 1\na: 2", lambda n: n, "x.yaml:2:1: the key 'a' is given twice, first in line 1"),
        ("a: &b 1", lambda n: n, "anchors and aliases"),
        ("a: *b", lambda n: n, "anchors and aliases"),
        ("a: !!python/object:os.system x", lambda n: n, "the tag"),
        ("a: !x y", lambda n: n, "the tag !x is not used here"),
        ("a: [", lambda n: n, "x.yaml:"),
        ("a: 1\n---\nb: 2", lambda n: n, "x.yaml:2:1: only one document"),
        ("? [a]\n: b", lambda n: n, "a key must be a word"),
        ("a: " + "[" * 60 + "]" * 60, lambda n: n, "nested deeper"),
        ("a: \x07", lambda n: n, "x.yaml:1:1: not valid YAML"),
        ("kidn: a", lambda n: n.mapping({"kind", "about"}), "x.yaml:1:1: unknown key 'kidn'; did you mean 'kind'?"),
        ("x: a", lambda n: n.mapping({"kind", "about"}), "unknown key 'x'; known are about, kind"),
        ("a: 1", lambda n: n.mapping({"a", "b"}, {"b"}), "x.yaml:1:1: the key 'b' is missing"),
        ("a: [1]", lambda n: n.table()["a"].text(), "x.yaml:1:4: a text is expected here, not a list"),
        ("a: {}", lambda n: n.table()["a"].text(), "not keys with values"),
        ("a:", lambda n: n.table()["a"].text(), "not nothing"),
        ("a: x", lambda n: n.table()["a"].integer(), "a whole number is expected here, not 'x'"),
        ("a: '1'", lambda n: n.table()["a"].integer(), "a whole number"),
        ("a: yes", lambda n: n.table()["a"].flag(), "true or false is expected here, not 'yes'"),
        ("a: x", lambda n: n.table()["a"].sequence(), "a list is expected here"),
        ("a: x", lambda n: n.table()["a"].table(), "keys with values are expected here"),
    ],
)
def test_faults_name_their_place(text, read, message):
    """What cannot be used is said with its place and the next step."""
    assert message in fault(text, read)


def test_typed_children():
    """Each reader gives its type; an empty list or mapping may be left out."""
    table = read_yaml("n: 4\nf: true\nl:\nt: {kubelet: '>=1.27'}\nu:", "x.yaml").table()
    assert table["n"].integer() == 4
    assert table["f"].flag() is True
    assert table["l"].sequence() == ()
    assert (table["t"].texts(), table["u"].texts()) == ({"kubelet": ">=1.27"}, {})


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    """No text ends in another error than a PatternError."""
    with suppress(PatternError):
        read_yaml(text, "x.yaml").plain()
