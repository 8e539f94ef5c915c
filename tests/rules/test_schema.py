"""A rule file becomes a rule, or an error that names the place and what was meant."""

from __future__ import annotations

import pytest

from kvdiag.base.clock import MINUTE
from kvdiag.base.errors import PatternError
from kvdiag.model.rule import Absent, All, Bug, Chain, ChainStep, Fix, Healing, RuleTest, Selector
from kvdiag.model.values import Role, Severity, SubjectKind
from kvdiag.rules.grammar import read_condition
from kvdiag.rules.schema import read_rule, unique

WHOLE = """\
id: KV399
name: csi-invented-fault
title: Something invented went wrong
severity: high
status: stable
role: symptom
per: volume
applies: {kubelet: ">=1.22 <1.27"}
bugs:
  - component: csi-driver
    affected: "<1.12"
    fixed: "1.12.0"
    reference: https://example.org/1
    where: {driver: "*.example.org"}
    doubt: not verified
events:
  failed: {kind: [volume.unpublish.failed, volume.unstage.failed], error: "*busy*"}
  done: {kind: volume.unpublish.succeeded}
  my_line:
    line: my driver says {error}
    anchor: my driver says
    component: csi-driver
    verbosity: 4
    scope: node
    poll: true
    error: ["*lost*", "!*found*"]
when: >-
  at least 3 failed lasting 1m
  and no done after failed until end
same: [pod_uid]
counts: failed
shows: [my_line]
says: >-
  Volume {volume}
  is stuck.
cause: |
  Because.
fix:
  - text: Look first.
    run: findmnt {target_path}
  - text: Unmount it.
    run: umount {target_path}
    after: nothing holds the mount
references: [https://example.org/2]
not-when: [it looks alike]
explains: [pod-stuck-terminating-volumes]
collect: [journalctl -u kubelet]
tests:
  - name: found
    log: |
      a line
    finds: {vol-1: confirmed}
    options: {year: 2023}
  - {name: not found, log: a line, finds: {}}
follows: [done]
"""


def test_a_whole_rule():
    """Every key of a rule file is kept."""
    rule = read_rule(WHOLE, "x.yaml")
    assert (rule.id, rule.name, rule.title, rule.place) == (
        "KV399",
        "csi-invented-fault",
        "Something invented went wrong",
        "x.yaml:1:1",
    )
    assert (rule.severity, rule.status, rule.role, rule.per) == (
        Severity.HIGH,
        "stable",
        Role.SYMPTOM,
        SubjectKind.VOLUME,
    )
    assert rule.applies == {"kubelet": ">=1.22 <1.27"}
    assert rule.bugs == (
        Bug(
            component="csi-driver",
            affected="<1.12",
            fixed=("1.12.0",),
            reference="https://example.org/1",
            where={"driver": "*.example.org"},
            doubt="not verified",
        ),
    )
    assert rule.events == {
        "failed": Selector(
            name="failed", kinds=("volume.unpublish.failed", "volume.unstage.failed"), where={"error": ("*busy*",)}
        ),
        "done": Selector(name="done", kinds=("volume.unpublish.succeeded",)),
        "my_line": Selector(
            name="my_line", kinds=("line.csi-invented-fault.my-line",), where={"error": ("*lost*", "!*found*")}
        ),
    }
    assert rule.when == All((Chain((ChainStep("failed", 3, MINUTE),)), Absent("done", after="failed", to_end=True)))
    assert (rule.says, rule.cause) == ("Volume {volume} is stuck.", "Because.")
    assert rule.fix == (
        Fix(text="Look first.", run="findmnt {target_path}"),
        Fix(text="Unmount it.", run="umount {target_path}", after="nothing holds the mount"),
    )
    assert (rule.same, rule.counts, rule.shows, rule.follows) == (("pod_uid",), "failed", ("my_line",), ("done",))
    assert (rule.references, rule.look_alikes) == (("https://example.org/2",), ("it looks alike",))
    assert (rule.explains, rule.collect) == (("pod-stuck-terminating-volumes",), ("journalctl -u kubelet",))
    assert rule.tests == (
        RuleTest(
            name="found", log="a line\n", finds={"vol-1": "confirmed"}, options={"year": "2023"}, place="x.yaml:49:5"
        ),
        RuleTest(name="not found", log="a line", finds={}, place="x.yaml:54:5"),
    )


