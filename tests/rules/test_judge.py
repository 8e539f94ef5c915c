"""A sentence against a timeline: which events make it true, and how sure that is."""

from __future__ import annotations

import re
from fnmatch import translate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import MINUTE, SECOND
from kvdiag.model.event import Event, Ref
from kvdiag.model.record import Origin
from kvdiag.model.report import Doubt, DoubtReason
from kvdiag.model.rule import Proof, Selector
from kvdiag.model.timeline import Coverage, Gap, History
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.grammar import read_condition
from kvdiag.rules.judge import judge
from kvdiag.rules.selection import part_of, selects
from tests.rules.one_rule import one_rule
from tests.timelines import GivenTimelines

NOON = 1_720_008_000_000_000
NAMES = ("a", "b", "c", "d", "x")
ENTRIES = {name: Entry(kind=name, component="kubelet", wordings=()) for name in NAMES}
HOUR_LONG = Coverage(component="kubelet", node="", begins=NOON - MINUTE, ends=NOON + 60 * MINUTE, verbosity=4)


def event(kind, second, line=0, *, lasts=0, count=1, source="log", **attrs):
    """Give an event so many seconds after noon; its line is its second unless said otherwise."""
    time = NOON + round(second * SECOND)
    origin = Origin(source, line or round(second * 10) + 1)
    return Event(time, kind, "kubelet", (), attrs, origin, "", (kind.encode(),), time + lasts * SECOND, count)


def events(text):
    """Give the events in `a b@5 c*3+10`: one a second, or at a second; `*` how many polls, `+` how long they went on."""
    made = []
    for number, word in enumerate(text.split()):
        head, _, lasts = word.partition("+")
        head, _, count = head.partition("*")
        kind, _, second = head.partition("@")
        made.append(event(kind, float(second or number), lasts=int(lasts or 0), count=int(count or 1)))
    return sorted(made, key=lambda e: (e.time, e.origin))


def rule(when, **where):
    """Give a rule with that sentence; each name stands for the kind of the same name."""
    return one_rule(
        events={name: Selector(name=name, kinds=(name,), where=where.get(name, {})) for name in NAMES},
        when=read_condition(when, NAMES, "here"),
    )


def test_clocks_of_two_machines():
    """Where the order matters and two machines tell of the steps, what is closer than their clocks is a doubt."""
    one = rule("a then b")._replace(clocks=("b",))
    for kind, node, second, sure in [("b", "n1", 1, True), ("b", "n2", 4, False), ("b", "n2", 6, True)]:
        told = [event("a", 0)._replace(node="n1"), event(kind, second)._replace(node=node)]
        history = History(tuple(told), {}, (HOUR_LONG,), (), NOON, NOON + MINUTE)
        for asked, doubtful in ((one, not sure), (one._replace(clocks=()), False)):
            (match,) = judge(asked, part_of(asked, told), "", history, ENTRIES)
            assert bool(match.doubts) is doubtful


def matches(when, told, coverage=(HOUR_LONG,), **where):
    """Give every match of a sentence on events given as text or as they are."""
    told = events(told) if isinstance(told, str) else told
    begins = min((e.time for e in told), default=NOON)
    ends = max((e.ends for e in told), default=NOON)
    history = History(
        events=tuple(told), timelines=GivenTimelines(), coverage=tuple(coverage), versions=(), begins=begins, ends=ends
    )
    asked = rule(when, **where)
    return judge(asked, part_of(asked, told), "", history, ENTRIES)


def seconds(match):
    """Give for each name the seconds after noon of the events bound to it."""
    return {name: [round((e.time - NOON) / SECOND, 1) for e in bound] for name, bound in match.bound.items()}


NO, POSSIBLE, YES = "no", "possible", "yes"


def truth_of(match):
    """Give yes, or possible where there is a doubt."""
    return POSSIBLE if match.doubts else YES


def verdict(when, told, coverage=(HOUR_LONG,), **where):
    """Give no, yes or possible."""
    found = matches(when, told, coverage, **where)
    return truth_of(found[0]) if found else NO


