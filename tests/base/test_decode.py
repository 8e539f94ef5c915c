"""A node of YAML becomes a value of an annotated type, or an error with its place and what was meant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pytest

from kvdiag.base.clock import MINUTE
from kvdiag.base.decode import Record, each, known, line, matching, one_or_more, prose
from kvdiag.base.errors import PatternError
from kvdiag.base.yamlread import Node, Word, read_yaml
from kvdiag.model.values import Role, Severity


class Pot(NamedTuple):
    """A record inside another."""

    size: int
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Tea:
    """All kinds of fields."""

    name: str
    heat_up: bool = False
    kind: Literal["green", "black"] = "green"
    role: Role | None = None
    severity: Severity = Severity.LOW
    pots: tuple[Pot, ...] = ()
    words: frozenset[str] = frozenset()
    notes: Mapping[str, str]
    raw: Node | None = None
    after: int = 0
    place: str = ""


TEA = Record(
    Tea,
    keys={"words": "is"},
    missing={"notes": {}},
    others=("extra",),
    given=("after",),
    name=matching(re.compile("[a-z]+"), "use a word"),
)
WHOLE = """name: tea
heat-up: true
kind: black
role: cause
severity: high
pots: [{size: 1}, {size: 2}]
is: [hot, wet]
notes: {a: b}
raw: [x]
extra: 1
"""


def read(text: str, reader=TEA, **given):
    """Read a text with a reader."""
    return reader(read_yaml(text, "t.yaml"), **given)


def test_a_record():
    """Keys are the fields with dashes, values are read as annotated, and `place` is that of the node."""
    tea = read(WHOLE, after=MINUTE)
    assert (tea.name, tea.heat_up, tea.kind, tea.role, tea.severity) == (
        "tea",
        True,
        "black",
        Role.CAUSE,
        Severity.HIGH,
    )
    assert tea.pots == (Pot(1, "t.yaml:6:8"), Pot(2, "t.yaml:6:19"))
    assert (tea.words, tea.notes, tea.after, tea.place) == ({"hot", "wet"}, {"a": "b"}, MINUTE, "t.yaml:1:1")
    assert tea.raw.plain() == ["x"]


def test_defaults():
    """A key that is absent leaves the default of its field."""
    assert read("name: tea") == Tea(name="tea", notes={}, place="t.yaml:1:1")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("name: tea", "nam: tea", "t.yaml:1:1: unknown key 'nam'; did you mean 'name'?"),
        ("name: tea\n", "", "t.yaml:1:1: the key 'name' is missing"),
        ("name: tea", "name: Tea", "t.yaml:1:7: 'Tea': use a word"),
        ("heat-up: true", "heat-up: yes", "t.yaml:2:10: true or false is expected here, not 'yes'"),
        ("heat-up: true", "heat_up: true", "t.yaml:2:1: unknown key 'heat_up'; did you mean 'heat-up'?"),
        ("kind: black", "kind: blck", "t.yaml:3:7: unknown 'blck'; did you mean 'black'?"),
        ("role: cause", "role: because", "t.yaml:4:7: unknown 'because'; known are cause, symptom"),
        ("severity: high", "severity: 3", "t.yaml:5:11: unknown '3'; known are critical, high, info, low, medium"),
        ("{size: 2}", "{size: two}", "t.yaml:6:26: a whole number is expected here, not 'two'"),
        ("{size: 2}", "{size: 2, place: x}", "t.yaml:6:29: unknown key 'place'; known are size"),
        ("is: [hot, wet]", "is: hot", "t.yaml:7:5: a list is expected here, not 'hot'"),
        ("extra: 1", "after: 1", "t.yaml:10:1: unknown key 'after'"),
    ],
)
def test_each_error_has_its_place(old, new, fault):
    """What does not fit the type is named, with file, line and column."""
    assert old in WHOLE
    with pytest.raises(PatternError) as raised:
        read(WHOLE.replace(old, new))
    assert str(raised.value).startswith(fault)


def test_texts():
    """A text may be put in one line, or in one for each paragraph; one text is also a list of one."""
    assert read("|\n a\n b\n", line) == "a b"
    assert read("|\n a\n b\n\n c\n", prose) == "a b\n\nc"
    assert read("a", one_or_more(line)) == read("[a]", one_or_more(line)) == ("a",)


def test_known_words():
    """A name that is checked later has its place in the error."""
    words = read("[milk, suger]", each(Node.word))
    (fault,) = known(words, ["milk", "sugar"], "thing")
    assert str(fault) == "t.yaml:1:8: unknown thing 'suger'; did you mean 'sugar'?"
    assert isinstance(words[0], Word)
