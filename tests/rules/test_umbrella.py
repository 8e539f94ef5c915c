"""A rule that only says that a step fails is not judged where another finding explains all that it may find."""

from __future__ import annotations

import pytest

from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.rule import Chain, ChainStep, Healing, Selector
from kvdiag.model.timeline import Entity, History, Timeline
from kvdiag.model.values import Role, Severity, SubjectKind, Verdict
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.findings import find
from kvdiag.rules.rank import TOUCH, rank
from kvdiag.rules.umbrella import Umbrellas
from tests.rules.one_rule import one_rule
from tests.timelines import GivenTimelines

NOON = 1_720_008_000_000_000
WHEN = Chain((ChainStep("a"),))
BUSY = one_rule(name="busy", breaks=("volume.unpublish",), events={"a": Selector("a", ("busy",))}, when=WHEN)
FAILS = one_rule(
    name="fails",
    role=Role.SYMPTOM,
    suffers=("volume.unpublish",),
    events={"a": Selector("a", ("failed",))},
    when=WHEN,
    never_explains=("*",),
)
KINDS = ("busy", "failed", "done")


def event(line, kind, at, attrs):
    """Give an event about the pod, so long after noon."""
    return Event(NOON + at, kind, "kubelet", (), attrs, Origin("k.log", line), "n1", (b"",), NOON + at)


def history(failed_at, **attrs):
    """Give a pod whose volume is busy at noon, and whose unmount fails then."""
    events = (event(1, "busy", 0, attrs), event(2, "failed", failed_at, attrs), event(3, "done", 1, {}))
    pod = Entity(SubjectKind.POD, "p", "p", {"node": "n1"})
    ordered = tuple(sorted(events, key=lambda one: one.time))
    return History(
        ordered, GivenTimelines({(pod.kind, pod.key): Timeline(pod, ordered)}), (), (), NOON, NOON + failed_at
    )


@pytest.mark.parametrize(
    ("why", "fails", "failed_at", "attrs", "is_judged"),
    [
        ({}, {}, 0, {}, False),
        ({}, {}, TOUCH, {}, False),
        ({}, {}, TOUCH + 1, {}, True),
        ({"severity": Severity.INFO}, {}, 0, {}, True),
        ({"breaks": ()}, {}, 0, {}, True),
        ({"healed": Healing(("done",), "")}, {}, 0, {}, True),
        ({}, {"role": Role.CAUSE}, 0, {}, False),
        ({}, {"never_explains": ()}, 0, {}, True),
        ({}, {"explains": ("busy",)}, 0, {}, True),
        ({}, {}, 0, {"image": "app:1"}, True),
    ],
)
def test_a_rule_is_not_judged_only_where_its_findings_are_left_out(
    why, fails, failed_at, attrs, is_judged, monkeypatch
):
    """The report is the same whether it is judged or not."""
    events = {"a": Selector("a", ("busy",)), "done": Selector("done", ("done",))}
    rules = (BUSY._replace(events=events, **why), FAILS._replace(**fails))
    entries, told = {kind: Entry(kind, "kubelet", ()) for kind in KINDS}, history(failed_at, **attrs)
    found = list(find(rules, told, entries))
    assert ("fails" in {one.rule.name for one in found}) is is_judged

    monkeypatch.setattr(Umbrellas, "is_explained", lambda *_: False)
    everything = list(find(rules, told, entries))
    assert {one.rule.name for one in everything} == {"busy", "fails"}
    assert rank(found, told) == rank(everything, told)


def test_a_finding_that_nobody_asked_for_explains_nothing():
    """With `--severity` or without possible findings, the rule that is left says that the step fails."""
    entries, told = {kind: Entry(kind, "kubelet", ()) for kind in KINDS}, history(0)
    found = find((BUSY, FAILS), told, entries, is_requested=lambda one: one.rule.name != "busy")
    assert [(one.rule.name, one.verdict) for one in found] == [("fails", Verdict.CONFIRMED)]