@pytest.mark.parametrize(
    ("when", "told", "truth"),
    [
        ("a", "a", YES),
        ("a", "b", NO),
        ("a", "", NO),
        ("a then b", "a b", YES),
        ("a then b", "b a", NO),
        ("a then b then c", "a x b x c", YES),
        ("a then b then c", "a c b", NO),
        ("a then a", "a", NO),
        ("a then a", "a a", YES),
        ("a then a within 5s", "a@0 a@100", NO),
        ("a then b within 5s", "a@0 b@5", YES),
        ("a then b within 5s", "a@0 b@6", NO),
        ("a then b within 5s", "a@0 a@3 b@6", YES),
        ("at least 3 a", "a a a", YES),
        ("at least 3 a", "a a", NO),
        ("at least 3 a", "a*3+10", YES),
        ("at least 3 a", "a*2+10 a@60", YES),
        ("at least 3 a then b", "a a b@5 a@6", NO),
        ("a lasting 10s", "a@0 a@10", YES),
        ("a lasting 10s", "a@0 a@9", NO),
        ("a lasting 10s", "a*5+10", YES),
        ("at least 3 a lasting 10s", "a@0 a@10", NO),
        ("at least 3 a lasting 10s", "a@0 a@1 a@2", NO),
        ("at least 3 a lasting 10s", "a@0 a@1 a@2 a@10", YES),
        ("a then b", "b*9+10 a@5", YES),
        ("a then b", "b*9+10 a@15", NO),
        ("not b", "a", YES),
        ("a and not b", "a b", NO),
        ("a and not b", "a", YES),
        ("a or b", "b", YES),
        ("a or b", "c", NO),
        ("a and b", "b a", YES),
        ("a and b", "a", NO),
        ("a then c and b then c", "a b c", YES),
        ("a then c and b then c", "b@0 c@1 a@2 c@3", YES),
        ("a then b and b then c", "a@0 b@1 c@2", YES),
        ("a then b and b then c", "b@0 c@1 a@2 b@3", NO),
        ("a then b and at least 3 a", "a a a b", YES),
        ("a then b and at least 3 a", "a b", NO),
        ("a and not (at least 3 a)", "a a", YES),
        ("a and not (at least 3 a)", "a a a", NO),
        ("a and not (a then b)", "a", YES),
        ("a and not (a then b)", "b a", YES),
        ("a and not (a then b)", "a b", NO),
        ("(a or b) and c", "b c", YES),
        ("(a or b) and c", "a b", NO),
    ],
)
def test_chains_and_connectives(when, told, truth):
    """A chain holds when its events come in that order; `and` speaks of the same events in all of its terms."""
    assert verdict(when, told) is truth


@pytest.mark.parametrize(
    ("when", "told", "truth"),
    [
        ("a then b and no x between a and b", "a b", YES),
        ("a then b and no x between a and b", "a x b", NO),
        ("a then b and no x between a and b", "x a b x", YES),
        ("a then b and no x between a and b", "x@0*9+1 a@1 b@2", YES),
        ("a then b and no x between a and b", "x*9+5 a@2 b@8", NO),
        ("a and no x after a until end", "x a@1", YES),
        ("a and no x after a until end", "a@1 x@50", NO),
        ("a and no x after a within 30s", "a@1 x@50", YES),
        ("a and no x after a within 30s", "a@1 x@20", NO),
        ("a and no x after a within 30s", "a@1 x@31", NO),
        ("a and no x before a", "a x", YES),
        ("a and no x before a", "x a", NO),
        ("a and no x before a within 30s", "x@0 a@50", YES),
        ("a and no x before a within 30s", "x@25 a@50", NO),
        ("a and no x", "a", YES),
        ("a and no x", "a x", NO),
        ("a and no x", "x a", NO),
        ("no x after a until end and a", "a x@9 a@10", YES),
        ("a and not (no x after a until end)", "a x", YES),
        ("a and not (no x after a until end)", "a", NO),
        ("at least 2 a and no a after a until end", "a a", YES),
        ("a and no a before a", "a a", YES),
    ],
)
def test_absences(when, told, truth):
    """An absence is measured from the events bound to its names, and speaks of other events than those."""
    assert verdict(when, told) is truth


@pytest.mark.parametrize(
    ("lines", "truth"),
    [
        ([("a", 1, "log"), ("b", 2, "log")], YES),
        ([("a", 2, "log"), ("b", 1, "log")], NO),
        ([("a", 9, "a.log"), ("b", 1, "b.log")], YES),
        ([("a", 1, "log"), ("x", 2, "log"), ("b", 3, "log")], NO),
        ([("x", 1, "log"), ("a", 2, "log"), ("b", 3, "log")], YES),
        ([("a", 1, "log"), ("b", 2, "log"), ("x", 3, "log")], YES),
        ([("a", 1, "log"), ("b", 2, "log"), ("x", 1, "other")], NO),
    ],
)
def test_ties_in_time_go_by_the_log(lines, truth):
    """What one log holds in one microsecond has the order of its lines; between two logs it may have any."""
    told = [event(kind, 5, line, source=source) for kind, line, source in lines]
    told.sort(key=lambda e: (e.time, e.origin))
    assert verdict("a then b and no x between a and b", told) is truth


