"""Groups of kinds, and events of a user's own."""

from __future__ import annotations

import os
import re

import pytest

from kvdiag.analysis.lint import check_patterns
from kvdiag.analysis.rule_tests import run_tests
from kvdiag.base.errors import PatternError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.base.yamlread import read_yaml
from kvdiag.events.lint import lint_events, read_user_events
from kvdiag.events.vocabulary import load_vocabulary, read_entries
from kvdiag.model.rule import RuleTest
from kvdiag.rules.library import load
from kvdiag.rules.schema import read_rule
from kvdiag.rules.selectors import read_groups
from tests.conftest import run_kvdiag

GROUPED = """\
id: KV699
name: driver-lost
title: The driver lost its state
severity: high
per: node
events: {a: {kind: [driver-errors, pod.added]}}
when: a
says: "The driver on {node} is lost."
cause: It is.
tests: []
"""
KNOWN = read_entries(builtin_patterns() / "events")
KINDS = "driver-errors: [csi.call.failed, csi.mount.failed]\n"


def passed(rule):
    """Run the tests of a rule."""
    return [one.passed for one in run_tests(rule, load_vocabulary(builtin_patterns() / "events", rule.lines))]


def test_groups_of_kinds(tmp_path):
    """A word without a dot stands for the kinds that kinds.yaml names, which a user's folder may have as well."""
    (tmp_path / "driver-lost.yaml").write_text(GROUPED)
    (tmp_path / "kinds.yaml").write_text(KINDS)
    (read,) = load([tmp_path]).rules
    assert read.events["a"].kinds == ("csi.call.failed", "csi.mount.failed", "pod.added")
    with pytest.raises(PatternError, match="unknown group of kinds 'driver-erors'; did you mean 'driver-errors'"):
        read_rule(GROUPED.replace("errors", "erors"), "x.yaml", read_groups(read_yaml(KINDS, "k.yaml")))
    with pytest.raises(PatternError, match=r"k.yaml:1:6: 'a.b' is not a name for a group"):
        read_groups(read_yaml("a.b: [x.y]", "k.yaml"))


EVENTS = """\
component: csi-driver
events:
  - kind: storage.array.lost
    label: the array does not answer
    about: the driver lost its storage array
    anchor: array does not answer
    message: 'array does not answer: {reason}'
    scope: node
    samples: ['E0312 08:00:00.000000 1 array.go:7] array does not answer: timeout']
"""
OWN = """\
id: KV601
name: array-lost
title: The storage array does not answer
severity: high
per: node
breaks: [storage]
events:
  lost: {kind: storage.array.lost, reason: "*timeout*"}
when: lost
says: "The array does not answer: {reason}."
cause: It is down.
tests:
  - {name: found, log: "E0312 08:00:00.000000 1 array.go:7] array does not answer: timeout", finds: {this node: confirmed}}
  - {name: another, log: "E0312 08:00:00.000000 1 array.go:7] array does not answer: refused", finds: {}}
"""


@pytest.fixture
def own(tmp_path):
    """Give a folder with an event and a rule of a user's own."""
    (tmp_path / "p" / "events").mkdir(parents=True)
    (tmp_path / "p" / "events" / "array.yaml").write_text(EVENTS)
    (tmp_path / "p" / "array-lost.yaml").write_text(OWN.replace("KV601", "KV6999"))
    (tmp_path / "csi-driver.log").write_text("E0312 08:00:00.000000 1 array.go:7] array does not answer: timeout\n")
    return tmp_path


def test_events_of_a_users_own(own):
    """Every command knows the events of `--patterns DIR/events/`, and lint and test check them."""
    patterns = ("--patterns", own / "p")
    log = own / "csi-driver.log"
    assert "storage.array.lost" in run_kvdiag("events", log, *patterns).stdout
    assert "array-lost" in run_kvdiag("analyze", log, *patterns).stdout
    assert "the array does not answer" in run_kvdiag("explain", "storage.array.lost", *patterns).stdout
    tested = run_kvdiag("rules", "test", "array-lost", *patterns)
    assert (tested.returncode, tested.stderr) == (0, "2 passed, 0 failed\n")
    linted = run_kvdiag("rules", "lint", own / "p")
    assert (linted.returncode, linted.stderr) == (0, "1 rule, 0 faults\n")