def test_a_raw_line_becomes_an_entry_of_the_vocabulary():
    """A line that no vocabulary knows is described in the rule itself."""
    (entry,) = read_rule(WHOLE, "x.yaml").lines
    assert (entry.kind, entry.component, entry.verbosity, entry.scope, entry.poll) == (
        "line.csi-invented-fault.my-line",
        "csi-driver",
        4,
        "node",
        True,
    )
    assert [(w.anchor, w.message) for w in entry.wordings] == [("my driver says", "my driver says {error}")]


def test_what_may_be_left_out():
    """A rule needs no more than what it finds, what it says, and its tests."""
    text = "id: KV101\nname: small\ntitle: Small\nseverity: info\nper: pod\nevents: {a: {kind: pod.added}}\nwhen: a\nsays: x\ncause: y\ntests: []"
    rule = read_rule(text, "small.yaml")
    assert (rule.status, rule.role, rule.applies, rule.fix, rule.same, rule.counts, rule.tests) == (
        "experimental",
        Role.CAUSE,
        {},
        (),
        (),
        "",
        (),
    )


@pytest.mark.parametrize(
    ("old", "new", "place", "problem"),
    [
        ("severity: high", "severty: high", "4:1", "unknown key 'severty'; did you mean 'severity'?"),
        ("title: Something invented went wrong\n", "", "1:1", "the key 'title' is missing"),
        ("severity: high", "severity: hihg", "4:11", "unknown 'hihg'; did you mean 'high'?"),
        ("status: stable", "status: ready", "5:9", "unknown 'ready'; known are experimental, retired, stable"),
        ("role: symptom", "role: sympton", "6:7", "unknown 'sympton'; did you mean 'symptom'?"),
        ("per: volume", "per: volumes", "7:6", "unknown 'volumes'; did you mean 'volume'?"),
        (
            "id: KV399",
            "id: KV03991",
            "1:5",
            "'KV03991': an id is KV and three or four digits, the first of them the family",
        ),
        (
            "id: KV399",
            "id: KV099",
            "1:5",
            "'KV099': an id is KV and three or four digits, the first of them the family",
        ),
        ("name: csi-invented-fault", "name: CSI fault", "2:7", "'CSI fault': use lower-case words joined by dashes"),
        (
            "title: Something",
            "title: Something\nid: KV398\nx: Y",
            "4:1",
            "the key 'id' is given twice, first in line 1",
        ),
        ('">=1.22 <1.27"}', '"from 1.22"}', "8:20", "cannot read 'from' in the version range 'from 1.22'"),
        ('affected: "<1.12"', 'affected: "1.x"', "11:15", "cannot read '1.x' in the version range '1.x'"),
        ('affected: "<1.12"', 'afected: "<1.12"', "11:5", "unknown key 'afected'; did you mean 'affected'?"),
        ("done: {kind: volume", "done: {kin: volume", "18:9", "'done' has neither 'kind' nor 'line'"),
        ("    anchor: my driver says\n", "", "20:5", "the line of 'my_line' needs an anchor"),
        ("scope: node", "scope: nod", "24:12", "unknown 'nod'; did you mean 'node'?"),
        ("verbosity: 4", "verbosity: four", "23:16", "a whole number is expected here, not 'four'"),
        ("poll: true", "poll: yes", "25:11", "true or false is expected here, not 'yes'"),
        ("and no done", "and no don", "27:7", "unknown event 'don'; did you mean 'done'?"),
        ("lasting 1m", "lasting long", "27:7", "expected a duration such as 30s or 5m, found 'long'"),
        ("counts: failed", "counts: faled", "31:9", "unknown 'faled'; did you mean 'failed'?"),
        ("shows: [my_line]", "shows: [my_lime]", "32:9", "unknown 'my_lime'; did you mean 'my_line'?"),
        ("same: [pod_uid]", "same: pod_uid", "30:7", "a list is expected here, not 'pod_uid'"),
        ("    after: nothing", "    befor: nothing", "43:5", "unknown key 'befor'"),
        ("  - text: Look first.\n    run", "  - run", "39:5", "the key 'text' is missing"),
        (
            "finds: {vol-1: confirmed}",
            "finds: {vol-1: sure}",
            "52:20",
            "unknown 'sure'; known are confirmed, critical, high, info, low, medium, possible",
        ),
        ("    finds: {vol-1: confirmed}\n", "", "49:5", "the key 'finds' is missing"),
        ("events:\n", "events: none\nx:\n", "17:1", "unknown key 'x'"),
        ("title: Something invented", "title: [Something invented", "4:9", ""),  # libyaml says it in words of its own
        ("cause: |\n  Because.", "cause:", "36:7", "a text is expected here, not nothing"),
        (WHOLE, "- a list", "1:1", "keys with values are expected here, not a list"),
        (WHOLE, "", "1:1", "keys with values are expected here, not nothing"),
    ],
)
def test_each_kind_of_fault(old, new, place, problem):
    """A fault is told with file, line and column, and what was probably meant."""
    assert old in WHOLE
    with pytest.raises(PatternError) as error:
        read_rule(WHOLE.replace(old, new, 1), "x.yaml")
    assert str(error.value).startswith(f"x.yaml:{place}: {problem}")


