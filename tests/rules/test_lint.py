"""What a rule must have beyond being readable."""

from __future__ import annotations

import re

import pytest

from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary, make_vocabulary, read_entries
from kvdiag.model.vocabulary import Entry, Wording
from kvdiag.rules.lint import lint
from kvdiag.rules.lint_samples import LogSamples, unmatched
from kvdiag.rules.schema import read_rule
from kvdiag.rules.template import FAMILIES, new_rule

SOUND = """\
id: KV399
name: csi-invented-fault
title: Something
severity: high
per: volume
events:
  failed: {kind: volume.unpublish.failed, error: "*busy*"}
  done: {kind: volume.unpublish.succeeded}
when: failed and no done after failed within 5m
says: "{volume} of {pod}: {error}, {count} over {span}"
cause: "{staging_path}"
fix:
  - text: Look at {node}.
    run: findmnt {target_path}
  - {text: Unmount., run: "umount {target_path}", after: nothing uses it}
explains: [csi-other]
tests:
  - {name: found, log: x, finds: {v: confirmed}}
  - {name: not, log: x, finds: {}}
breaks: [volume.unpublish]
"""
VOCABULARY = load_vocabulary(builtin_patterns() / "events")
NAMES = frozenset({"csi-invented-fault", "csi-other"})


def entry(kind, message):
    """Give an entry with one wording."""
    return Entry(kind=kind, component="kubelet", wordings=(Wording(anchor="anchor", message=message),))


ENTRIES = {
    "volume.unpublish.failed": entry("volume.unpublish.failed", "failed {unique_name} {error}"),
    "volume.unpublish.succeeded": entry("volume.unpublish.succeeded", "succeeded {unique_name}"),
    "csi.nodepublish.called": Entry(kind="csi.nodepublish.called", component="csi-driver", wordings=()),
}


def faults(text):
    """Give what lint says of a rule."""
    return [str(fault) for fault in lint(read_rule(text, "x.yaml"), ENTRIES, NAMES)]


@pytest.mark.parametrize(
    ("heading", "fault"),
    [
        ("Busy: {target_path}[[ of {pod}]]", ""),
        ("Busy: {imagee}", "the slot {imagee} is unknown"),
        ("a b c d e f g h i j k l: {volume}", ""),
        ("a b c d e f g h i j k l m: {volume}", "at most 12 words besides the names in it"),
        ("Busy in[[ {pod}]]: {target_path}", "the text has 'in' and nothing after it"),
        ("NFS server of {volume}", "the text names NFS, but no line"),
    ],
)
def test_headings(heading, fault):
    """A heading has names that can be known, and is short."""
    said = faults(SOUND.replace("severity: high", f'severity: high\nheading: "{heading}"'))
    assert len(said) == bool(fault)
    assert all("x.yaml:5:10: " in one and fault in one for one in said)


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        ("{restart:kubelet}", "changes the node"),
        ("{host} umount {target_path}", "changes the node"),
        ("{crictl} rmp x", "changes the node"),
        ("{status:kublet}", "no distribution defines {status:kublet}"),
        ("{journl:kubelet}", "no distribution defines {journl:kubelet}"),
        ("{crictl since 1h}", "no distribution defines {crictl since 1h}"),
        ("{journal:kubelet since 1d}", "no distribution defines {journal:kubelet since 1d}"),
        ("{journal: kubelet}", "no distribution defines {journal: kubelet}"),
        ("kubectl -n kube-system rollout restart daemonset/x", "changes the node"),
        ("kubectl drain {node}", "changes the node"),
        ("{host} mount --bind /a /b", "changes the node"),
        ("{crictl} pull IMAGE", "changes the node"),
        ("kubectl -n kube-system logs -l app=x", ""),
        ("{crictl} pods --quiet", ""),
        ("{journal:kubelet since 1h} | grep {pod_uid}", ""),
        ("{status:runtime}", ""),
    ],
)
def test_commands_of_distributions(run, fault):
    """A placeholder must be one that is known, and what it becomes is what is judged."""
    found = faults(SOUND.replace("run: findmnt {target_path}", f'run: "{run}"'))
    assert [one for one in found if fault and fault in one] if fault else found == []


def test_an_absence_within_what_is_denied():
    """What must not have happened may be measured from itself: `not (done then failed and no done between …)`."""
    denied = "failed and not (done then failed and no failed between done and failed)"
    when = SOUND.index("when: ")
    assert faults(SOUND[:when] + f"when: {denied}\n" + SOUND[when:].partition("\n")[2]) == []


def test_a_sound_rule():
    """A rule that has all it needs is without a fault."""
    assert faults(SOUND) == []


