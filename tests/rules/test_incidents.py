"""One fault with many victims: one incident in JSON, one block of the text."""

from __future__ import annotations

import io
import itertools
import json
import re

import pytest

from kvdiag.base.clock import SECOND
from kvdiag.model.report import FindingTexts, Report
from kvdiag.model.values import Severity, State, SubjectKind, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.incidents import merged_finding
from kvdiag.report.json_report import finding as plain
from kvdiag.report.outputs import write_report
from kvdiag.rules.incidents import with_incidents
from kvdiag.rules.rank import TOUCH
from tests.rules.test_rank import NODE, POD, finding

CONTAINER = SubjectKind.CONTAINER


def hung(number, *, node="worker-1", image="app:1", begins=0, **parts):
    """Give a finding about one of many pods."""
    name = f"shop/web-{number}"
    made = finding("hung", POD, name, begins, begins + 60, node=node)
    made = made._replace(rule=made.rule._replace(title="Pods hang"))
    return made._replace(texts=FindingTexts(says=f"{name} on {node} waits for {image}, {number + 2} times."), **parts)


def text_of(findings, **options):
    """Give the report for people."""
    stream = io.StringIO()
    write_report("text", Report("1", (), (), tuple(findings)), stream, RenderOptions(**options))
    return stream.getvalue()


def test_many_victims_are_one_incident():
    """Findings of a rule that say the same but for names and numbers have the key of the first, in any order."""
    pods = [hung(number) for number in range(4)]
    for order in itertools.permutations(pods):
        assert {one.incident for one in with_incidents(order)} == {"hung:pod:shop/web-0@worker-1"}
    assert {plain(one)["incident"] for one in with_incidents(pods)} == {"hung:pod:shop/web-0@worker-1"}


def test_containers_of_one_pod_are_one_incident():
    """A container that is killed and started again for days is one fault; that of another pod is one of its own."""

    def slow(container, pod, begins):
        made = finding("slow", CONTAINER, container, begins, begins + 60, node="worker-1")
        subject = made.subject._replace(ids={**made.subject.ids, "pod": pod})
        return made._replace(subject=subject, texts=FindingTexts(says=f"{container} of pod {pod} is slow."))

    late = 10 * TOUCH // SECOND
    mine, again, other = (
        slow("a1b2", "shop/web-0", 0),
        slow("c3d4", "shop/web-0", late),
        slow("e5f6", "shop/db-0", late),
    )
    assert [one.incident for one in with_incidents([mine, again])] == [mine.key, mine.key]
    assert [one.incident for one in with_incidents([mine, other])] == [None, None]


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
    assert [one.incident for one in with_incidents([hung(0), other])] == [None, None]


def test_the_text_names_some_victims():
    """One block for all; a few names, all of them with -v, each finding in JSON."""
    found = with_incidents([hung(number) for number in range(17)])
    said = text_of(found)
    assert said.count("More: kvdiag explain hung") == 1
    assert "17 pods of worker-1: shop/web-0, shop/web-1, shop/web-10 and 14 more (-v" in said
    assert all(f"shop/web-{number}" in text_of(found, verbose=1) for number in range(17))
    assert len(found) == 17


def test_many_sandboxes():
    """Each kind in its plural."""
    ids = [finding("hung", SubjectKind.SANDBOX, f"ab{n}", 0, 60, node="worker-1") for n in range(2)]
    ends = [one._replace(rule=one.rule._replace(title="Sandboxes stay")) for one in ids]
    assert "2 sandboxes of worker-1: ab0, ab1" in text_of(with_incidents(ends))


def test_symptoms_of_many_are_one_line():
    """What a cause explains is told once for all victims, with the way that leads there."""
    cause = hung(0)._replace(subject=finding("cause", NODE, "worker-1", 0, 60, node="worker-1").subject)
    found = with_incidents([cause, *(hung(n, explained_by=cause.key, through=("between",)) for n in range(3))])
    said = text_of(found, verbose=1)
    assert said.count("hung ×3: ") == text_of(found).count("hung ×3: ") == 1
    assert "And 2 more pods. (through between)" in " ".join(said.split())
    assert {one.explains for one in found if one.key == cause.key} == {("hung",)}


def separate(many, severity=Severity.MEDIUM):
    """Findings of many rules, each of a pod of its own."""
    made = [hung(number, image=f"app:{'x' * number}") for number in range(many)]
    rules = [
        one.rule._replace(name=f"hung-{number}", title=f"Pod number {number} hangs") for number, one in enumerate(made)
    ]
    return [one._replace(rule=rule, severity=severity) for one, rule in zip(made, rules, strict=True)]


def test_several_failures_begin_with_a_table():
    """From two on each has a row before the first is told; one alone has none."""
    assert "SEVERITY" not in text_of(separate(1))
    text = text_of([*separate(2), separate(3, Severity.INFO)[2]])
    first, _, heads, *rows = text.splitlines()
    assert first == "2 failures: 2 medium; 1 note."
    assert heads.split() == ["SEVERITY", "OBJECT", "FAILURE", "STATE", "SINCE", "COUNT"]
    assert [row.split()[:5] for row in rows[:2]] == [
        ["medium", f"shop/web-{number}", "Pod", "number", str(number)] for number in range(2)
    ]
    assert text.index("Pod number 1 hangs") < text.index(" MEDIUM  Pod number 0 hangs")


