"""What lint demands so that no rule says more than its lines show."""

from __future__ import annotations

import pytest

from kvdiag.model.vocabulary import Entry, Wording
from kvdiag.rules.lint_truth import lint_look_alikes, lint_truth
from kvdiag.rules.schema import read_rule

RULE = """\
id: KV399
name: csi-invented-fault
title: Something
severity: high
per: volume
breaks: [{breaks}]
events:
  failed: {{kind: {failed}, error: {error}}}
  done: {{kind: {done}}}
  started: {{kind: kubelet.started}}
when: {when}
recovers: [done]
healed: {{says: It passed.}}
{proof}
says: "{says}"
cause: x
fix: [{{text: Restart it., run: "systemctl restart x", after: {after}}}]
not-when: [The server is down (nfs-server-unreachable)., It passes by itself.]
tests:
  - {{name: found, log: x, finds: {{v: confirmed}}}}
  - {{name: not, log: x, finds: {{{finds}}}, not-when: {numbers}}}
"""
SOUND = {
    "says": "{volume} is gone",
    "breaks": "volume.unpublish",
    "failed": "volume.unpublish.failed",
    "error": '"*code = Internal*"',
    "done": "volume.unstage.succeeded",
    "when": "failed",
    "proof": "",
    "after": "nothing uses it",
    "finds": "",
    "numbers": "2",
}
MANY = '["*?*", ' + ", ".join(f'"!*{word}*"' for word in "abcdefg") + "]"
ENTRIES = {
    kind: Entry(kind=kind, component="kubelet", wordings=(Wording(anchor="anchor", message="x"),), scope=scope)
    for kind, scope in (("volume.unpublish.failed", "subject"), ("kubelet.started", "node"))
}
NAMES = frozenset({"nfs-server-unreachable"})


def faults(**changed):
    """Give the paths and problems of a rule that is sound but for these parts."""
    rule = read_rule(RULE.format(**(SOUND | changed)), "x.yaml")
    return [*lint_truth(rule, ENTRIES), *lint_look_alikes(rule, NAMES)]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"error": '"*context deadline exceeded*"'},
        {"error": '"*InvalidVolume.NotFound*"'},
        {"error": '"*FailedInternally*"'},
        {"when": "started then failed within 5m"},
        {"failed": "volume.detach.failed", "done": "csi.controllerunpublish.succeeded"},
        {"failed": "volume.released"},
        {"error": MANY, "proof": "proof: {by: [done], doubt: something else may give this error}", "when": "failed and done"},
        {"breaks": "kubelet.run"},
        {"finds": "v: possible info"},
        {"numbers": "[1, 2]"},
        {"error": MANY, "says": "failed: {error}"},
        {"error": MANY.replace("*?*", "*not found*")},
        {"says": "the XFS of {volume} is gone", "error": '"*xfs_repair*"'},
        {"says": "the XFS of {volume} is gone", "error": '"*lost*"', "proof": "proof: {by: [done], doubt: x}", "failed": "volume.released", "when": "failed or done", "done": "kernel.xfs.duplicate"},
        {"says": "{volume} is NFS-like"},
    ],
)  # fmt: skip
def test_a_sound_rule(changed):
    """What is matched as what it is, tied in time, healed by its own success and tested has no fault."""
    assert faults(**changed) == []


@pytest.mark.parametrize(
    ("changed", "path", "problem"),
    [
        ({"error": '"*NotFound*"'}, "events.failed.error", "'*NotFound*' matches the word 'NotFound' anywhere; as a gRPC code it is 'code = NotFound'"),
        ({"error": '["*x*", "!*Internal*"]'}, "events.failed.error", "'!*Internal*' matches the word 'Internal' anywhere; as a gRPC code it is 'code = Internal'"),
        ({"when": "failed and started"}, "when", "'started' is an event of the node and may be hours away; put it in a chain with 'within'"),
        ({"when": "started then failed"}, "when", "'started' is an event of the node and may be hours away; put it in a chain with 'within'"),
        ({"when": "failed or (failed and (started or done))"}, "when", "'started' is an event of the node and may be hours away; put it in a chain with 'within'"),
        ({"done": "volume.publish.succeeded"}, "recovers", "volume.unpublish.failed counts, but no event under 'recovers' shows that the volume was unmounted"),
        ({"error": MANY}, "events.failed", "'failed' refuses 7 other errors, so it is no proof; name what proves it under 'proof'"),
        ({"breaks": "kubelet.run", "after": "the node is drained"}, "fix.0.after", "kubelet does not run, so no drain ends: its pods stay Terminating"),
        ({"numbers": "1"}, "not-when.1", "no test shows that the rule is silent then; give a near miss with 'not-when: 2'"),
        ({"numbers": "[2, 3]"}, "tests.1.not-when", "there is no entry 3 under 'not-when'"),
        ({"says": "the XFS of {volume} is gone"}, "says", "the text names XFS, but no line, value or component of 'failed' does"),
        ({"says": "the XFS of {volume} is gone", "error": '"!*xfs*"'}, "says", "the text names XFS, but no line, value or component of 'failed' does"),
        ({"finds": "v: confirmed low"}, "tests.1.not-when", "a test with 'not-when' must find nothing, or a finding of severity info"),
    ],
)  # fmt: skip
def test_each_fault(changed, path, problem):
    """Each is told with the place of its key."""
    assert faults(**changed) == [(path, problem)]
