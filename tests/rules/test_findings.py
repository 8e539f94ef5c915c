"""Rules over a history: on which subjects, with which events, counts and evidence."""

from __future__ import annotations

import random
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import HOUR, MINUTE, SECOND
from kvdiag.model.event import Event, Ref
from kvdiag.model.record import Origin
from kvdiag.model.report import Doubt, DoubtReason
from kvdiag.model.rule import Fix, Healing, Rule, Selector
from kvdiag.model.timeline import Coverage, Entity, History, SeenVersion, Timeline
from kvdiag.model.values import Role, Severity, SubjectKind, Verdict
from kvdiag.model.vocabulary import Entry
from kvdiag.report.phrases import format_doubt
from kvdiag.rules.findings import find
from kvdiag.rules.grammar import read_condition
from tests.timelines import GivenTimelines

NOON = 1_720_008_000_000_000
NAMES = ("a", "b", "c", "restarted")
ENTRIES = {name: Entry(kind=name, component="kubelet", wordings=()) for name in NAMES} | {
    "restarted": Entry(kind="restarted", component="kubelet", wordings=(), scope="node")
}
LETTERS = tuple(letter.encode() for letter in ascii_lowercase)  # each stands for the text of a line
VOLUME = (SubjectKind.VOLUME, "v")


def event(kind, second, *, node="", refs=(), count=1, lasts=0, source="log", **attrs):
    """Give an event so many seconds after noon."""
    time = NOON + round(second * SECOND)
    names = tuple(Ref(*ref) for ref in refs)
    return Event(
        time,
        kind,
        "kubelet",
        names,
        attrs,
        Origin(source, round(second) + 1),
        node,
        LETTERS,
        time + lasts * SECOND,
        count,
        LETTERS.index(kind[:1].encode()),
    )


def history(timelines, versions=()):
    """Give a history of these timelines, watched all the time by kubelet."""
    told = {id(e): e for events in timelines.values() for e in events}
    events = tuple(sorted(told.values(), key=lambda e: (e.time, e.origin)))
    return History(
        events=events,
        timelines=GivenTimelines(
            (key, Timeline(Entity(kind=key[0], key=key[1], name=key[1]), tuple(mine)))
            for key, mine in timelines.items()
        ),
        coverage=(Coverage(component="kubelet", node="", begins=0, ends=NOON + 24 * HOUR, verbosity=9),),
        versions=tuple(versions),
        begins=min((e.time for e in events), default=0),
        ends=max((e.ends for e in events), default=0),
    )


def rule(when, per=SubjectKind.VOLUME, **more):
    """Give a rule; each name stands for the kind of the same name."""
    said = {"says": "", "cause": "", "severity": Severity.LOW, "role": Role.CAUSE} | more
    return Rule(
        id="KV999",
        name="test",
        title="",
        status="stable",
        per=per,
        events={name: Selector(name=name, kinds=(name,)) for name in NAMES},
        when=read_condition(when, NAMES, "here"),
        **said,
    )


def found(one, timelines, versions=()):
    """Give the findings of one rule."""
    return list(find([one], history(timelines, versions), ENTRIES))


