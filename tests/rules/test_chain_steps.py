"""A step of a chain: how many, how long, in what they differ, and what the log's end or kubelet's wait says of it."""

from __future__ import annotations

import pytest

from kvdiag.base.clock import SECOND
from kvdiag.model.report import DoubtReason
from kvdiag.model.rule import Selector
from kvdiag.model.timeline import History
from kvdiag.rules.chain_steps import failures_before
from kvdiag.rules.grammar import read_condition
from kvdiag.rules.judge import judge
from kvdiag.rules.selection import part_of
from tests.rules.one_rule import one_rule
from tests.rules.test_judge import ENTRIES, HOUR_LONG, MINUTE, NAMES, NOON, event, events, matches, seconds
from tests.timelines import GivenTimelines


def test_how_many_differ():
    """Events that say the same of a name count once; those that say nothing of it not at all."""
    when = "at least 3 different image a"
    told = [event("a", number, image=image) for number, image in enumerate(["x", "y", "y", "", "z"])]
    assert seconds(matches(when, told)[0])["a"] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert matches(when, told[:4]) == []


def test_a_line_that_says_it_in_two_ways():
    """It says it once: a sentence within another is no second failure. Of JSON in one line each entry is a line."""
    twice = [event("a", 0), event("a", 0, error="as the words within it say")]
    assert matches("at least 2 a", twice) == []
    assert len(matches("at least 2 a", [twice[0], twice[1]._replace(text_at=1)])) == 1
    assert len(matches("at least 2 a", [*twice, event("a", 1)])) == 1


@pytest.mark.parametrize(
    ("waits", "tries", "lasted"),
    [
        ("500ms", 1, 0),
        ("1s", 2, 0.5),
        ("16s", 6, 15.5),
        ("1m4s", 8, 63.5),
        ("2m2s", 9, 127.5),
        ("10s", 0, 0),
        ("5m0s", 0, 0),
        ("soon", 0, 0),
    ],
)
def test_what_a_wait_proves(waits, tries, lasted):
    """Kubelet doubles its wait after each failure of an operation, up to 2m2s; another wait is none of those."""
    failure = event("a", 0, backoff=waits, retry_at="x")
    assert failures_before(failure) == (tries, round(lasted * SECOND))
    assert failures_before(failure._replace(attrs={"backoff": waits})) == (0, 0)


@pytest.mark.parametrize(
    ("when", "where", "found"),
    [
        ("at least 9 a", {}, "sure"),
        ("at least 10 a", {}, ""),
        ("a lasting 2m", {}, "sure"),
        ("a lasting 3m", {}, ""),
        ("at least 3 a within 5m", {}, ""),
        ("at least 3 a", {"error": ("*busy*",)}, "possible"),
    ],
)
def test_failures_before_the_log(when, where, found):
    """One line with the longest wait is the ninth failure; what the others said, and when they were, is not known."""
    told = [event("a", 0, backoff="2m2s", retry_at="x", error="it is busy")]
    got = matches(when, told, a=where)
    assert [[doubt.reason for doubt in one.doubts] for one in got] == {
        "sure": [[]],
        "possible": [[DoubtReason.EARLIER]],
        "": [],
    }[found]


def test_what_was_logged_goes_before_what_a_wait_proves():
    """Where the lines alone are enough nothing is doubted."""
    told = [event("a", number, backoff="2m2s", retry_at="x", error="busy") for number in range(3)]
    (first, *_) = matches("at least 3 a", told, a={"error": ("busy",)})
    assert (first.doubts, len(first.bound["a"])) == ((), 3)


def cut(when, told, ends, *names):
    """Give the matches of a rule whose chains may be cut by the end of a log so many seconds after noon."""
    told = events(told)
    coverage = (HOUR_LONG._replace(ends=NOON + ends * SECOND),)
    history = History(tuple(told), GivenTimelines(), coverage, (), NOON, NOON + ends * SECOND)
    selectors = {name: Selector(name, (name,)) for name in NAMES}
    rule = one_rule(events=selectors, when=read_condition(when, NAMES, "here"), cut=names)
    return judge(rule, part_of(rule, told), "", history, ENTRIES)


