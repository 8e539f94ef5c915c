"""What an analysis leaves out, as no rule asks for it, changes no finding."""

import pytest

from kvdiag.analysis.case import Case
from kvdiag.events.raw_events import UNKNOWN_PROCESS, EventMatch, RawEvent, ValueReader
from kvdiag.events.timestamp_reader import Process
from kvdiag.history.correlate.event_filter import filter_events
from kvdiag.model.rule import Selector
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.grammar import read_condition
from kvdiag.rules.required_kinds import kinds_of, rules_of_lines
from tests.rules.one_rule import one_rule

SECOND = 1_000_000


def told(finding):
    """Give all that a report says of a finding."""
    return (finding.key, finding.verdict, finding.severity, finding.role, finding.count, finding.says, finding.evidence)


def test_samples(thin):
    """With all events of a sample, and with those alone that a rule asks for, the findings are the same."""
    case = Case(thin.options)
    whole = case.findings(case.read().history)
    assert [told(one) for one in thin.report.findings] == [told(one) for one in whole]


def needed(rules, values_by_kind):
    """Give the kinds of the rules that can hold on such lines."""
    return kinds_of(rules_of_lines(rules, values_by_kind))


@pytest.mark.parametrize(
    ("heard", "kinds"),
    [
        ({"a"}, set()),
        ({"a", "b"}, {"a", "b", "c"}),
        ({"b", "c"}, set()),
    ],
)
def test_what_rules_ask_for(heard, kinds):
    """A rule of which one step was never heard of asks for nothing, any other for all of its events."""
    events = {name: Selector(name, (name,)) for name in "abc"}
    rule = one_rule(events=events, when=read_condition("a then b and no c after b", tuple(events), "here"))
    assert needed([rule], {kind: [EventMatch.known(Entry(kind, "kubelet", ()), (), {})] for kind in heard}) == kinds


def test_words_that_no_rule_looks_for():
    """A rule that looks for words which no line of that kind has asks for nothing; whose they are is seen later."""
    selectors = {"a": Selector("a", ("a",), {"error": ("*lost*",), "component": ("kubelet",)})}
    rule = one_rule(events=selectors, when=read_condition("a", ("a",), "here"))
    told = {word: EventMatch.known(Entry("a", "containerd", ()), (), {"error": word}) for word in ("lost", "found")}
    assert needed([rule], {"a": [told["found"]]}) == set()
    assert needed([rule], {"a": told.values()}) == {"a"}


def raw(kind, second, *names, links=True, process=UNKNOWN_PROCESS):
    """Give a raw event that names these things."""
    reading = ValueReader(lambda _values: ((), {}), (), tuple(range(len(names))), links)
    match = EventMatch(Entry(kind=kind, component="kubelet", wordings=()), reading, names)
    return RawEvent(second * SECOND, match, second, 0, process)


def test_who_is_who_stays():
    """Of a kind that nothing asks for the first line with each set of names stays, and what names one thing does not."""
    said = [
        raw("first", 0),
        raw("passed", 1, b"uid", b"id"),
        raw("passed", 2, b"uid", b"id"),
        raw("passed", 3, b"uid", b"other"),
        raw("alone", 4, b"uid", links=False),
        raw("asked", 5),
        raw("passed", 6),
        raw("last", 7),
    ]
    assert [one.line for one in filter_events(said, {"asked"})] == [0, 1, 3, 5, 7]


def test_the_last_word_before_a_start_stays():
    """Until then the process ran, so that nothing is missing before."""
    said = [raw("first", 0), *(raw("passed", second) for second in range(10, 20)), raw("kubelet.started", 60)]
    assert [one.line for one in filter_events([*said, raw("last", 61)], set())] == [0, 19, 60, 61]


def test_who_speaks_of_a_node_stays():
    """The first line of each node stays: lines that say none may be of the only one."""
    ours, other = Process("worker-1"), Process("worker-2")
    said = [raw("first", 0), *(raw("passed", second, process=ours) for second in (1, 2))]
    said += [raw("passed", 3, process=other), raw("passed", 4, process=ours), raw("last", 5)]
    assert [one.line for one in filter_events(said, set())] == [0, 1, 3, 5]
