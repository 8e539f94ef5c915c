"""The faults that a rule's tests must notice."""

from __future__ import annotations

import pytest

from kvdiag.model.rule import Selector
from kvdiag.rules.grammar import read_condition
from kvdiag.rules.mutants import mutants
from kvdiag.rules.rule_page import format_condition
from tests.rules.one_rule import one_rule

EVENTS = {
    "a": Selector("a", ("kind.one", "kind.two"), {"error": ("*x*", "!*y*")}),
    "b": Selector("b", ("kind.one", "kind.two"), {"error": ("*x*", "!*y*")}),
    "c": Selector("c", ("kind.three",)),
}


def made(when):
    """Give the mutants of a condition, by name, with what they became."""
    rule = one_rule(events=EVENTS, when=read_condition(when, EVENTS, ""))
    return {mutant.name: mutant for mutant in mutants(rule)}


def conditions(when):
    """Give the conditions of the mutants that have another."""
    return {name: said for name, one in made(when).items() if (said := format_condition(one.rule.when)) != when}


@pytest.mark.parametrize(
    ("when", "mutated"),
    [
        ("c", {}),
        ("a or c", {"without a": "c", "without c": "a"}),
        ("a and no c", {"without no c": "a"}),
        ("a then c", {"a then c: without a": "c", "a then c: without c": "a", "a then c: c first": "c then a"}),
        ("at least 3 a", {"at least 3 a: 2 a": "at least 2 a"}),
        (
            "at least 2 a lasting 1m",
            {
                "at least 2 a lasting 1m: a lasting x10": "at least 2 a lasting 10m",
                "at least 2 a lasting 1m: a lasting /10": "at least 2 a lasting 6s",
                "at least 2 a lasting 1m: a lasting dropped": "at least 2 a",
            },
        ),
        (
            "a and no c after a within 5m",
            {
                "without no c after a within 5m": "a",
                "no c after a within 5m: within x10": "a and no c after a within 50m",
                "no c after a within 5m: within /10": "a and no c after a within 30s",
                "no c after a within 5m: within dropped": "a and no c after a",
            },
        ),
        ("a and not (c)", {"without not (c)": "a"}),
    ],
)
def test_conditions(when, mutated):
    """Terms, branches, steps and bounds are dropped, swapped, loosened or tightened, one at a time."""
    assert conditions(when) == mutated


def test_what_events_share_is_one_fact():
    """A list of kinds, or of globs, that two names have in common is faulty in both."""
    found = made("a then b")
    without = found["a without kind.two"].rule.events
    assert [without[name].kinds for name in "ab"] == [("kind.one",), ("kind.one",)]
    loose = found["a without error !*y*"].rule.events
    assert [loose[name].where for name in "ab"] == [{"error": ("*x*",)}, {"error": ("*x*",)}]
    assert found["a whatever error"].rule.events["b"].where == {}
    assert not [name for name in found if name.startswith("b ")]


def test_names_are_unique():
    """Two faults of the same words have different names."""
    assert {"without no c", "without no c (2)"} <= set(made("(a and no c) or (b and no c)"))