@pytest.mark.parametrize(
    ("when", "told", "ends", "found"),
    [
        ("a then b within 5m", "a@0", 100, True),
        ("a then b within 5m", "a@0", 400, False),  # it would have been seen
        ("a then b within 5m", "b@0", 100, False),
        ("a then at least 3 b within 5m", "a@0 b@1 b@2", 100, True),
        ("b lasting 5m", "b@0 b@100", 110, True),
        ("b lasting 5m", "b@0 b@100", 400, False),
        ("b lasting 5m", "a@0", 110, False),
        ("at least 5 b within 1m", "b@0 b@10", 20, True),
    ],
)
def test_a_chain_that_the_log_cuts(when, told, ends, found):
    """The last step may be missing where the log ends before it was due, if the rule says so; the finding is possible."""
    got = cut(when, told, ends, "b")
    assert bool(got) is found
    assert all(one.doubts[0].reason is DoubtReason.ENDS_EARLY for one in got)
    assert cut(when, told, ends) == []


def test_a_chain_that_is_whole_is_sure():
    """A rule that may be cut is sure where nothing is missing."""
    assert [one.doubts for one in cut("a then b within 5m", "a@0 b@1", 2, "b")] == [()]


@pytest.mark.parametrize(
    ("when", "asked", "component", "found"),
    [
        ("a", ("kubelet",), "kubelet", "sure"),
        ("a", ("kubelet",), "containerd", ""),
        ("a", ("kubelet",), "", "possible"),
        ("a", ("kubelet", "!"), "", ""),
        ("b and no a after b within 5m", ("kubelet",), "kubelet", ""),
        ("b and no a after b within 5m", ("kubelet",), "containerd", "sure"),
        ("b and no a after b within 5m", ("kubelet",), "", "possible"),
    ],
)
def test_a_line_that_does_not_say_whose_it_is(when, asked, component, found):
    """It may be what is asked for, and is then possible; `!` says that it must be known."""
    told = [event("b", 0), event("a", 1)._replace(component=component)]
    got = matches(when, told, a={"component": asked})
    assert [[doubt.reason for doubt in one.doubts] for one in got] == {
        "sure": [[]],
        "possible": [[DoubtReason.NOT_SHOWN]],
        "": [],
    }[found]


@pytest.mark.parametrize(
    ("selector", "attrs", "fits"),
    [
        (Selector("a", ("a",), {"text": ("*busy*",)}), {"error": "it is busy"}, True),
        (Selector("a", ("a",), {"text": ("*busy*",)}), {"reason": "x", "message": "it is busy"}, True),
        (Selector("a", ("a",), {"text": ("*busy*",)}), {"image": "it is busy"}, False),
        (Selector("a", ("a",), {"text": ("*", "!*busy*")}), {"reason": "x", "message": "it is busy"}, False),
        (Selector("a", ("a",), any_of=({"error": ("*a*",)}, {"exit_code": ("137",)})), {"exit_code": "137"}, True),
        (Selector("a", ("a",), any_of=({"error": ("*a*",)}, {"exit_code": ("137",)})), {"exit_code": "1"}, False),
        (Selector("a", ("a",), {"error": ("*b*",)}, ({"exit_code": ("137",)},)), {"exit_code": "137"}, False),
    ],
)
def test_conditions_on_an_event(selector, attrs, fits):
    """`text` is any text of an event, and of `any` one must hold beside all others."""
    told = (event("a", 0, **attrs),)
    history = History(told, GivenTimelines(), (HOUR_LONG,), (), NOON, NOON + MINUTE)
    rule = one_rule(events={"a": selector}, when=read_condition("a", {"a"}, "here"))
    assert bool(judge(rule, part_of(rule, told), "", history, ENTRIES)) is fits
