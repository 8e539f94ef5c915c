"""Rules ask for the anatomy of an error: its cause, the cause's object, the peer of the call and the operation."""

from __future__ import annotations

import pytest

from kvdiag.anatomy.conditions import anatomy_of, strong_cause_in
from kvdiag.anatomy.data import tables
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import read_entries
from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.rule import Selector
from kvdiag.rules.lint import lint
from kvdiag.rules.schema import read_rule
from kvdiag.rules.selection import selects


def event(error):
    """Return a failed staging with an error."""
    return Event(0, KIND, "kubelet", (), {"error": error}, Origin("kubelet.log", 1), "node-a", (b"",), 0)


KIND = "volume.stage.failed"
REFUSED = "rpc error: code = Unavailable desc = dial unix /csi/csi.sock: connect: connection refused"
EXPIRED = "tls: failed to verify certificate: x509: certificate has expired or is not yet valid"
OF_API = f'Get "https://192.0.2.1:443/api/v1/nodes/a": {EXPIRED}'
OF_REGISTRY = f'failed to pull image "r.example.com/a:1": Head "https://r.example.com/v2/a/manifests/1": {EXPIRED}'


@pytest.mark.parametrize(
    ("where", "error", "fits"),
    [
        ({"cause": ("ECONNREFUSED",)}, REFUSED, True),
        ({"cause": ("ETIMEDOUT", "no-connection")}, REFUSED, True),
        ({"cause": ("!no-connection",)}, REFUSED, False),
        ({"cause": ("!x509",)}, REFUSED, True),
        ({"cause": ("no-connection", "!ECONNREFUSED")}, REFUSED, False),
        ({"cause": ("ECONNREFUSED",), "object": ("*/csi.sock",)}, REFUSED, True),
        ({"cause": ("ECONNREFUSED",), "object": ("!*.sock",)}, REFUSED, False),
        ({"peer": ("csi-socket",)}, REFUSED, True),
        ({"peer": ("!csi-socket",)}, REFUSED, False),
        ({"cause": ("x509",), "peer": ("api-server",)}, OF_API, True),
        ({"cause": ("x509",), "peer": ("api-server",)}, OF_REGISTRY, False),
        ({"cause": ("x509",), "peer": ("registry",)}, OF_REGISTRY, True),
        ({"operation": ("pull",)}, OF_REGISTRY, True),
        ({"operation": ("!pull",)}, OF_REGISTRY, False),
        ({"operation": ("stage",)}, "input/output error", True),
        ({"cause": ("EIO",)}, "NVMe: Failed (os error 5)", True),
        ({"cause": ("EXIT_CODE",)}, "iscsiadm: exit status 8", True),
        ({"cause": ("ESTALE",), "code": ("Unavailable",)}, REFUSED, False),
    ],
)
def test_conditions(where, error, fits):
    """Every name of the anatomy is a condition of its own, and a word behind `!` refuses."""
    assert selects(Selector("a", (KIND,), where=where), event(error)) is fits


def test_an_error_is_read_once():
    """However many conditions ask, an error of one kind of event is read once."""
    anatomy_of.cache_clear()
    line = event(REFUSED)
    for cause in ("ECONNREFUSED", "no-connection", "ECONNREFUSED"):
        assert selects(Selector("a", (KIND,), where={"cause": (cause,)}), line)
    assert not selects(Selector("a", (KIND,), where={"cause": ("ETIMEDOUT", "UNAVAILABLE")}), line)
    assert anatomy_of.cache_info().misses == 1


RULE = """\
id: KV699
name: socket-refused
title: The socket refuses
severity: high
per: node
events:
  failed: {{kind: volume.stage.failed, {condition}}}
when: failed
says: "The socket refuses."
cause: It does.
tests: []
"""


def faults(condition):
    """Return the faults of a rule about its conditions, as printed."""
    entries = {one.kind: one for one in read_entries(builtin_patterns() / "events")}
    found = map(str, lint(read_rule(RULE.format(condition=condition), "x.yaml"), entries, frozenset()))
    return [one for one in found if "cause" in one or "peer" in one or "operation" in one or "reason" in one]


@pytest.mark.parametrize(
    ("condition", "fault"),
    [
        ("cause: [EIO, ECONREFUSED]", "x.yaml:7:52: failed: unknown cause 'ECONREFUSED'; did you mean 'ECONNREFUSED'"),
        ('cause: "!x508"', "x.yaml:7:46: failed: unknown cause 'x508'; did you mean 'x509'"),
        ("peer: csi-sockt", "x.yaml:7:45: failed: unknown peer 'csi-sockt'; did you mean 'csi-socket'"),
        ("any: [{operation: stagee}]", "x.yaml:7:57: failed: unknown operation 'stagee'; did you mean 'stage'"),
        ('error: "*input/output error*"', "'*input/output error*' has the words of a cause: write 'cause: EIO'"),
        ('error: "*timed out*"', "write 'cause: DEADLINE', or why not under 'glob-because'"),
        ('error: "*my words*", glob-because: why', "no glob has the words of a known cause; remove the reason"),
    ],
)
def test_lint(condition, fault):
    """Unknown words are errors with their place; so is a glob with the words of a cause, unless a reason is given."""
    assert [one for one in faults(condition) if fault in one], faults(condition)


@pytest.mark.parametrize(
    ("rest", "fault"),
    [
        (
            "cause-from: [failed]\nfix:\n  - {text: See., causes: [ENOSPCE]}\n",
            "unknown cause 'ENOSPCE'; did you mean 'ENOSPC'",
        ),
        ("fix:\n  - {text: See., causes: [ENOSPC]}\n", "a step for some causes needs `cause-from`"),
        ("cause-from: [failed]\nfix:\n  - {text: See., causes: [ENOSPC]}\n", ""),
    ],
)
def test_lint_of_steps(rest, fault):
    """The causes of a step exist, and the rule reads the cause of its errors."""
    entries = {one.kind: one for one in read_entries(builtin_patterns() / "events")}
    text = RULE.format(condition='error: "*my words*"').replace("tests: []\n", f"{rest}tests: []\n")
    found = [
        one
        for one in map(str, lint(read_rule(text, "x.yaml"), entries, frozenset()))
        if "fix.0" in one or "cause" in one
    ]
    assert bool(found) == bool(fault)
    assert all(fault in one for one in found)


@pytest.mark.parametrize("condition", ['error: "*Stale file handle*", glob-because: why', 'error: "!*timed out*"'])
def test_lint_accepts(condition):
    """A reason, or a glob that refuses, is no fault."""
    assert faults(condition) == []


@pytest.mark.parametrize(
    ("glob", "cause"),
    [
        ("*tale file handle*", "ESTALE"),
        ("*[Dd]evice or resource busy*", "EBUSY"),
        ("*timed out*", "DEADLINE"),
        ("*waits, timed out*", ""),
    ],
)
def test_words_of_a_cause(glob, cause):
    """A glob may leave out the first letter; the words of a weak cause count only alone."""
    assert strong_cause_in(glob) == cause


def test_kinds_of_operations():
    """The kinds of events of every operation exist."""
    known = {entry.kind for entry in read_entries(builtin_patterns() / "events")}
    assert {kind for one in tables().operations for kind in one.kinds} <= known