def test_the_shortest_run_of_each_end():
    """Of runs that end in one event the one that starts last is taken; each end gives one match."""
    assert [seconds(match) for match in matches("a then b", "a@0 a@1 b@2 a@3 b@4")] == [
        {"a": [1], "b": [2]},
        {"a": [3], "b": [4]},
    ]


def test_the_next_run_is_tried():
    """A volume that went through its cycle well the first time and not the second is found by the second."""
    when = "a then b then c and no x between b and c"
    assert [seconds(match) for match in matches(when, "a@0 b@1 x@2 c@3 a@10 b@11 c@13")] == [
        {"a": [10], "b": [11], "c": [13]}
    ]
    assert verdict(when, "a@0 b@1 x@2 c@3 a@10 b@11 x@12 c@13") is NO


def test_certain_matches_come_first():
    """A run that was watched to its end is told before one that was not."""
    found = matches("a and no x after a within 20s", "a@0 a@30", [watched(-9, 40)])
    assert [(truth_of(match), seconds(match)) for match in found] == [(YES, {"a": [0]}), (POSSIBLE, {"a": [30]})]


def watched(begins, ends, *, verbosity=4, gaps=(), component="kubelet", node=""):
    """Give a coverage in seconds after noon."""
    return Coverage(
        component=component,
        node=node,
        begins=NOON + begins * SECOND,
        ends=NOON + ends * SECOND,
        verbosity=verbosity,
        gaps=tuple(Gap(NOON + b * SECOND, NOON + e * SECOND, why) for b, e, why in gaps),
    )


def test_a_doubtful_absence_makes_a_match_possible():
    """What may only have gone unseen is a doubt of the match, also under a double no."""
    assert verdict("a and no x after a until end", "a@0 b@5", [watched(-9, 5)]) is POSSIBLE
    assert verdict("a and not (no x after a until end)", "a@0 b@5", [watched(-9, 5)]) is POSSIBLE
    assert verdict("a and not (no x after a until end)", "a@0 x@3 b@5", [watched(-9, 5)]) is YES


def test_a_match_without_its_proof_is_possible():
    """Without an event that would prove it a match is possible and says why; with it, it is certain and comes first."""
    told = rule("a then b or c")._replace(proof=Proof(("c",), "c was not seen"))
    unseen = Doubt(DoubtReason.PROOF, text="c was not seen")
    history = History(events=(), timelines=GivenTimelines(), coverage=(), versions=(), begins=NOON, ends=NOON)
    assert [match.doubts for match in judge(told, part_of(told, events("a b")), "", history, ENTRIES)] == [(unseen,)]
    assert [match.doubts for match in judge(told, part_of(told, events("a b c")), "", history, ENTRIES)] == [
        (),
        (unseen,),
    ]


def test_doubts_are_told_once():
    """Two absences that share a doubt tell it once."""
    (match,) = matches("a and no x after a until end and no d after a until end", "a@0", [watched(-9, 5)])
    assert len(match.doubts) == 1


@pytest.mark.parametrize(
    ("globs", "value", "fits"),
    [
        (("*busy*",), "device or resource busy", True),
        (("*busy*",), "not found", False),
        (("*busy*", "*found*"), "not found", True),
        (("!*busy*",), "not found", True),
        (("!*busy*",), "resource busy", False),
        (("*resource*", "!*busy*"), "resource busy", False),
        (("*resource*", "!*busy*"), "resource gone", True),
        (("*resource*", "!*busy*"), "not found", False),
        (("",), "", True),
        (("?*",), "", False),
        (("*BUSY*",), "busy", False),
    ],
)
def test_globs(globs, value, fits):
    """One of the globs must match and none of those that begin with `!`; letters count as they are."""
    assert selects(Selector(name="a", kinds=("a",), where={"error": globs}), event("a", 0, error=value)) is fits


@given(st.text("ab*", min_size=1, max_size=8) | st.text("ab*?[]!", min_size=1, max_size=8), st.text("ab\n", max_size=8))
def test_a_glob_is_what_it_is_elsewhere(glob, value):
    """Words between stars are found as a regex would find them."""
    is_refused = glob.startswith("!")
    meant = re.match(translate(glob.removeprefix("!")), value) is not None
    asked = Selector(name="a", kinds=("a",), where={"error": (glob,)})
    assert selects(asked, event("a", 0, error=value)) is (meant is not is_refused)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 12), st.integers(0, 6)), min_size=1, max_size=8),
    st.sampled_from(["a and no b", "a and no b after a", "a and no b before a", "no b between a and c"]),
)
def test_what_is_absent_from_a_window(told, when):
    """The last event decides as any would, however long polls before it went on."""
    made = [event("c", 13)] * ("c" in when)
    made += [event(kind, second, number + 1, lasts=lasts) for number, (kind, second, lasts) in enumerate(told)]
    made.sort(key=lambda one: (one.time, one.origin))
    one = rule(f"(a then c) and {when}" if "c" in when else when)
    history = History(tuple(made), {}, (HOUR_LONG,), (), NOON, NOON + MINUTE)
    for match in judge(one, part_of(one, made), "", history, ENTRIES):
        after = match.bound["a"][-1].time if "after" in when or "between" in when else history.begins
        before = match.bound[when[-1]][0].time if "before" in when or "between" in when else history.ends
        there = [b for b in made if b.kind == "b" and b.ends > after and b.time < before]
        assert not there