@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        ("anchor: array does not answer", "anchor: array is away", ["7:14: the anchor 'array is away' is not part of the message's text"]),
        ("{reason}'", "{raeson}'", ["7:14: unknown placeholder 'raeson'; did you mean 'reason'?"]),
        ("storage.array.lost", "storage", ["3:5: 'storage' is no kind: thing.action or thing.action.outcome"]),
        ("labl", "labl", ["4:5: unknown key 'labl'; did you mean 'label'?"]),
        ("timeout']", "timeout', 'E0312 08:00:00.000000 1 array.go:7] array is well']", ["3:5: a sample of storage.array.lost is not read at all: its message does not fit"]),
        ("array does not answer", "Timed out while waiting for systemd to remove", ["3:5: this line is never matched: cgroup.remove.failed has its anchor and is tried first; use that kind instead"]),
    ],
)  # fmt: skip
def test_faults_of_a_users_events(own, old, new, faults):
    """Each fault of an event is told with file, line and column."""
    path = own / "p" / "events" / "array.yaml"
    path.write_text(EVENTS.replace("label:", "labl:") if old == "labl" else EVENTS.replace(old, new))
    entries, broken = read_user_events(path.parent)
    found = [str(fault).partition("\n")[0] for fault in (*broken, *lint_events(entries, KNOWN))]
    assert [one.removeprefix(f"{path}:") for one in found] == faults


def test_lint_of_a_folder(own):
    """All faults of a folder are told at once; a rule that names an event is not blamed for what is wrong with that."""
    path = own / "p" / "events" / "array.yaml"
    path.write_text(EVENTS.replace("array does not answer", "kubelet").replace("{reason}'", "{raeson}'"))
    (own / "p" / "kinds.yaml").write_text("mine: [csi.call.failed, csi.cal.failed]")
    told = [str(fault).partition("\n")[0].removeprefix(f"{own}/p/") for fault in check_patterns([own / "p"])[1]]
    assert told == [
        "array-lost.yaml:8:44: lost: its lines say nothing of 'reason'; did you mean 'raeson'?",
        "array-lost.yaml:10:7: the slot {reason} is unknown; did you mean 'raeson'?",
        "events/array.yaml:7:14: unknown placeholder 'raeson'; did you mean 'reason'?",
        "events/array.yaml:7:14: the anchor 'kubelet' is in 33 % of the lines of an average log; take words that only this line has",
        "kinds.yaml:1:25: unknown event kind 'csi.cal.failed'; did you mean 'csi.call.failed'?",
    ]


def test_a_rule_that_kvdiag_has(own):
    """A user's rule with the id or name of one of kvdiag's is told, with the place of both."""
    path = own / "p" / "array-lost.yaml"
    text = path.read_text()
    taken = re.sub(r"(?m)^id: .*", "id: KV310", text, count=1)
    path.write_text(re.sub(r"(?m)^name: .*", "name: unmount-device-busy", taken, count=1))
    told = [str(fault).partition("\n")[0] for fault in check_patterns([own / "p"])[1]]
    assert [re.sub(r"\S*/", "", one) for one in told] == [
        "array-lost.yaml:1:5: KV310 is already used at csi-nodeunpublish-state-lost.yaml:1:1",
        "array-lost.yaml:2:7: unmount-device-busy is already used at unmount-device-busy.yaml:1:1",
    ]


MANY = """\
id: KV6998
name: image-missing-for-many
title: Many pods wait for one image
severity: high
per: node
events:
  failed: {kind: pod.sync.failed, text: "*not found*"}
when: at least 3 different pod failed within 10m
says: "{count} pods."
cause: The image is gone.
tests: []
"""
FAILED = (
    'E0312 08:0{minute}:00.000000    2201 pod_workers.go:1301] "Error syncing pod, skipping" err="failed to \\"StartContainer\\"'
    ' for \\"app\\" with ErrImagePull: \\"reg.example.com/app:1: not found\\"" pod="shop/web-{pod}"'
    ' podUID="1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f0{pod}"'
)


@pytest.mark.parametrize(("pods", "found"), [("123", True), ("1212", False)])
def test_different_pods_of_a_node(pods, found):
    """A rule about a node counts the pods that its lines name."""
    log = "\n".join(FAILED.format(minute=minute, pod=pod) for minute, pod in enumerate(pods))
    rule = read_rule(MANY, "x.yaml")
    rule = rule._replace(tests=(RuleTest("some", log, {"this node": "confirmed"} if found else {}),))
    assert passed(rule) == [True]


def test_an_events_file_that_is_none(own):
    """What is no regular file is not waited for, and one that cannot be used is told with its place."""
    os.mkfifo(own / "p" / "events" / "pipe.yaml")
    (own / "p" / "events" / "worse.yml").write_text("events: 1")
    done = run_kvdiag("analyze", own / "csi-driver.log", "--patterns", own / "p")
    assert (done.returncode, "worse.yml:1:9: a list is expected here" in done.stderr) == (2, True)
    assert [fault.place for fault in read_user_events(own / "p" / "events")[1]] == [
        f"{own / 'p' / 'events' / 'worse.yml'}:1:9"
    ]