@pytest.mark.parametrize(
    ("old", "new", "place", "fault"),
    [
        ("volume.unpublish.succeeded", "volume.unpublish.suceeded", "8:16", "done: unknown event kind 'volume.unpublish.suceeded'; did you mean 'volume.unpublish.succeeded'?"),
        ('error: "*busy*"', 'eror: "*busy*"', "7:49", "failed: its lines say nothing of 'eror'; did you mean 'error'?"),
        ("events:\n", "events:\n  spare: {kind: csi.nodepublish.called}\n", "7:3", "the event 'spare' is defined but never used"),
        ("when: failed and no", "when: no", "9:7", "the condition requires no event; an absence alone is not a finding"),
        ("when:", "proof: {by: [done], doubt: x}\nwhen:", "9:14", "the proof 'done' is not an event that the condition requires"),
        (" within 5m", "", "9:7", "'no done after failed' has no bound; write 'within 5m', or 'until end' if that is meant"),
        ("failed and no done after failed", "done and no done after failed", "9:7", "'no done' is measured from 'failed', which the condition does not require"),
        ("finds: {v: confirmed}", "finds: {}", "17:1", "no test finds anything; give a log in which the signature is found"),
        ("finds: {}", "finds: {v: possible}", "17:1", "no test is a near miss; give a log that looks alike and must find nothing (finds: {})"),
        ("{pod}", "{pods}", "10:7", "the slot {pods} is unknown; did you mean 'pod'?"),
        (", after: nothing uses it", "", "15:27", "'umount {target_path}' changes the node; write under 'after' what must be true before it is run"),
        ("findmnt {target_path}", "findmnt '{target_path}'", "14:10", "the slot {target_path} of 'findmnt '{target_path}'' is inside quotes; values are quoted when slots are filled"),
        ("csi-other", "csi-othr", "16:12", "explains 'csi-othr', but there is no such rule; did you mean 'csi-other'?"),
    ],
)  # fmt: skip
def test_each_fault(old, new, place, fault):
    """Each fault is told with its place and what was probably meant."""
    assert f"x.yaml:{place}: {fault}" in [one.partition("\n")[0] for one in faults(SOUND.replace(old, new, 1))]


def test_a_raw_line_that_another_name_narrows():
    """A raw line without conditions is used if another name selects its lines by program."""
    words = "events:\n  words: {line: some words, anchor: some words}\n"
    narrowed = "  narrowed: {kind: line.csi-invented-fault.words, component: kubelet}\n"
    assert any("'words' is defined but never used" in one for one in faults(SOUND.replace("events:\n", words)))
    assert not any("'words' is defined" in one for one in faults(SOUND.replace("events:\n", words + narrowed)))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_new_rule(family):
    """A rule begun with `rules new` can be read, under the first free id of its family; what is not filled in is told."""
    digit = FAMILIES[family].digit
    text = new_rule("my-rule", family, {f"KV{digit}01", f"KV{digit}03"})
    rule = read_rule(text, "my-rule.yaml")
    assert (rule.id, rule.name) == (f"KV{digit}02", "my-rule")
    found = [str(fault) for fault in lint(rule, VOCABULARY.kinds, frozenset({"my-rule"}))]
    assert [fault.partition(": ")[0] for fault in found] == [
        f"my-rule.yaml:{place}" for place in ("3:8", "13:7", "14:8", "23:10", "25:26", "27:10")
    ]
    assert all("is text of the template" in fault for fault in found)


@pytest.mark.parametrize(
    ("when", "caret", "fault"),
    [
        ("failed or failed and done", "failed", "'failed and done' is redundant: if it holds, 'failed' does too"),
        ("failed or at least 3 failed lasting 1m", "failed", "'at least 3 failed lasting 1m' is redundant"),
        ("failed or done then failed within 5m", "done", "'done then failed within 5m' is redundant"),
        ("(failed or done) and no done after failed within 5m", "failed", "only another branch requires"),
        ("failed then done and no failed between done and failed", "failed", "nothing is between done and failed"),
        ("failed within 5m or failed and done", "", ""),
        ("failed and done or failed", "", ""),
        ("at least 3 failed or failed", "", ""),
        ("failed then done or done then failed", "", ""),
        ("failed or done", "", ""),
    ],
)
def test_clauses_that_can_add_nothing(when, caret, fault):
    """A branch that another before it makes idle, and an absence that nothing bounds, are told with a caret."""
    rule = read_rule(re.sub("when: .*", f"when: {when}", SOUND), "x.yaml")
    found = [str(one) for one in lint(rule, ENTRIES, NAMES) if "never used" not in str(one)]
    assert [fault in one.split("\n")[0] for one in found] == ([True] if fault else [])
    for one in found:
        place, sentence, marks = one.split("\n")
        assert place.startswith("x.yaml:9:7: ")
        assert sentence[marks.index("^") : marks.rindex("^") + 1] == caret


