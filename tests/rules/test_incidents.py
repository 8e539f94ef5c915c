"""One fault with many victims: one incident in JSON, one block of the text."""

from __future__ import annotations

import io
import itertools

import pytest

from kvdiag.base.clock import SECOND
from kvdiag.model.report import Report
from kvdiag.model.values import Severity, SubjectKind, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.json_report import finding as plain
from kvdiag.report.terminal import write
from kvdiag.rules.incidents import told
from kvdiag.rules.rank import TOUCH
from tests.rules.test_rank import NODE, POD, finding

CONTAINER = SubjectKind.CONTAINER


def hung(number, *, node="worker-1", image="app:1", begins=0, **parts):
    """Give a finding about one of many pods."""
    name = f"shop/web-{number}"
    made = finding("hung", POD, name, begins, begins + 60, node=node)
    made = made._replace(rule=made.rule._replace(title="Pods hang"))
    return made._replace(says=f"{name} on {node} waits for {image}, {number + 2} times.", **parts)


def text_of(findings, **options):
    """Give the report for people."""
    stream = io.StringIO()
    write(Report("1", (), (), tuple(findings)), stream, RenderOptions(**options))
    return stream.getvalue()


def test_many_victims_are_one_incident():
    """Findings of a rule that say the same but for names and numbers have the key of the first, in any order."""
    pods = [hung(number) for number in range(4)]
    for order in itertools.permutations(pods):
        assert {one.incident for one in told(order)} == {"hung:pod:shop/web-0@worker-1"}
    assert {plain(one)["incident"] for one in told(pods)} == {"hung:pod:shop/web-0@worker-1"}


def test_containers_of_one_pod_are_one_incident():
    """A container that is killed and started again for days is one fault; that of another pod is one of its own."""

    def slow(container, pod, begins):
        made = finding("slow", CONTAINER, container, begins, begins + 60, node="worker-1")
        subject = made.subject._replace(ids={**made.subject.ids, "pod": pod})
        return made._replace(subject=subject, says=f"{container} of pod {pod} is slow.")

    late = 10 * TOUCH // SECOND
    mine, again, other = (
        slow("a1b2", "shop/web-0", 0),
        slow("c3d4", "shop/web-0", late),
        slow("e5f6", "shop/db-0", late),
    )
    assert [one.incident for one in told([mine, again])] == [mine.key, mine.key]
    assert [one.incident for one in told([mine, other])] == [None, None]


@pytest.mark.parametrize(
    "other",
    [
        hung(1, node="worker-2"),
        hung(1, image="other:1"),
        hung(1, severity=Severity.LOW),
        hung(1, verdict=Verdict.POSSIBLE),
        hung(1, healed=1),
        hung(1, begins=61 + TOUCH // SECOND),
        finding("hung", NODE, "worker-1", 0, 60, node="worker-1"),
    ],
)
def test_what_is_an_incident_of_its_own(other):
    """Of another node, image, severity, verdict, end or time."""
    assert [one.incident for one in told([hung(0), other])] == [None, None]


def test_the_text_names_some_victims():
    """One block for all; a few names, all of them with -v, each finding in JSON."""
    found = told([hung(number) for number in range(17)])
    said = text_of(found)
    assert said.count("More: kvdiag explain hung") == 1
    assert "17 pods of worker-1: shop/web-0, shop/web-1, shop/web-10 and 14 more (-v" in said
    assert all(f"shop/web-{number}" in text_of(found, verbose=1) for number in range(17))
    assert len(found) == 17


def test_many_sandboxes():
    """Each kind in its plural."""
    ids = [finding("hung", SubjectKind.SANDBOX, f"ab{n}", 0, 60, node="worker-1") for n in range(2)]
    ends = [one._replace(rule=one.rule._replace(title="Sandboxes stay")) for one in ids]
    assert "2 sandboxes of worker-1: ab0, ab1" in text_of(told(ends))


def test_symptoms_of_many_are_one_line():
    """What a cause explains is told once for all victims, with the way that leads there."""
    cause = hung(0)._replace(subject=finding("cause", NODE, "worker-1", 0, 60, node="worker-1").subject)
    found = told([cause, *(hung(n, explained_by=cause.key, through=("between",)) for n in range(3))])
    said = text_of(found)
    assert said.count("hung: ") == 1
    assert "And 2 more pods. (through between)" in " ".join(said.split())
    assert {one.explains for one in found if one.key == cause.key} == {("hung",)}
