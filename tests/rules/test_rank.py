"""Causes first, symptoms under the cause that explains them."""

from __future__ import annotations

import itertools

import pytest

from kvdiag.base.clock import DAY, SECOND
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.report import Evidence, Finding, FindingTexts
from kvdiag.model.rule import Chain, ChainStep, Rule, Selector
from kvdiag.model.timeline import Coverage, Entity, History, Timeline
from kvdiag.model.values import Role, Severity, SubjectKind, Verdict
from kvdiag.rules.library import load_rule_store
from kvdiag.rules.rank import MONITOR_DELAY, SLACK, TOUCH, rank
from tests.rules.one_rule import one_rule
from tests.timelines import GivenTimelines

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
        evidence=(),
        texts=FindingTexts(),
    )


def ranked(findings, uses=()):
    """Give what each finding is explained by, in the order in which they are told; `uses` are links of subjects."""
    timelines = {(f.subject.kind, f.subject.key): Timeline(f.subject, ()) for f in findings}
    linked = {key: frozenset(other for one, other in uses if one == key) for key in timelines}
    history = History((), GivenTimelines(timelines, linked), (), (), NOON, NOON + DAY)
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


def about(rule, key="p", begins=0, ends=60, node="n1", kind=None, **changes):
    """Give a finding of a rule that comes with kvdiag, beginning and ending at these seconds."""
    made = finding(rule, kind or RULES[rule].per, key, begins, ends, node=node)
    return made._replace(rule=RULES[rule], role=RULES[rule].role, **changes)


RULES = {rule.name: rule for rule in load_rule_store([builtin_patterns()])}
HEALED = {"healed": NOON + 60 * SECOND}
INFO = {"severity": Severity.INFO}
POSSIBLE = {"verdict": Verdict.POSSIBLE}
OF_NODE = {"kind": NODE, "key": "n1"}


