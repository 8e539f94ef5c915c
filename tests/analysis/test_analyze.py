"""The whole way: files in, findings out, narrowed as was asked."""

from __future__ import annotations

import gc

import pytest

from kvdiag.analysis.analyze import analyze, literals
from kvdiag.analysis.case import Case, load_patterns
from kvdiag.analysis.finding_filters import requested_findings
from kvdiag.base.errors import PatternError, UsageError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.model.options import Options
from kvdiag.model.timeline import Entity
from kvdiag.model.values import SubjectKind, Verdict
from tests.conftest import SAMPLES

UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
RULE = """\
id: KV199
name: invented
title: Something
severity: low
per: pod
events: {created: {kind: pod.worker.created}, removed: {kind: pod.removed}}
when: created and no removed after created until end
says: "{pod} is there"
cause: y
tests: []
"""


def created(pod, second, uid=UID, node="node-a"):
    """Give the line of a pod that begins."""
    text = f'"Pod is being synced for the first time" pod="{pod}" podUID="{uid}"'
    return f"Jul 15 03:49:{second:02} {node} kubelet[1432]: I0715 03:49:{second:02}.000000    1432 pod_workers.go:1] {text}\n"


END = "Jul 15 03:59:00 node-a kubelet[1432]: I0715 03:59:00.000000    1432 x.go:1] nothing\n"


@pytest.fixture
def options(tmp_path):
    """Give what makes options for a log of two pods and a rule that finds both."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "invented.yaml").write_text(RULE, "utf-8")
    log = tmp_path / "kubelet.log"
    log.write_text(created("shop/web-0", 1) + created("other/db-0", 2, UID.replace("1f", "2f")) + END, "utf-8")
    base = {"paths": (str(log),), "patterns": (tmp_path / "rules",), "rules": ("invented",), "year": 2024}
    return lambda **more: Options(**(base | more))


def names(report):
    """Give what was found."""
    return [finding.subject.name for finding in report.findings]


def test_a_report(options):
    """A report has the findings, and how each input was read."""
    report = analyze(options())
    assert [finding.says for finding in report.findings] == ["shop/web-0 is there", "other/db-0 is there"]
    (reading,) = report.inputs
    assert (reading.component, reading.format, reading.lines, reading.recognised, reading.unread) == (
        "kubelet",
        "journal-short/klog",
        3,
        2,
        0,
    )
    assert reading.node == "node-a"
    assert (report.problems, report.notes) == ((), ())


@pytest.mark.parametrize(
    ("narrowed", "found"),
    [
        ({"namespace": "shop"}, ["shop/web-0"]),
        ({"namespace": "sho"}, []),
        ({"pod": "shop/web-0"}, ["shop/web-0"]),
        ({"pod": "db-0"}, ["other/db-0"]),
        ({"pod": UID}, ["shop/web-0"]),
        ({"volume": "vol-1"}, []),
        ({"node": "node-a"}, ["shop/web-0", "other/db-0"]),
        ({"node": "node-b"}, []),
        ({"rules": ("KV199",)}, ["shop/web-0", "other/db-0"]),
        ({"rules": ("csi-nodeunstage-missing",)}, []),
    ],
)
def test_narrowing(options, narrowed, found):
    """Only what concerns the pod, volume, node, namespace or rule asked for is told."""
    assert names(analyze(options(**narrowed))) == found


def test_what_is_only_possible(options, tmp_path):
    """A finding that is only possible is told, and left out when that is asked."""
    log = tmp_path / "kubelet.log"
    log.write_text(created("shop/web-0", 1), "utf-8")
    assert [finding.verdict for finding in analyze(options()).findings] == [Verdict.POSSIBLE]
    assert names(analyze(options(show_possible=False))) == []


def test_a_rule_nobody_knows(options):
    """A rule that is asked for and not there is refused."""
    with pytest.raises(UsageError, match="unknown rule 'invntd'"):
        load_patterns(options(rules=("invntd",)))


def test_a_retired_rule_is_not_asked(options, tmp_path):
    """A retired rule finds nothing, even when it is named."""
    (tmp_path / "rules" / "invented.yaml").write_text(RULE.replace("severity", "status: retired\nseverity"), "utf-8")
    assert names(analyze(options())) == []


def test_a_broken_rule_stops_an_analysis(options, tmp_path):
    """An analysis with a broken rule does not begin."""
    (tmp_path / "rules" / "broken.yaml").write_text("id: x", "utf-8")
    with pytest.raises(PatternError, match=r"broken\.yaml:1:1"):
        analyze(options())


def test_one_input_that_is_not_there(options, tmp_path):
    """An input that cannot be read is a problem of the report; the others are analysed."""
    log = str(tmp_path / "kubelet.log")
    report = analyze(options(paths=(log, str(tmp_path / "gone.log"))))
    assert names(report) == ["shop/web-0", "other/db-0"]
    assert len(report.problems) == 1
    assert "gone.log" in report.problems[0]


def test_the_same_log_twice(options, tmp_path):
    """A file that is given twice, or beside a copy of it, finds nothing twice."""
    log = tmp_path / "kubelet.log"
    (tmp_path / "copy.log").write_bytes(log.read_bytes())
    report = analyze(options(paths=(str(log), str(tmp_path / "copy.log"))))
    assert names(report) == ["shop/web-0", "other/db-0"]


def test_built_in_rules_are_always_there(options):
    """Folders of the user come beside what is built in."""
    ids = {rule.id for rule in load_patterns(options(rules=())).rules}
    assert "KV199" in ids
    assert len(ids) > 20


def test_literals():
    """What is scanned for are the anchors of the vocabulary, each once."""
    found = literals()
    assert len(found) == len(set(found)) > 100
    assert b"SyncLoop ADD" in b" ".join(found)
    assert (builtin_patterns() / "events").is_dir()


@pytest.mark.parametrize(("asked", "kept"), [({"pod": "default/p1"}, "p1"), ({"volume": "pvc-b739f1f9-e170-4b25-b56c-e6ea2e48aad3"}, "q-0")])  # fmt: skip
def test_narrowed_lanes(asked, kept):
    """The lanes of a report that is about one pod or volume are its own, and those of what it is linked with."""
    lanes = analyze(Options(paths=(str(SAMPLES / "containerd-killed"),), **asked), lanes=True).lanes
    assert lanes is not None
    assert [lane.name for lane in lanes.lanes if lane.kind == "pod"] == [f"default/{kept}"]


def test_the_cause_of_what_was_asked_for_is_kept():
    """Of the findings about a pod that on the node which explains one of them is told as well, and no other."""
    case = Case(Options(paths=(str(SAMPLES / "hostpath-driver-lost-state"),)))
    history = case.read().history
    cause, *symptoms = case.findings(history)
    of_node = cause._replace(subject=Entity(SubjectKind.NODE, "worker-1", "worker-1"))
    other = of_node._replace(subject=Entity(SubjectKind.NODE, "worker-2", "worker-2"))
    folded = [one._replace(explained_by=of_node.key) for one in symptoms]
    kept = requested_findings([of_node, other, *folded], Options(pod="default/db-0"), history)
    assert kept == [of_node, *folded]


def test_an_analysis_leaves_no_cycles(named_sample):
    """The command never collects garbage: a history that a cycle holds would stay, one for each eviction."""
    folder = str(named_sample("hostpath-driver-lost-state").folder)
    analyze(Options(paths=(folder,)))
    gc.collect()
    gc.disable()
    try:
        analyze(Options(paths=(folder,)))
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        held = [type(one) for one in gc.garbage if type(one).__module__.startswith("kvdiag.")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert held == []