@pytest.mark.parametrize(("many", "told_of", "in_full"), [(5, 5, 5), (6, 6, 0), (20, 20, 0), (21, 0, 0)])
def test_of_many_failures_less_is_told(many, told_of, in_full):
    """From six on each takes what one needs first, beyond twenty its row; all is there with -v."""
    text = text_of(separate(many))
    assert text.count(" MEDIUM  ") == told_of
    assert text.count("More: kvdiag explain") == in_full
    assert text_of(separate(many), verbose=1).count("More: kvdiag explain") == many


def test_beyond_twenty_the_grave_ones_have_rows():
    """The rest is counted."""
    grave = [one._replace(severity=Severity.HIGH) for one in separate(24)[22:]]
    text = text_of([*grave, *separate(22)])
    assert text.startswith("24 failures: 2 high, 22 medium.\n")
    assert text.count("\nhigh ") == 2
    assert "\nmedium " not in text
    assert "and 22 more: -v lists them" in text


def test_notes_alone_take_a_line_each():
    """A note may be of a failure: the report only says that it raises no alarm."""
    text = text_of(separate(2, Severity.INFO))
    over = text_of([one._replace(state=State.OVER) for one in separate(2, Severity.INFO)])
    assert over.startswith("No alarm. 2 notes:\n")
    assert text.startswith("No alarm, as no failure is shown to last. 2 notes:\nnote: shop/web-0 on worker-1 waits")
    assert "MEDIUM" not in text


def test_every_output_counts_the_same():
    """Failures are counted as the table has them: a fault with many victims once, symptoms and notes not."""
    found = [*with_incidents([hung(number) for number in range(3)]), *separate(2), separate(3, Severity.INFO)[2]]
    report = Report("1", (), (), tuple(found))
    said = {}
    for name in ("compact", "markdown", "github", "html"):
        stream = io.StringIO()
        write_report(name, report, stream, RenderOptions())
        said[name] = re.search(r"(\d+) failures? found, worst: (\w+); (\d+) note", stream.getvalue()).groups()
    assert set(said.values()) == {("3", "medium", "1")}
    assert text_of(found).startswith("3 failures: 3 medium; 1 note.")


def test_a_heading_stands_for_a_fault_with_many_victims_only_where_all_have_it():
    """Else it would name one of them alone."""
    pods = [
        one._replace(texts=FindingTexts(says=one.says, heading=f"{one.subject.name} hangs", row="hangs"))
        for one in with_incidents([hung(n) for n in range(3)])
    ]
    nodes = [one._replace(texts=one.texts.all._replace(heading="Pods hang on worker-1")) for one in pods]
    assert [
        (merged_finding(tuple(group)).title, merged_finding(tuple(group)).row_title)
        for group in (pods, nodes, pods[:1])
    ] == [
        ("Pods hang", "hangs"),
        ("Pods hang on worker-1", "hangs"),
        ("shop/web-0 hangs", "hangs"),
    ]
    assert " MEDIUM  Pods hang\n" in text_of(pods)
    assert " MEDIUM  shop/web-0 hangs\n" in text_of(pods[:1])


def test_a_row_does_not_repeat_its_object():
    """Overview, Markdown's table and compact have a column for it; the finding itself has its heading."""
    found = [
        one._replace(texts=FindingTexts(says=one.says, heading=f"{one.subject.name} hangs", row="hangs"))
        for one in separate(2)
    ]
    overview = text_of(found).split(" MEDIUM ")[0]
    assert overview.count("shop/web-0") == 1
    assert re.search(r"^medium +shop/web-0 +hangs ", overview, re.MULTILINE)
    report = Report("1", (), (), tuple(found))
    said = {name: io.StringIO() for name in ("compact", "markdown", "html", "github", "json")}
    for name, stream in said.items():
        write_report(name, report, stream, RenderOptions())
    said = {name: stream.getvalue() for name, stream in said.items()}
    assert said["compact"].splitlines()[0].endswith("  hangs")
    assert "| medium | hangs | `shop/web-0` |" in said["markdown"]
    assert "<summary>medium: shop/web-0 hangs</summary>" in said["markdown"]
    assert ">hangs</a>" in said["html"]
    assert "shop/web-0 hangs</h2>" in said["html"]
    assert "title=shop/web-0 hangs (hung-0)::" in said["github"]
    assert [one["title_object"] for one in json.loads(said["json"])["findings"]] == [
        one.texts.all.heading for one in found
    ]
    assert {one["title"] for one in json.loads(said["json"])["findings"]} == {one.rule.title for one in found}


def test_a_heading_is_redacted_and_harmless():
    """It has words of a log, and no output shows what those hide or order."""
    words = "token: ghp_16C7e42F292c6912E7710c838347Ae178B4a \u202ehangs"
    for row in (words, ""):
        report = Report(
            "1",
            (),
            (),
            tuple(one._replace(texts=one.texts.all._replace(heading=words, row=row)) for one in separate(2)),
        )
        for name in ("text", "compact", "markdown", "html", "github", "json"):
            stream = io.StringIO()
            write_report(name, report, stream, RenderOptions())
            assert "ghp_16C7" not in stream.getvalue(), name
            assert "\u202e" not in stream.getvalue(), name


def test_a_fault_with_many_victims_is_one_line():
    """Of `check` too: since when, where it stands, and how often over all."""
    stream = io.StringIO()
    found = [one._replace(state=State.ONGOING) for one in with_incidents([hung(number) for number in range(3)])]
    write_report("compact", Report("1", (), (), tuple(found)), stream, RenderOptions())
    line, verdict = stream.getvalue().splitlines()
    assert line.endswith("  2024-07-03T12:00:00Z  ongoing  3x  Pods hang (3 pods of worker-1)")
    assert verdict == "kvdiag: 1 failure found, worst: medium"