@pytest.mark.parametrize(
    ("cause", "symptom", "explained"),
    [
        # along what is needed: a runtime that crashed is not reached, so that the node is not ready
        (about("containerd-crash", **OF_NODE), about("runtime-unavailable", begins=5, **OF_NODE), True),
        (about("containerd-crash", **OF_NODE), about("node-not-ready", begins=5, **OF_NODE), True),
        # what has its own reason is no symptom of a wider fault
        (about("runtime-hung", **OF_NODE), about("image-pull-not-found", begins=5), False),
        # node ⊃ pod, and not the other way round
        (about("eviction-disk-pressure", **OF_NODE), about("crashloop-app", begins=5), True),
        (about("eviction-disk-pressure", **OF_NODE), about("crashloop-app", begins=5, node="n2"), False),
        (about("sandbox-create-hung"), about("node-not-ready", begins=5, **OF_NODE), False),
        # a pod whose lines do not name it stands for any of its node
        (about("sandbox-create-hung"), about("reserve-sandbox-name", begins=5, **OF_NODE), True),
        (about("sandbox-create-hung", key="other"), about("reserve-sandbox-name", begins=5), False),
        # pod – volume
        (about("cifs-permission-denied", key="v"), about("mount-timeout-umbrella", begins=5), True),
        (about("cifs-permission-denied", key="w"), about("mount-timeout-umbrella", begins=5), False),
        # of two symptoms the nearer one explains, and never a cause
        (about("volume-error-permanent", key="v"), about("mount-timeout-umbrella", begins=5), True),
        (about("kernel-hung-task", **OF_NODE), about("kill-container-deadline", begins=5), False),
        # broken when it began
        (about("runtime-hung", **OF_NODE), about("pleg-not-healthy", begins=-MONITOR_DELAY // SECOND, **OF_NODE), True),
        (
            about("runtime-hung", **OF_NODE),
            about("pleg-not-healthy", begins=-MONITOR_DELAY // SECOND - 1, **OF_NODE),
            False,
        ),
        (about("eviction-disk-pressure", **OF_NODE), about("crashloop-app", begins=-11), False),
        (about("runtime-hung", **OF_NODE, **HEALED), about("pleg-not-healthy", begins=70, **OF_NODE), True),
        (about("runtime-hung", **OF_NODE, **HEALED), about("pleg-not-healthy", begins=71, **OF_NODE), False),
        # what is possible explains no certain cause, what is for information no alarm
        (about("containerd-crash", **OF_NODE, **POSSIBLE), about("runtime-unavailable", begins=5, **OF_NODE), False),
        (about("containerd-crash", **OF_NODE, **POSSIBLE), about("node-not-ready", begins=5, **OF_NODE), True),
        (about("containerd-crash", **OF_NODE, **INFO), about("node-not-ready", begins=5, **OF_NODE), False),
    ],
    ids=lambda one: one.rule.name if isinstance(one, Finding) else "",
)
def test_what_capabilities_explain(cause, symptom, explained):
    """A symptom is folded if its capability needs what the cause broke, of a linked entity, before it began."""
    for order in ([cause, symptom], [symptom, cause]):
        by = {key: above for key, above, _ in ranked(order, LINKED)}
        assert by[symptom.key] == (cause.key if explained else None)
        assert by[cause.key] is None


def test_a_driver_is_that_of_all_its_volumes():
    """A driver that answers nobody explains what befalls pods of its other volumes, and not those of another driver."""
    hung = about("csi-driver-hung", key="v")
    hung = hung._replace(subject=hung.subject._replace(ids={"node": "n1", "driver": "csi.example.org"}))
    waits = about("mount-timeout-umbrella", begins=5)
    for driver, by in (("csi.example.org", hung.key), ("other.example.org", None)):
        used = Entity(VOLUME, "w", "w", {"node": "n1", "driver": driver})
        timelines = {(POD, "p"): Timeline(waits.subject, ()), (VOLUME, "w"): Timeline(used, ())}
        linked = {(POD, "p"): frozenset({(VOLUME, "w")})}
        history = History((), GivenTimelines(timelines, linked), (), (), NOON, NOON + DAY)
        assert {one.key: one.explained_by for one in rank([waits, hung], history)}[waits.key] == by


def test_the_deepest_cause_explains_and_the_way_is_told():
    """Of a chain of faults the first explains all; what lies between is told in order."""
    chain = [
        about("containerd-panic-concurrent-map", **OF_NODE),
        about("containerd-crash", begins=1, **OF_NODE),
        about("runtime-unavailable", begins=2, **OF_NODE),
        about("pleg-not-healthy", begins=3, **OF_NODE),
        about("node-not-ready", begins=4, **OF_NODE),
    ]
    for order in itertools.permutations(chain):
        told = {
            one.rule.name: one for one in rank(list(order), History((), GivenTimelines(), (), (), NOON, NOON + DAY))
        }
        assert {one.explained_by for name, one in told.items() if name != chain[0].rule.name} == {chain[0].key}
        assert told["node-not-ready"].through == ("containerd-crash", "runtime-unavailable", "pleg-not-healthy")


def test_two_causes_at_one_depth_both_stay():
    """Neither of two broken things that need nothing of each other hides the other."""
    found = [
        about("eviction-disk-pressure", **OF_NODE),
        about("kubelet-dir-no-space", **OF_NODE),
        about("crashloop-app"),
    ]
    assert [by is None for _, by, _ in ranked(found)] == [True, True, False]


def test_an_own_cause_goes_before_a_wider_one():
    """A pod whose program is missing does not wait for the node's disk."""
    own = about("container-command-not-found")
    told = ranked([about("eviction-disk-pressure", **OF_NODE), own, about("crashloop-app", begins=5)])
    assert {key: by for key, by, _ in told}["crashloop-app:pod:p@n1"] == own.key


def with_line(made, step, line=1):
    """Give a finding that rests on a line, as its rule calls it."""
    event = Event(NOON, "kind", "kubelet", (), {}, Origin("kubelet.log", line), "n1", (b"",), NOON)
    return made._replace(evidence=(*made.evidence, Evidence(step, event)))


def test_of_one_line_the_narrower_rule_tells():
    """Two rules of one capability and one line: the one that asks more of the line explains the other."""
    wide = one_rule(name="wide", breaks=("image.pull",), events={"failed": Selector("failed", ("pull.failed",))})
    narrow = Selector("refused", ("pull.failed",), {"error": ("*429*",)})
    narrow = one_rule(name="narrow", breaks=("image.pull",), events={"refused": narrow})
    found = [
        with_line(finding("wide", POD, "p", 0, 60)._replace(rule=wide), "failed"),
        with_line(finding("narrow", POD, "p", 0, 60)._replace(rule=narrow), "refused"),
    ]
    for order in itertools.permutations(found):
        assert {key: by for key, by, _ in ranked(list(order))} == {"wide:pod:p": "narrow:pod:p", "narrow:pod:p": None}
    apart = [found[0], found[1]._replace(evidence=with_line(found[0]._replace(evidence=()), "failed", 2).evidence)]
    assert {by for _, by, _ in ranked(apart)} == {None}


def test_a_guess_without_a_line_of_its_own_adds_nothing():
    """What may be the cause, by a line that a certain symptom shows, is told under that; by another line it explains."""
    late = with_line(about("runtime-hung", **OF_NODE, **POSSIBLE), "late")
    stale = with_line(with_line(about("pleg-not-healthy", **OF_NODE), "stale", 2), "failing")
    assert {key: by for key, by, _ in ranked([late, stale])} == {late.key: stale.key, stale.key: None}
    late = with_line(late, "late", 3)
    assert {key: by for key, by, _ in ranked([late, stale])} == {late.key: None, stale.key: late.key}


@pytest.mark.parametrize(("key", "by"), [("explains", "a:pod:p"), ("never_explains", None)])
def test_a_rule_may_say_it_otherwise(key, by):
    """What `explains` and `never-explains` name goes before capabilities."""
    other = {"breaks": ("volume.detach",)} if key == "explains" else {"breaks": ("container.run",)}
    cause = finding("a", POD, "p", 0, 60)._replace(rule=one_rule(name="a", **other, **{key: ("b",)}))
    symptom = finding("b", POD, "p", 0, 60)._replace(rule=one_rule(name="b", suffers=("container.run",)))
    assert {k: above for k, above, _ in ranked([symptom, cause])}["b:pod:p"] == by


def test_explanations_make_no_ring():
    """Two rules that name each other do not both vanish."""
    found = [finding("a", POD, "p", 0, 60, explains=["b"]), finding("b", POD, "p", 0, 60, explains=["a"])]
    for order in itertools.permutations(found):
        assert {key: by for key, by, _ in ranked(list(order))} == {"a:pod:p": "b:pod:p", "b:pod:p": None}


def test_a_symptom_without_a_cause_says_what_to_collect():
    """By what its capability needs, without the logs that are there, for its own time; a cause says nothing of that."""
    waits = about("reserve-sandbox-name")
    seen = Coverage("containerd", "n1", NOON, NOON + DAY, 0)
    (told,) = rank([waits], History((), GivenTimelines(), (seen,), (), NOON, NOON + DAY))
    assert (
        told.collect[0]
        == "journalctl _TRANSPORT=kernel --since '2024-07-03 11:50:00 UTC' --until '2024-07-03 12:02:00 UTC'"
    )
    assert not any("containerd" in command for command in told.collect)
    explained = rank([waits, about("sandbox-create-hung")], History((), GivenTimelines(), (), (), NOON, NOON + DAY))
    assert [one.collect for one in explained] == [(), ()]


def named(one, **ids):
    """Give a finding whose lines name these objects."""
    return one._replace(subject=one.subject._replace(ids={**one.subject.ids, **ids}))


@pytest.mark.parametrize(
    ("mine", "others", "is_explained"),
    [
        ({"image": "quay.io/a/b:1"}, {"image": "quay.io/a/b:1"}, True),
        ({"image": "quay.io/a/b:1"}, {"image": "a/b:1"}, True),
        ({"image": "quay.io/a/b:1"}, {"image": "docker.io/c/d:1"}, False),
        ({"image": "quay.io/a/b:1"}, {}, True),
        ({"container_name": "app"}, {"container_name": "proxy"}, False),
        ({"container_name": "app", "image": "a"}, {"container_name": "app"}, True),
        ({"device": "/dev/sda"}, {"device": "sda1"}, True),
        ({"device": "sda"}, {"device": "sdb"}, False),
    ],
)
def test_only_a_fault_of_the_same_object_explains(mine, others, is_explained):
    """One image explains nothing of another, nor a container another one of the same pod."""
    cause = named(finding("cause", POD, "p", 0, 9, explains=["symptom"]), **mine)
    symptom = named(finding("symptom", POD, "p", 2, 9), **others)
    assert {key: by for key, by, _ in ranked([cause, symptom])}["symptom:pod:p"] == (
        "cause:pod:p" if is_explained else None
    )


@pytest.mark.parametrize(
    ("mine", "others", "is_explained"),
    [
        ({"pod": "shop/web-0"}, {"pod": "shop/db-0"}, False),
        ({"container_id": "3f2a9c"}, {"container_id": "24bee8"}, False),
        ({"pod": "shop/web-0"}, {"pod": "shop/web-0"}, True),
        ({"pod": "shop/web-0"}, {}, True),
    ],
)
def test_what_is_told_of_a_node_in_place_of_a_pod_is_of_no_other_pod(mine, others, is_explained):
    """A finding that stands in for an unnamed container may name its pod, and the cause is of another one."""
    cause = named(finding("cause", POD, "p", 0, 60, explains=["symptom"], node="n1"), **mine)
    symptom = finding("symptom", NODE, "n1", 5, 60, node="n1")
    symptom = named(symptom._replace(rule=symptom.rule._replace(per=POD, or_node=True)), **others)
    assert {key: by for key, by, _ in ranked([cause, symptom])}["symptom:node:n1"] == (
        "cause:pod:p@n1" if is_explained else None
    )
