"""Short forms of rule files: groups of kinds, a sign, a table of like rules."""

from __future__ import annotations

import json
import os
import re

import pytest

from kvdiag.analysis.lint import check_patterns
from kvdiag.analysis.rule_tests import run_tests
from kvdiag.base.errors import PatternError
from kvdiag.base.yamlread import read_yaml
from kvdiag.events.pattern_folder import builtin_patterns
from kvdiag.events.user_events import lint_user_events, read_user_events
from kvdiag.events.vocabulary import load_vocabulary, read_entries
from kvdiag.model.rule import RuleTest
from kvdiag.rules.library import load
from kvdiag.rules.rule_json import pack, unpack
from kvdiag.rules.rule_page import show_rule
from kvdiag.rules.schema import read_rules
from kvdiag.rules.selectors import longest_literal, read_groups
from tests.conftest import run_kvdiag
from tests.onerule import read_rule

SIGN = """\
id: KV699
name: driver-lost
title: The driver lost its state
severity: high
sign: {text: ['my driver lost "{volume_handle}"', 'my driver is lost...'], per: node, component: kubelet}
says: "The driver on {node} is lost."
cause: It is.
tests:
  - name: found
    log: 'E0312 08:00:00.000000 2201 a.go:1] my driver is lost, again'
    finds: {this node: confirmed}
  - {name: not found, log: 'E0312 08:00:00.000000 2201 a.go:1] my driver is fine', finds: {}}
"""
TABLE = """\
title: The provider <<provider>> is not installed
severity: high
sign: {text: <<said>>, per: node}
says: "The provider <<provider>> is missing on {node}."
cause: It is not installed.
tests:
  - {name: found, log: "E0312 08:00:00.000000 2201 a.go:1] provider <<provider>> is not there", finds: {this node: confirmed}}
  - {name: not, log: "E0312 08:00:00.000000 2201 a.go:1] provider <<provider>> is there", finds: {}}
table:
  - {id: KV697, name: provider-a-missing, provider: a, said: ["provider a is not there", "no provider a"]}
  - {id: KV698, name: provider-b-missing, provider: b, said: provider b is not there, severity: low}
"""
KNOWN = read_entries(builtin_patterns() / "events")
KINDS = "driver-errors: [csi.call.failed, csi.operation.failed]\n"


def passed(rule):
    """Run the tests of a rule."""
    return [one.passed for one in run_tests(rule, load_vocabulary(builtin_patterns() / "events", rule.lines))]


def test_a_sign():
    """A rule that is found wherever one of its lines stands needs neither events nor a sentence."""
    rule = read_rule(SIGN, "x.yaml")
    assert (str(rule.per), list(rule.events), show_rule(rule).splitlines()[4]) == ("node", ["sign"], "  sign")
    assert [one.anchor for one in rule.lines[0].wordings] == ["my driver lost ", "my driver is lost"]
    assert passed(rule) == [True, True]
    assert unpack(json.loads(json.dumps(pack(rule)))) == rule._replace(tests=(), places={})


@pytest.mark.parametrize(
    ("message", "anchor"),
    [
        ("{error} is lost", " is lost"),
        ('say "a word" of {_} more', "a word"),
        ("left[[ and what may be left out]] of it", " of it"),
        ("a {{brace}} and some words", "} and some words"),
    ],
)
def test_the_anchor_of_a_sign(message, anchor):
    """The longest text that each line has, and that no carrier escapes."""
    assert longest_literal(message) == anchor


def test_a_table():
    """One file is as many rules as its table has rows."""
    one, other = read_rules(TABLE, "x.yaml")
    assert [rule.title for rule in (one, other)] == [
        "The provider a is not installed",
        "The provider b is not installed",
    ]
    assert (len(one.lines[0].wordings), len(other.lines[0].wordings)) == (2, 1)
    assert (one.severity.label, other.severity.label, other.place_of("id")) == ("high", "low", "x.yaml:11:10")
    assert passed(one) == passed(other) == [True, True]


@pytest.mark.parametrize(
    ("text", "old", "new", "fault"),
    [
        (TABLE, "provider: b,", "", "x.yaml:1:8: no row has a value for <<provider>>; known are said"),
        (TABLE, "provider: b,", "provider: b, sevrity: low,", "x.yaml:11:65: 'sevrity' is not a key of rules, and no text contains <<sevrity>>; did you mean 'severity'?"),
        (SIGN, "my driver is lost...", "{error}", "x.yaml:5:51: '{error}' has no text of 4 characters or more to look for"),
        (SIGN, """['my driver lost "{volume_handle}"', 'my driver is lost...']""", "[]", "x.yaml:5:14: expected at least one item"),
        (TABLE, TABLE[TABLE.index("table:") :], "table: []", "x.yaml:9:8: a table has at least one row"),
        (SIGN, "says:", "when: a\nsays:", "x.yaml:5:7: a rule has either a sign or when"),
        (SIGN, ", per: node", "", "x.yaml:1:1: the key 'per' is missing"),
        (SIGN, "says:", "per: node\nsays:", "x.yaml:5:81: 'per' is given twice"),
        (SIGN, "component:", "componet:", "x.yaml:5:87: unknown key 'componet'; did you mean 'component'?"),
        (SIGN, "sign: ", "events: {a: {kind: drivererrors}}\nwhen: a\nx: ", "x.yaml:7:1: unknown key 'x'"),
        (SIGN, SIGN[SIGN.index("sign") : SIGN.index("says")], "per: node\nevents: {a: {kind: driver-erors}}\nwhen: a\n", "x.yaml:6:20: unknown group of kinds 'driver-erors'; did you mean 'driver-errors'?"),
        (SIGN, SIGN[SIGN.index("sign") : SIGN.index("says")], "per: node\nevents: {a: {kind: driver-errors, witness: both}}\nwhen: a\n", "x.yaml:6:44: unknown 'both'; known are each, one"),
    ],
)  # fmt: skip
def test_faults_of_short_forms(text, old, new, fault):
    """What a short form lacks or has too much of is told at its place."""
    assert old in text
    with pytest.raises(PatternError) as told:
        read_rules(text.replace(old, new, 1), "x.yaml", read_groups(read_yaml(KINDS, "k.yaml")))
    assert str(told.value) == fault


def test_groups_of_kinds(tmp_path):
    """A word without a dot stands for the kinds that kinds.yaml names, which a user's folder may have as well."""
    body = SIGN[SIGN.index("sign") : SIGN.index("says")]
    rule = SIGN.replace(body, "per: node\nevents: {a: {kind: [driver-errors, pod.added]}}\nwhen: a\n")
    (tmp_path / "driver-lost.yaml").write_text(rule)
    (tmp_path / "kinds.yaml").write_text(KINDS)
    (read,) = load([tmp_path]).rules
    assert read.events["a"].kinds == ("csi.call.failed", "csi.operation.failed", "pod.added")
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
    found = [str(fault).partition("\n")[0] for fault in (*broken, *lint_user_events(entries, KNOWN))]
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
