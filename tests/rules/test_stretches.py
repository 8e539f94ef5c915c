"""When a fault began, how often it was tried, and whether it was over: a success between two tries divides them."""

from __future__ import annotations

import pytest

from kvdiag.base.clock import HOUR, SECOND
from kvdiag.model.event import Event, Ref
from kvdiag.model.record import Origin
from kvdiag.model.rule import Healing, Selector
from kvdiag.model.timeline import Coverage, Entity, History, Timeline
from kvdiag.model.values import Severity, State, SubjectKind
from kvdiag.rules.findings import find
from kvdiag.rules.grammar import read_condition
from kvdiag.rules.selection import part_of
from kvdiag.rules.stretches import count_tries, ends_fault, stretches
from tests.rules.one_rule import one_rule
from tests.timelines import GivenTimelines

NOON = 1_720_008_000_000_000
POD = (SubjectKind.POD, "u1")
FAILED, MOUNTED = "volume.publish.failed", "volume.publish.succeeded"
LINE = b'E0703 12:00:00.000000 1 nestedpendingoperations.go:348] "Operation failed"'


def event(kind, second, *, logged=LINE, source="kubelet.log", refs=(("pod_uid", "u1"),), **attrs):
    """Give an event of kubelet so many seconds after noon."""
    time = NOON + second * SECOND
    names = tuple(Ref(*ref) for ref in refs)
    return Event(time, kind, "kubelet", names, attrs, Origin(source, second + 1), "", (logged,), time)


def rule(when, **parts):
    """Give a rule about pods of which `failed` and `slow` are failures and `done` is the success."""
    kinds = {"failed": FAILED, "slow": FAILED, "done": MOUNTED, "gone": "pod.removed", "restarted": "kubelet.started"}
    where = {"slow": {"backoff": ("16s",)}}
    events = {name: Selector(name, (kind,), where.get(name, {})) for name, kind in kinds.items()}
    healed = Healing(("done", "gone"), "passed after {lasted}")
    condition = read_condition(when, tuple(events), "here")
    return one_rule(events=events, when=condition, healed=healed, severity=Severity.HIGH, says="{often}", **parts)


def found(one, *events, logs_until=HOUR):
    """Give the finding of a rule on these events of one pod; None where there is none."""
    ordered = tuple(sorted(events, key=lambda e: e.time))
    timeline = Timeline(Entity(SubjectKind.POD, "u1", "shop/web-0"), ordered)
    coverage = Coverage("kubelet", "", NOON - HOUR, NOON + logs_until, 9)
    history = History(ordered, GivenTimelines({POD: timeline}), (coverage,), (), ordered[0].time, ordered[-1].time)
    return next(find([one], history, {}), None)


def test_it_begins_with_the_first_try_whichever_alternative_holds():
    """That the fifth try waits 16s makes the finding certain; the fault began with the first."""
    tries = [event(FAILED, at, backoff="16s" if at == 15 else "") for at in (0, 1, 3, 7, 15)]
    finding = found(rule("slow or (failed lasting 1h)"), *tries)
    assert (finding.begins, finding.ends, finding.count) == (NOON, NOON + 15 * SECOND, 5)
    assert finding.says == "5 times over 15s"


def test_it_begins_with_the_step_before_the_first_try_of_a_chain():
    """What failed before kubelet restarted is no part of what failed after it."""
    finding = found(rule("restarted then failed"), event(FAILED, 0), event("kubelet.started", 5), event(FAILED, 9))
    assert (finding.begins, finding.count) == (NOON + 5 * SECOND, 1)


def test_a_row_counts_from_its_own_begin():
    """A row of kubectl that began before the chain and goes on in it has its whole count, and its own begin."""
    row = event(FAILED, 0)._replace(count=40, ends=NOON + 9 * SECOND)
    finding = found(rule("restarted then failed"), row, event("kubelet.started", 5), event(FAILED, 9))
    assert (finding.begins, finding.count) == (NOON, 41)


def test_a_success_divides_what_lasts():
    """Two failures an hour apart with a mount between them are two short faults."""
    apart = [event(FAILED, 0), event(FAILED, 3600)]
    assert found(rule("failed lasting 1m"), *apart) is not None
    assert found(rule("failed lasting 1m"), *apart, event(MOUNTED, 10)) is None


def test_the_stretch_that_is_not_over_is_reported():
    """Of a fault that passed and came back the second stretch is told, with its own beginning and number."""
    first, second = [event(FAILED, 0), event(FAILED, 2)], [event(FAILED, 60), event(FAILED, 62), event(FAILED, 64)]
    finding = found(rule("failed"), *first, event(MOUNTED, 10), *second)
    assert (finding.begins, finding.count, finding.state) == (NOON + 60 * SECOND, 3, State.UNKNOWN)


