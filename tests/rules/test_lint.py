"""What a rule must have beyond being readable."""

from __future__ import annotations

import pytest

from kvdiag.events.folder import built_in
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.model.vocabulary import Entry, Wording
from kvdiag.rules.lint import lint
from kvdiag.rules.schema import read_rule
from kvdiag.rules.template import FAMILIES, new_rule

SOUND = """\
id: KV399
name: csi-invented-fault
title: Something
severity: high
per: volume
breaks: [volume.unpublish]
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
"""
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
    ("old", "new", "fault"),
    [
        ("volume.unpublish.succeeded", "volume.unpublish.suceeded", "done: no event kind is called 'volume.unpublish.suceeded'; did you mean 'volume.unpublish.succeeded'?"),
        ('error: "*busy*"', 'eror: "*busy*"', "failed: its lines say nothing of 'eror'; did you mean 'error'?"),
        ("events:\n", "events:\n  spare: {kind: csi.nodepublish.called}\n", "the event 'spare' is named but never used"),
        ("when: failed and no", "when: no", "the sentence names nothing that must have happened; an absence alone is no finding"),
        ("when:", "proof: {by: [done], doubt: x}\nwhen:", "the proof 'done' is nothing that the sentence asks to have happened"),
        (" within 5m", "", "'no done after failed' has no bound; say 'within 5m', or 'until end' if that is meant"),
        ("failed and no done after failed", "done and no done after failed", "'no done' is measured from 'failed', which the sentence does not ask to have happened"),
        ("finds: {v: confirmed}", "finds: {}", "no test finds anything; give a log in which the signature is found"),
        ("finds: {}", "finds: {v: possible}", "no test is a near miss; give a log that looks alike and must find nothing (finds: {})"),
        ("{pod}", "{pods}", "the slot {pods} is filled by nothing; did you mean 'pod'?"),
        (", after: nothing uses it", "", "'umount {target_path}' changes the node; say under 'after' what must be true before it is run"),
        ("findmnt {target_path}", "findmnt '{target_path}'", "the slot {target_path} of 'findmnt '{target_path}'' stands in quotes; it is quoted when it is filled"),
        ("csi-other", "csi-othr", "explains 'csi-othr', but there is no such rule; did you mean 'csi-other'?"),
    ],
)  # fmt: skip
def test_each_fault(old, new, fault):
    """Each fault is told with the rule's place and what was probably meant."""
    assert f"x.yaml:1:1: {fault}" in faults(SOUND.replace(old, new, 1))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_new_rule(family):
    """A rule begun with `rules new` can be read, under the first free id of its family, and lacks only its log."""
    digit = FAMILIES[family]
    text = new_rule("my-rule", family, {f"KV{digit}01", f"KV{digit}03"})
    rule = read_rule(text, "my-rule.yaml")
    assert (rule.id, rule.name) == (f"KV{digit}02", "my-rule")
    entries = load_vocabulary(built_in() / "events").kinds
    assert list(lint(rule, entries, frozenset({"my-rule"}))) == []