def test_what_can_be_cut():
    """Only the last step of a chain that has a bound can be missing because the log ends."""
    cut = SOUND.replace("explains:", "cut: [failed, done]\nexplains:")
    assert [one for one in faults(cut) if "cut" in one] == [
        "x.yaml:16:15: the cut 'done' is not an event that the condition requires",
        "x.yaml:16:7: 'failed' can only be cut off as the last step of a chain with 'within' or 'lasting'",
    ]
    assert faults(re.sub("when: .*", "when: done then failed within 5m", cut.replace(", done]", "]"))) == []


def test_a_subject_that_no_line_names():
    """A rule about pods whose lines never name one would never be tried."""
    rule = (
        SOUND.replace("per: volume", "per: pod")
        .replace("{volume} of {pod}: {error}", "x")
        .replace("{staging_path}", "x")
    )
    bare = {kind: entry(kind, "said {reason}") for kind in ENTRIES}
    found = [str(one) for one in lint(read_rule(rule, "x.yaml"), bare, NAMES)]
    assert "x.yaml:5:6: per pod, but no line of volume.unpublish.failed identifies one; use 'per: node'" in found
    assert not [one for one in faults(rule) if "names one" in one]


def heard(rule, *more):
    """Give what the words of logs say against a rule, and perhaps against others."""
    rules = [read_rule(one, f"{number}.yaml") for number, one in enumerate((rule, *more))]
    entries = read_entries(builtin_patterns() / "events")
    lines = [line for one in rules for line in one.lines]
    words = LogSamples.from_entries(make_vocabulary([*entries, *lines]), entries)
    return [f"{rules[0].place_of(path)} {problem}" for path, problem in unmatched(rules[0], words)]


RAW = SOUND.replace("{kind: volume.unpublish.succeeded}", '{line: "%s", anchor: "%s"}')


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (SOUND.replace("*busy*", "*Target is BUSY*"), ""),  # no sample says so either way
        (SOUND.replace("*busy*", "*Device or resource busy*"), "0.yaml:7:50 the glob '*Device or resource busy*' is case-sensitive, but logs contain 'device or resource busy'"),
        (SOUND.replace("*busy*", "device or resource busy"), "0.yaml:7:50 the glob 'device or resource busy' must match the whole text; write '*' where there may be more"),
        (RAW % ("my driver is lost", "driver is lost"), ""),
        (RAW % ("kubelet is lost", "kubelet"), "0.yaml:8:43 the anchor 'kubelet' is in 33 % of the lines of an average log; take words that only this line has"),
        (RAW % ("Clean up what", "Clean up"), "0.yaml:8:41 the anchor 'Clean up' is in 15 % of the lines of an average log; take words that only this line has"),
        (RAW % ("PLEG is not healthy: pleg was last seen active 3m", "PLEG is not healthy"), ""),
        (RAW % ("Timed out while waiting for systemd to remove it", "Timed out while waiting for systemd to remove"), "0.yaml:8:3 this line is never matched: cgroup.remove.failed has its anchor and is tried first; use that kind instead"),
    ],
)  # fmt: skip
def test_words_that_no_log_has(rule, told):
    """A glob in other letters, an anchor that hits all and a line that another kind takes are told."""
    assert heard(rule) == ([told] if told else [])


def test_a_line_of_another_rule():
    """Of two rules with one line the second never sees it."""
    line = RAW % ("my driver is lost", "driver is lost")
    other = line.replace("csi-invented-fault", "csi-other")
    entries = [*read_rule(other, "x").lines, *read_rule(line, "y").lines]
    words = LogSamples.from_entries(make_vocabulary(entries), ())
    (found,) = unmatched(read_rule(line, "y"), words)
    assert found[1].startswith("this line is never matched: line.csi-other.done has its anchor")


def test_two_kinds_of_one_name():
    """A kind that is named twice and a test that is called like another are told at their places."""
    twice = SOUND.replace("kind: volume.unpublish.failed", "kind: [volume.unpublish.failed, volume.unpublish.failed]")
    assert faults(twice) == ["x.yaml:7:44: failed: the kind 'volume.unpublish.failed' is named twice"]
    assert faults(SOUND.replace("name: not", "name: found")) == ["x.yaml:19:12: two tests are called 'found'"]


def test_the_template_of_a_raw_line():
    """A fault of a raw line's template is told where the line stands."""
    (found,) = (one for one in faults(RAW % ("my driver lost {eror}", "driver lost")) if "placeholder" in one)
    assert found.startswith("x.yaml:8:16: unknown placeholder 'eror'; did you mean 'error'?")