def rows(finding):
    """Give the evidence as (name, seconds after noon, how many)."""
    return [(e.step, (e.event.time - NOON) // SECOND, e.total) for e in finding.evidence]


def test_a_finding():
    """A finding says what matched, on whom, from when to when, how often, and how sure that is."""
    told = {VOLUME: [event("a", 0, refs=[("pod", "shop/web-0")]), event("b", 5, error="busy"), event("b", 65)]}
    (one,) = found(rule("a then b", says="{volume} of {pod}: {error}, {often}", cause="Since {span}."), told)
    assert (one.verdict, one.severity, one.role) == (Verdict.CONFIRMED, Severity.LOW, Role.CAUSE)
    assert (one.begins, one.ends, one.count) == (NOON, NOON + 65 * SECOND, 2)
    assert (one.says, one.texts.all.cause) == ("v of shop/web-0: busy, 2 times over 1m5s", "Since 1m5s.")
    assert (one.key, one.doubts, one.explained_by) == ("test:volume:v", (), None)


@pytest.mark.parametrize(
    ("heading", "full", "row"),
    [
        ("Unmount fails: busy[[, {volume}]]", "Unmount fails: busy, v", "Unmount fails: busy"),
        ("{volume} of {pod} is busy", "v of shop/web-0 is busy", "Busy"),
        ("Busy: {pod}", "Busy: shop/web-0", "Busy: shop/web-0"),
        ("Busy: {image}", "Busy", "Busy"),
        ("", "Busy", "Busy"),
    ],
)
def test_a_heading(heading, full, row):
    """The title names the object, in a row only what the row does not show; without a name that it needs it is plain."""
    told = {VOLUME: [event("a", 0, refs=[("pod", "shop/web-0")])]}
    (one,) = found(rule("a")._replace(title="Busy", heading=heading), told)
    assert (one.title, one.row_title) == (full, row)


@pytest.mark.parametrize(
    ("when", "more", "events", "count"),
    [
        ("a then b", {}, [event("a", 0), event("b", 1), event("b", 2)], 2),
        ("a then b", {"counts": "a"}, [event("a", 0), event("a", 1), event("b", 2)], 1),
        ("at least 2 b", {}, [event("b", 0, count=40, lasts=30), event("b", 90)], 41),
        ("a then b", {"counts": "c"}, [event("a", 0), event("b", 1)], 1),
        ("a then b", {}, [event("b", -9), event("a", 0), event("b", 1)], 1),
        ("a then b", {}, [event("a", 0), event("b", 1), event("b", 1)], 1),
        ("a then b", {}, [event("a", 0), event("b", 1), event("b", 1)._replace(text_at=9)], 2),
        ("a or b", {"counts": "c"}, [event("a", 0), event("b", 0)._replace(text_at=0)], 1),
    ],
)
def test_counts(when, more, events, count):
    """The count is of the events of the last name the sentence needs, or of `counts`, polls folded into one included.

    A line that tells of it in two ways tells of it once; of JSON in one line each entry is a line.
    """
    (one,) = found(rule(when, **more), {VOLUME: sorted(events, key=lambda e: e.time)})
    assert one.count == count


def test_evidence_is_unique_and_in_order():
    """Evidence is the first and last line of each series, each once, in order of time."""
    told = {VOLUME: [event("a", 0), event("b", 1), event("b", 2), event("c", 3), event("b", 4), event("c", 900)]}
    (one,) = found(rule("a then b", shows=("c", "b")), told)
    assert rows(one) == [("a", 0, 1), ("b", 1, 3), ("c", 3, 2), ("b", 4, 3), ("c", 900, 2)]


def test_evidence_counts_lines():
    """A line that tells of it in two ways is one of as many lines as there are."""
    (one,) = found(rule("a then b"), {VOLUME: [event("a", 0), event("b", 1), event("b", 1), event("b", 4)]})
    assert rows(one) == [("a", 0, 1), ("b", 1, 2), ("b", 4, 2)]


def test_what_led_to_it_is_shown():
    """Of what a sentence may follow from, the last within five minutes before it is shown."""
    told = {VOLUME: [event("c", -900), event("c", -90), event("c", -60), event("a", 0), event("b", 1), event("c", 2)]}
    (one,) = found(rule("a then b", follows=("c",)), told)
    assert rows(one) == [("c", -60, 1), ("a", 0, 1), ("b", 1, 1)]


def test_one_finding_a_subject():
    """Each subject of the rule's kind is judged alone; the events of two are never one run."""
    told = {
        (SubjectKind.VOLUME, "v1"): [event("a", 0), event("b", 1)],
        (SubjectKind.VOLUME, "v2"): [event("a", 2)],
        (SubjectKind.VOLUME, "v3"): [event("b", 3)],
        (SubjectKind.POD, "p"): [event("a", 4), event("b", 5)],
    }
    assert [one.key for one in found(rule("a then b"), told)] == ["test:volume:v1"]


def test_one_finding_a_node():
    """A volume that is used on two nodes is judged on each by what happened there."""
    told = {VOLUME: [event("a", 0, node="n1"), event("a", 1, node="n2"), event("b", 2, node="n2")]}
    assert [one.subject.ids["node"] for one in found(rule("a then b"), told)] == ["n2"]
    assert [one.subject.ids["node"] for one in found(rule("a"), told)] == ["n1", "n2"]


def test_events_of_the_node_are_looked_at():
    """A rule about a volume sees what befell its node within an hour, and not what befell another."""
    when = "a and no restarted after a until end"
    node = (SubjectKind.NODE, "n1")
    mine = [event("a", 0, node="n1")]
    assert found(rule(when), {VOLUME: mine, node: [event("restarted", 60, node="n1")]}) == []
    assert len(found(rule(when), {VOLUME: mine, node: [event("restarted", 2 * 3600, node="n1")]})) == 1
    other = (SubjectKind.NODE, "n2")
    assert len(found(rule(when), {VOLUME: mine, other: [event("restarted", 60, node="n2")]})) == 1


def test_a_rule_about_a_node_looks_at_all_of_it():
    """What happened to any subject of the node counts for a rule about the node."""
    told = {
        (SubjectKind.NODE, "n1"): [event("restarted", 0, node="n1")],
        (SubjectKind.POD, "p"): [event("a", 5, node="n1"), event("b", 6, node="n2")],
    }
    assert [one.key for one in found(rule("restarted then a", per=SubjectKind.NODE), told)] == ["test:node:n1"]
    assert found(rule("restarted then b", per=SubjectKind.NODE), told) == []


def test_the_same_in_all():
    """`same` divides the events: those that differ in it are never one run, those that do not say it are in each."""
    first, second = {"refs": [("pod_uid", "u1")]}, {"refs": [("pod_uid", "u2")]}
    alike = rule("a then b", same=("pod_uid",))
    assert found(alike, {VOLUME: [event("a", 0, **first), event("b", 1, **second)]}) == []
    (one,) = found(alike, {VOLUME: [event("a", 0, **first), event("a", 1, **second), event("b", 2, **second)]})
    assert one.subject.ids["pod_uid"] == "u2"
    (one,) = found(alike, {VOLUME: [event("a", 0), event("b", 1, **second)]})
    assert rows(one) == [("a", 0, 1), ("b", 1, 1)]
    assert len(found(alike, {VOLUME: [event("a", 0), event("b", 1)]})) == 1


def test_the_surest_of_its_parts():
    """Of the parts a rule divides a volume into, one that matches for sure is told rather than one that may."""
    told = [
        event("a", 0, refs=[("pod_uid", "u1")]),
        event("b", 1, refs=[("pod_uid", "u1")]),
        event("a", 3, refs=[("pod_uid", "u2")]),
    ]
    one = rule("a and (b or no c after a until end)", same=("pod_uid",))
    watched = history({VOLUME: told})
    (sure,) = find([one], watched, ENTRIES)
    assert (sure.verdict, sure.subject.ids["pod_uid"]) == (Verdict.CONFIRMED, "u1")


def test_versions():
    """A rule is not told where a version rules it out; a version nobody saw is a doubt that leaves the verdict."""
    told = {VOLUME: [event("a", 0)]}
    narrow = rule("a", applies={"kubelet": "<1.27"})
    assert found(narrow, told, [SeenVersion("kubelet", "v1.28.0", "banner")]) == []
    (sure,) = found(narrow, told, [SeenVersion("kubelet", "v1.26.0", "banner")])
    (unseen,) = found(narrow, told)
    assert (sure.doubts, unseen.verdict) == ((), Verdict.CONFIRMED)
    assert [format_doubt(doubt) for doubt in unseen.doubts] == [
        "kubelet version not found in these logs; this rule applies to <1.27 (set it with --component kubelet=…)"
    ]


def test_a_rule_is_not_told_of_a_moment_whose_version_rules_it_out():
    """Of a log that goes over an upgrade each match is held against the version that ran then."""
    versions = [
        SeenVersion("kubelet", "1.26.0", "banner", time=NOON - SECOND),
        SeenVersion("kubelet", "1.27.0", "banner", time=NOON + 10 * SECOND),
    ]
    narrow = rule("a", applies={"kubelet": "<1.27"})
    assert found(narrow, {VOLUME: [event("a", 20)]}, versions) == []
    (early,) = found(narrow, {VOLUME: [event("a", 5), event("a", 20)]}, versions)
    assert rows(early)[0] == ("a", 5, 2)


HEALING = Healing(("b",), "was {volume} for {span}")


@pytest.mark.parametrize(
    ("seconds", "healed"),
    [({"a": [0, 5], "b": [9]}, 9), ({"a": [0, 5], "b": [3]}, None), ({"a": [0, 5], "b": []}, None)],
)
def test_what_healed(seconds, healed):
    """What ended after the last failure is told as over: milder, and without the steps that change something."""
    told = [event(kind, second) for kind, all_of in seconds.items() for second in all_of]
    steps = (Fix("look", "ls"), Fix("repair", "rm", "it is safe"))
    one = rule("a", healed=HEALING, says="is {volume}", severity=Severity.HIGH, fix=steps)
    (finding,) = found(one, {VOLUME: sorted(told, key=lambda e: e.time)})
    over = healed is not None
    assert finding.healed == (NOON + healed * SECOND if over else None)
    assert (finding.severity, finding.says) == ((Severity.MEDIUM, "was v for 5s") if over else (Severity.HIGH, "is v"))
    assert [fix.run for fix in finding.texts.all.fix] == (["ls"] if over else ["ls", "rm"])


def test_what_is_for_information_changes_nothing():
    """Under a note no command changes anything."""
    steps = (Fix("look", "ls"), Fix("repair", "rm", "it is safe"))
    (finding,) = found(rule("a", severity=Severity.INFO, fix=steps), {VOLUME: [event("a", 0)]})
    assert [fix.run for fix in finding.texts.all.fix] == ["ls"]


@pytest.mark.parametrize(("second", "healed"), [(14, None), (15, None), (16, 16)])
def test_what_heals_only_later(second, healed):
    """With `after` the fault is over only by what comes so much later than its last line."""
    one = rule("a", healed=HEALING._replace(after=15 * SECOND))
    (finding,) = found(one, {VOLUME: [event("a", 0), event("b", second)]})
    assert finding.healed == (healed and NOON + healed * SECOND)


def test_a_doubt_makes_a_finding_possible():
    """What could not be seen is told as doubt, and the finding is only possible."""
    told = history({VOLUME: [event("a", 0)]})
    blind = History(
        events=told.events,
        timelines=told.timelines,
        coverage=(),
        versions=(),
        begins=told.begins,
        ends=told.ends,
    )
    (one,) = find([rule("a and no b after a within 1m")], blind, ENTRIES)
    assert (one.verdict, one.doubts) == (Verdict.POSSIBLE, (Doubt(DoubtReason.NO_LOG, "kubelet", NOON),))


@pytest.mark.parametrize(("first", "second"), [("z-controller", "kubelet"), ("a-controller", "kubelet")])
def test_without_any_log_the_doubt_names_that_of_the_first_kind(first, second):
    """Of several components that would show that a fault ended, the first of the rule is the one to collect."""
    told = history({VOLUME: [event("a", 0)]})._replace(coverage=())
    entries = ENTRIES | {
        "b": Entry(kind="b", component=first, wordings=()),
        "c": Entry(kind="c", component=second, wordings=()),
    }
    one = rule("a and no b after a within 1m")
    one = one._replace(events=one.events | {"b": Selector(name="b", kinds=("b", "c"))})
    (finding,) = find([one], told, entries)
    assert [doubt.component for doubt in finding.doubts] == [first]


def test_what_is_possible_has_a_severity_of_its_own():
    """A rule may tell what is only possible, or what passed by itself, at another severity than what is sure."""
    told = history({VOLUME: [event("a", 0)]})
    blind = told._replace(coverage=())
    one = rule("a and no b after a within 1m", severity=Severity.HIGH, possible=Severity.INFO)
    assert [finding.severity for finding in find([one], told, ENTRIES)] == [Severity.HIGH]
    assert [finding.severity for finding in find([one], blind, ENTRIES)] == [Severity.INFO]
    healed = history({VOLUME: [event("a", 0), event("b", 5)]})
    passed = rule("a", severity=Severity.HIGH, healed=HEALING._replace(severity=Severity.LOW))
    assert [finding.severity for finding in find([passed], healed, ENTRIES)] == [Severity.LOW]


def test_a_poll_is_cut_by_what_happened_meanwhile():
    """Waiting that goes on after a try is found, however the waiting before it was folded with the waiting after."""
    when = "at least 3 a lasting 20s and no b after a until end"
    poll = event("a", 0, count=11, lasts=100)
    (one,) = found(rule(when), {VOLUME: [poll, event("b", 35)]})
    assert ((one.begins - NOON) // SECOND, (one.ends - NOON) // SECOND, one.count) == (0, 100, 11)
    assert rows(one) == [("a", 0, 11)]
    assert found(rule(when), {VOLUME: [poll, event("b", 95)]}) == []
    assert found(rule("b then a within 5s"), {VOLUME: [poll, event("b", 35)]})[0].count == 11


RULES = [
    rule("a then b"),
    rule("at least 2 a lasting 10s"),
    rule("a and no b after a within 30s", shows=("c",)),
    rule("a then b and no restarted between a and b", same=("pod_uid",)),
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            st.integers(0, 300),
            st.sampled_from(["v1", "v2"]),
            st.sampled_from(["u1", "u2", ""]),
        ),
        max_size=14,
        unique_by=lambda told: told[1],
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_in_which_sources_are_read_does_not_matter(told, chance: random.Random):
    """However timelines and rules are shuffled, the findings are the same."""
    timelines: dict[tuple[SubjectKind, str], list[Event]] = {}
    for kind, second, volume, uid in sorted(told, key=lambda row: row[1]):
        refs = [("pod_uid", uid)] if uid else []
        made = event(kind, second, refs=refs, source=f"{second % 3}.log")
        timelines.setdefault((SubjectKind.VOLUME, volume), []).append(made)
        if kind == "restarted":
            timelines.setdefault((SubjectKind.NODE, ""), []).append(made)
    shuffled = list(timelines.items())
    chance.shuffle(shuffled)
    rules = list(RULES)
    chance.shuffle(rules)

    def keys(findings):
        return sorted((f.key, f.verdict, f.begins, f.ends, f.count, rows(f), repr(f.rule.when)) for f in findings)

    one = find(RULES, history(timelines), ENTRIES)
    assert keys(one) == keys(find(rules, history(dict(shuffled)), ENTRIES))


def test_no_rule_no_finding():
    """Where nothing is asked, or nothing happened, nothing is found."""
    assert found(rule("a"), {VOLUME: []}) == []
    assert list(find([], history({VOLUME: [event("a", MINUTE // SECOND)]}), ENTRIES)) == []