@pytest.mark.parametrize(
    ("later", "state", "severity", "says"),
    [
        (event(MOUNTED, 30), State.OVER, Severity.MEDIUM, "passed after 30s"),
        (event("pod.removed", 30), State.DELETED, Severity.HIGH, "once"),
        (event("other", 30), State.UNKNOWN, Severity.HIGH, "once"),
    ],
)
def test_over_deleted_and_unknown_are_three_states(later, state, severity, says):
    """Only a success lowers the severity: a pod that was deleted did not recover."""
    finding = found(rule("failed"), event(FAILED, 0), later)
    assert (finding.state, finding.severity, finding.says) == (state, severity, says)
    assert finding.healed == (later.time if state is State.OVER else None)
    assert finding.deleted == (later.time if state is State.DELETED else None)


def test_a_pod_that_is_to_end_and_is_removed_has_ended():
    """For a fault of a pod's end, its removal is the success."""
    finding = found(rule("failed", breaks=("volume.unpublish",)), event(FAILED, 0), event("pod.removed", 30))
    assert finding.state is State.OVER


@pytest.mark.parametrize(("logs_until", "state"), [(60 * SECOND, State.ONGOING), (HOUR, State.UNKNOWN)])
def test_ongoing_is_what_the_log_ends_before_the_next_try_of(logs_until, state):
    """Kubelet tries again within minutes: a log that goes on for an hour without a try shows something else."""
    assert found(rule("failed"), event(FAILED, 0), logs_until=logs_until).state is state


def test_what_happened_once_is_not_ongoing():
    """A crash is over when it is logged."""
    assert found(rule("restarted"), event("kubelet.started", 0), logs_until=SECOND).state is State.UNKNOWN


@pytest.mark.parametrize(
    ("success", "failure", "ends"),
    [
        (MOUNTED, FAILED, True),
        ("volume.stage.succeeded", FAILED, True),
        (MOUNTED, "volume.stage.failed", True),
        ("volume.wait.succeeded", FAILED, False),
        ("volume.verify.succeeded", "csi.nodestage.failed", False),
        ("volume.attach.succeeded", "volume.attach.failed", True),
        ("volume.wait.succeeded", "volume.unpublish.failed", True),
        ("volume.unpublish.succeeded", FAILED, True),
        ("csi.nodepublish.succeeded", FAILED, True),
        ("anything.else", FAILED, True),
    ],
)
def test_a_success_of_an_earlier_step_ends_nothing(success, failure, ends):
    """WaitForAttach succeeds before each try to mount."""
    assert ends_fault(event(success, 1), event(failure, 0)) is ends


@pytest.mark.parametrize(
    ("mine", "others", "ends"),
    [
        ([("pod_uid", "u1"), ("unique_name", "a")], [("pod_uid", "u1"), ("unique_name", "b")], False),
        ([("pod_uid", "u1"), ("unique_name", "a")], [("pod_uid", "u2"), ("unique_name", "a")], True),
        ([("pod_uid", "u1")], [("pod_uid", "u2")], False),
        ([("pod_uid", "u1"), ("sandbox_id", "s1")], [("pod_uid", "u1"), ("sandbox_id", "s2")], True),
        ([("pod_uid", "u1")], [("driver", "d")], True),
    ],
)
def test_a_success_of_another_object_ends_nothing(mine, others, ends):
    """The token of a pod is mounted while its config map is missing."""
    assert ends_fault(event(MOUNTED, 1, refs=others), event(FAILED, 0, refs=mine)) is ends


def test_tries_are_counted_once_whoever_prints_them():
    """Kubelet's two places and containerd print one try each: three lines, one try."""
    second = LINE.replace(b"nestedpendingoperations", b"pod_workers")
    containerd = b'time="2024-07-03T12:00:00Z" level=error msg="RunPodSandbox for a failed"'
    other = b'time="2024-07-03T12:00:00Z" level=error msg="StopPodSandbox for a failed"'
    lines = [event(FAILED, at, logged=text) for at in (0, 9) for text in (LINE, second, containerd)]
    assert count_tries(lines) == 2
    assert count_tries([*lines, event(FAILED, 20, logged=other)]) == 2
    assert count_tries([*lines, event(FAILED, 20)]) == 3
    assert count_tries([event(FAILED, 0), event(FAILED, 1, source="other.log")]) == 1
    assert count_tries([]) == 0


def test_rows_of_conditions_are_one_try():
    """The rows of a node's conditions are one state, also when they are listed twice."""
    rows = [event("node.status.unknown", at) for at in (0, 0, 0, 60)]
    assert count_tries(rows) == 1
    assert count_tries([*rows, event(FAILED, 70), event(FAILED, 80)]) > 1


def test_a_stretch_ends_only_where_the_rule_says_so():
    """`healed.after` asks that the success comes so much later than the last failure."""
    one = rule("failed")
    late = one._replace(healed=one.healed._replace(after=20 * SECOND))
    events = [event(FAILED, 0), event(MOUNTED, 10), event(FAILED, 60)]
    assert [len(part.tries) for part in stretches(one, part_of(one, events).selected)] == [1, 1]
    assert [len(part.tries) for part in stretches(late, part_of(late, events).selected)] == [2]