def test_a_selector_looks_at_names_values_and_the_speaker():
    """What a selector asks for may be a value of the line, a name on it, or the component that printed it."""
    told = event("a", 0, error="x")._replace(refs=(Ref("driver", "d.example.org"),), component="containerd")
    for where in ({"error": ("x",)}, {"driver": ("d.*",)}, {"component": ("containerd",)}):
        assert selects(Selector(name="a", kinds=("b", "a"), where=where), told)
    assert not selects(Selector(name="a", kinds=("b",)), told)
    assert not selects(Selector(name="a", kinds=("a",), where={"driver": ("e.*",), "error": ("x",)}), told)


def test_one_kind_under_two_names():
    """The same events may stand under several names, each with its own condition."""
    told = [event("a", 0, error="first"), event("a", 5, error="second")]
    where = {"a": {"error": ("first",)}}
    assert [seconds(m) for m in matches("a", told, **where)] == [{"a": [0]}]


WHENS = [
    "a then b then c",
    "a then b within 20s",
    "at least 2 a lasting 5s then b",
    "a then b and no c between a and b",
    "a and no b after a within 15s",
    "a and no b after a until end",
    "(a then b and not c) or (at least 3 d)",
    "a then b and not (b then c within 9s)",
]
timelines = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 100), st.integers(0, 20)), max_size=12, unique_by=lambda t: t[1]
)


@given(st.sampled_from(WHENS), timelines, st.integers(0, 100))
def test_an_irrelevant_event_changes_nothing(when, told, second):
    """An event that the sentence does not speak of leaves every match as it was."""
    some = [event(kind, at, lasts=lasts) for kind, at, lasts in sorted(told, key=lambda t: t[1])]
    more = sorted([*some, event("x", second + 0.5)], key=lambda e: (e.time, e.origin))
    coverage = [watched(-200, 300)]
    before, after = matches(when, some, coverage), matches(when, more, coverage)
    assert [(seconds(m), truth_of(m)) for m in before] == [(seconds(m), truth_of(m)) for m in after]


@given(timelines)
def test_a_chain_is_found_as_by_hand(told):
    """A chain of three holds just when three such events exist in that order."""
    some = [event(kind, at) for kind, at, _ in sorted(told, key=lambda t: t[1])]
    by_hand = any(
        (p.kind, q.kind, r.kind) == ("a", "b", "c") and p.time < q.time < r.time
        for p in some
        for q in some
        for r in some
    )
    assert (verdict("a then b then c", some) is YES) == by_hand


@given(timelines)
def test_every_match_is_true(told):
    """The events bound by a match are in order, and nothing of what must be absent lies between them."""
    some = [event(kind, at) for kind, at, _ in sorted(told, key=lambda t: t[1])]
    for match in matches("a then b and no c between a and b", some):
        (first,), (last,) = match.bound["a"], match.bound["b"]
        assert first.time < last.time
        assert not any(e.kind == "c" and first.time < e.time < last.time for e in some)


@pytest.mark.parametrize(
    ("when", "told", "truth"),
    [
        ("a then b", [event("a", 0), event("b", 1)], YES),
        ("a then b", [event("a", 0), event("b", 1, ambiguous="true")], POSSIBLE),
        ("a then b", [event("a", 0, ambiguous="true"), event("b", 1)], POSSIBLE),
        ("a then at least 2 b", [event("a", 0), event("b", 1), event("b", 2, ambiguous="true")], POSSIBLE),
        (
            "a then at least 2 b",
            [event("a", 0), event("b", 1), event("b", 1), event("b", 2, ambiguous="true")],
            POSSIBLE,
        ),
        ("a then b", [event("a", 0), event("b", 1, ambiguous="true"), event("b", 2)], YES),
    ],
)
def test_an_answer_that_may_be_that_of_another_call_proves_nothing(when, told, truth):
    """Which of several open calls a driver answers, its line does not say."""
    assert truth_of(matches(when, told)[0]) is truth
