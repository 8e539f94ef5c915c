"""Causes first, symptoms under the cause that explains them."""

from __future__ import annotations

import itertools

import pytest

from kvdiag.clock import DAY, SECOND
from kvdiag.model.report import Finding
from kvdiag.model.rule import Chain, ChainStep, Rule
from kvdiag.model.timeline import Entity, History, Timeline
from kvdiag.model.values import Role, Severity, SubjectKind, Verdict
from kvdiag.rules.rank import SLACK, TOUCH, rank

NOON = 1_720_008_000_000_000
POD, VOLUME, NODE = SubjectKind.POD, SubjectKind.VOLUME, SubjectKind.NODE


def finding(
    name, kind, key, begins, ends, *, explains=(), role=Role.CAUSE, severity=Severity.MEDIUM, node="", sure=True
):
    """Give a finding of a rule of that name, in seconds after noon."""
    rule = Rule(
        id="KV999",
        name=name,
        title="",
        severity=severity,
        status="stable",
        role=role,
        per=kind,
        events={},
        when=Chain((ChainStep("a"),)),
        says="",
        cause="",
        explains=tuple(explains),
    )
    return Finding(
        rule=rule,
        subject=Entity(kind=kind, key=key, name=key, ids={"node": node} if node else {}),
        verdict=Verdict.CONFIRMED if sure else Verdict.POSSIBLE,
        severity=severity,
        role=role,
        begins=NOON + begins * SECOND,
        ends=NOON + ends * SECOND,
        count=1,
        says="",
        cause="",
        fix=(),
        evidence=(),
    )


def ranked(findings, uses=()):
    """Give what each finding is explained by, in the order in which they are told; `uses` are links of subjects."""
    timelines = {
        (f.subject.kind, f.subject.key): Timeline(
            f.subject, (), frozenset(other for one, other in uses if one == (f.subject.kind, f.subject.key))
        )
        for f in findings
    }
    history = History(events=(), timelines=timelines, coverage=(), versions=(), begins=NOON, ends=NOON + DAY)
    return [(f.key, f.explained_by, f.role) for f in rank(findings, history)]


LINKED = [((POD, "p"), (VOLUME, "v"))]
CAUSE = finding("cause", VOLUME, "v", 0, 60, explains=["symptom"])


def test_a_symptom_is_folded_under_its_cause():
    """A cause that names a symptom, on a volume the pod uses, at the same time, explains it."""
    symptom = finding("symptom", POD, "p", 30, 600, severity=Severity.CRITICAL)
    assert ranked([symptom, CAUSE], LINKED) == [
        ("cause:volume:v", None, Role.CAUSE),
        ("symptom:pod:p", "cause:volume:v", Role.SYMPTOM),
    ]


@pytest.mark.parametrize(
    ("symptom", "uses"),
    [
        (finding("symptom", POD, "p", 30, 600), []),
        (finding("symptom", POD, "p", 30, 600), [((POD, "p"), (VOLUME, "other"))]),
        (finding("other", POD, "p", 30, 600), LINKED),
        (finding("symptom", POD, "p", 86400, 86460), LINKED),
        (finding("symptom", POD, "p", -86400, -86000), LINKED),
        (finding("symptom", VOLUME, "w", 30, 600), LINKED),
    ],
)
def test_what_is_not_explained(symptom, uses):
    """A finding on another subject, of another rule, or of another day is no symptom of the cause."""
    told = ranked([CAUSE, symptom], uses)
    assert {explained for _, explained, _ in told} == {None}


@pytest.mark.parametrize("uses", [LINKED, [((VOLUME, "v"), (POD, "p"))]])
def test_a_link_goes_both_ways(uses):
    """It does not matter which of the two subjects is known to use the other."""
    told = ranked([CAUSE, finding("symptom", POD, "p", 30, 600)], uses)
    assert {key: by for key, by, _ in told}["symptom:pod:p"] == "cause:volume:v"


@pytest.mark.parametrize(
    ("begins", "ends", "explained"),
    [
        (60 + TOUCH // SECOND, 9999, True),
        (61 + TOUCH // SECOND, 9999, False),
        (-9999, -TOUCH // SECOND, True),
        (-9999, -TOUCH // SECOND - 1, False),
        (-9999, 9999, True),
    ],
)
def test_times_must_touch(begins, ends, explained):
    """A symptom begins at most ten minutes after its cause ended, and ends at most ten before it began."""
    told = ranked([CAUSE, finding("symptom", POD, "p", begins, ends)], LINKED)
    assert any(by for _, by, _ in told) is explained


@pytest.mark.parametrize(
    ("begins", "node", "explained"),
    [
        (5, "n1", True),
        (-SLACK // SECOND, "n1", True),
        (-SLACK // SECOND - 1, "n1", False),
        (5, "n2", False),
        (5, "", True),
        (-DAY // SECOND, "n1", False),
        (DAY // SECOND, "n1", False),
    ],
)
def test_what_befell_a_node_explains_what_came_after(begins, node, explained):
    """A crash of the runtime explains what began after it on the same node, and never what happened on another day."""
    crash = finding("crash", NODE, "n1", 0, 0, explains=["symptom"], node="n1")
    told = ranked([crash, finding("symptom", POD, "p", begins, begins + 60, node=node)])
    assert any(by for _, by, _ in told) is explained


def test_a_chain_of_causes():
    """A cause may itself be the symptom of a deeper one; each names the next."""
    crash = finding("crash", NODE, "n1", 0, 5, explains=["orphan"], node="n1")
    orphan = finding("orphan", POD, "p", 10, 20, explains=["kept"], node="n1")
    kept = finding("kept", POD, "p", 30, 900, node="n1")
    for told in itertools.permutations([crash, orphan, kept]):
        by = {key: explained for key, explained, _ in ranked(list(told))}
        assert by == {"crash:node:n1": None, "orphan:pod:p@n1": "crash:node:n1", "kept:pod:p@n1": "orphan:pod:p@n1"}


def test_the_nearest_of_several_causes():
    """Of two causes the one of the same subject explains, then the graver one, then the earlier one."""
    symptom = finding("symptom", POD, "p", 30, 600)
    own = finding("own", POD, "p", 0, 60, explains=["symptom"], severity=Severity.LOW)
    grave = finding("grave", VOLUME, "v", 5, 60, explains=["symptom"], severity=Severity.CRITICAL)
    for causes, nearest in (([own, grave], "own:pod:p"), ([CAUSE, grave], "grave:volume:v")):
        for told in itertools.permutations([symptom, *causes]):
            assert {key: by for key, by, _ in ranked(list(told), LINKED)}["symptom:pod:p"] == nearest


def test_a_finding_does_not_explain_itself():
    """A rule that names itself makes no finding the symptom of itself."""
    told = ranked([finding("cause", VOLUME, "v", 0, 60, explains=["cause"])])
    assert told == [("cause:volume:v", None, Role.CAUSE)]


def test_order():
    """Causes come before symptoms, then the graver, the surer, and the earlier."""
    told = [
        finding("late", POD, "p", 9, 9, severity=Severity.HIGH),
        finding("symptom", POD, "p", 0, 9, severity=Severity.CRITICAL, role=Role.SYMPTOM),
        finding("mild", POD, "p", 0, 9, severity=Severity.INFO),
        finding("unsure", POD, "p", 0, 9, severity=Severity.HIGH, sure=False),
        finding("early", POD, "p", 1, 9, severity=Severity.HIGH),
    ]
    for order in itertools.permutations(told):
        names = [key.partition(":")[0] for key, _, _ in ranked(list(order))]
        assert names == ["early", "late", "unsure", "mild", "symptom"]