def test_ids_and_names_are_taken_once():
    """Two files that claim one id or name are both named."""
    one, other = read_rule(WHOLE, "one.yaml"), read_rule(WHOLE.replace("KV399", "KV398"), "two.yaml")
    assert [str(error) for error in unique([one, other])] == [
        "two.yaml:2:7: csi-invented-fault is already used at one.yaml:2:7"
    ]
    assert list(unique([one])) == []


SAME_EVENTS = """\
id: KV699
name: mount-failed
title: Mount failed
severity: high
per: volume
events:
  failed: {kind: volume.publish.failed, error: "*busy*"}
  done: {kind: volume.publish.succeeded}
  gone: {kind: pod.removed}
recovers: [done, gone]
when: failed lasting 2m as again or (at least 2 failed without recovery and not again)
alarm: [again]
healed: {says: It passed.}
says: It fails.
cause: It does.
tests: []
"""


def test_a_second_name_and_recovery():
    """`as` adds a name for the same events; `without recovery` is an absence of each event that ends the fault."""
    rule = read_rule(SAME_EVENTS, "x.yaml")
    assert rule.events["again"] == rule.events["failed"]._replace(name="again")
    written = "failed and no done after failed until end and no gone after failed until end"
    assert rule.when == read_condition(f"again lasting 2m or (at least 2 {written} and not again)", rule.events, "here")
    assert rule.alarm == ("again",)
    assert rule.healed == Healing(("done", "gone"), "It passed.")
    denied = SAME_EVENTS.replace("and not again", "and not (failed without recovery)")
    assert read_rule(denied, "x.yaml").when == read_condition(
        f"again lasting 2m or (at least 2 {written} and not ({written}))", rule.events, "here"
    )


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("as again", "as done", "x.yaml:11:7: 'done' is already an event"),
        ("as again", "as again as more", "x.yaml:11:7: expected"),
        ("recovers: [done, gone]\nwhen: failed lasting 2m as again or (at least 2 failed without recovery and not again)", "when: failed as again", "x.yaml:12:9: 'healed' needs 'recovers'"),
        ("healed: {says: It passed.}\n", "", "x.yaml:10:11: 'recovers' needs 'healed'"),
        ("recovers: [done, gone]", "recovers: [dun]", "x.yaml:10:12: unknown 'dun'; known are"),
        ("failed lasting 2m as", "faild lasting 2m as", "x.yaml:11:7: unknown event 'faild'; did you mean 'failed'?"),
    ],
)  # fmt: skip
def test_faults_of_names_and_recovery(old, new, fault):
    """A second name must be new, and a recovery needs both its events and its text."""
    assert old in SAME_EVENTS
    with pytest.raises(PatternError) as raised:
        read_rule(SAME_EVENTS.replace(old, new, 1), "x.yaml")
    assert str(raised.value).startswith(fault), str(raised.value)


def test_recovery_without_its_key():
    """`without recovery` in a rule without `recovers` is an error at its place in the condition."""
    text = SAME_EVENTS.replace("recovers: [done, gone]\n", "").replace("healed: {says: It passed.}\n", "")
    with pytest.raises(PatternError, match="'without recovery' needs the key 'recovers'"):
        read_rule(text, "x.yaml")
