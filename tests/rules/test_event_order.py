"""What is told of events that cannot stand in the order a condition asks for: only such as judging finds nothing in."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.rules import judge as judging
from kvdiag.rules.event_order import MOST_ALTERNATIVES, order_is_possible
from kvdiag.rules.grammar import read_condition
from kvdiag.rules.selection import Selected, by_kind
from tests.rules.test_judge import NAMES, WHENS, event, events, matches, rule, seconds, timelines


@pytest.mark.parametrize(
    ("when", "told", "can"),
    [
        ("a then b", "a b", True),
        ("a then b", "b a", False),
        ("a then b", "b@1 a@1", True),  # ties are for the judge
        ("a then b", "b@0*3+9 a@5", True),  # a poll goes on
        ("a then b", "b@0*3+4 a@5", False),
        ("a then b then a", "a b a", True),
        ("a then b then a", "a b", False),
        ("a and b", "b a", True),
        ("a and b", "a", False),
        ("a then b or c", "b a c", True),
        ("(a then b or c) and (b then a or d)", "a@0 b@1", False),
        ("a and no b after a until end", "a b", True),  # what must be absent is for the judge
        ("not (a then b) and c", "c", True),
    ],
)
def test_what_can_be(when, told, can):
    """Each step has an event that goes on when or after one of the step before it does, or not."""
    made = rule(when)
    assert order_is_possible(made.when, (), Selected(made.events, by_kind(events(told)))) is can


def test_what_may_be_cut_off():
    """The last step of a chain need not be there where the log may have ended before it."""
    made = rule("a then b")
    seen = Selected(made.events, by_kind(events("a")))
    assert (order_is_possible(made.when, (), seen), order_is_possible(made.when, ("b",), seen)) == (False, True)


def test_a_condition_with_very_many_alternatives():
    """It is judged, whatever its order."""
    when = " and ".join(["(a then b or b then a)"] * 7)
    assert MOST_ALTERNATIVES < 2**7
    condition = read_condition(when, NAMES, "here")
    assert order_is_possible(condition, (), Selected(rule("a").events, {}))


@given(st.sampled_from(WHENS), timelines)
def test_nothing_is_lost(when, told):
    """Judged without this look beforehand the same is found."""
    some = [
        event(kind, at, lasts=lasts, count=3 if lasts else 1) for kind, at, lasts in sorted(told, key=lambda t: t[1])
    ]
    with mock.patch.object(judging, "order_is_possible", return_value=True):
        every = matches(when, some)
    found = matches(when, some)
    assert [(seconds(one), one.doubts) for one in found] == [(seconds(one), one.doubts) for one in every]
