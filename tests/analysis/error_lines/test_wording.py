"""Lines of one call about one cause say the same once what differs is folded."""

from __future__ import annotations

import pytest

from kvdiag.analysis.error_lines.wording import LONGEST, fold, fold_message, last_clause
from kvdiag.model.record import Body


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ('Volume "pvc-1" is not mounted', 'Volume "…" is not mounted'),
        ("found 17 containers, deleted 3", "found … containers, deleted …"),
        ("no such file: /var/lib/kubelet/pods/x", "no such file: …"),
        ("dial tcp 10.0.0.1:6443: connect: connection refused", "dial tcp …: connect: connection refused"),
        ("ext4 error: I/O error on http2, IPv4 and v1", "ext4 error: I/O error on http2, IPv4 and v1"),
        ("Operation for {volumeName:a podName: nodeName:} failed.", "Operation for {…} failed."),
        ("it can't be and won't", "it can't be and won't"),
        ("two\n lines", "two lines"),
        ("ids 1f0c3a52-8d7b 24bee860a677 web-0", "ids …"),
        ("", ""),
    ],
)
def test_fold(text, folded):
    """Numbers, ids, paths and what is quoted are folded; names of formats and protocols stay."""
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("error", "clause"),
    [
        ("rpc error: code = Unavailable desc = dial unix: connect: connection refused", "connection refused"),
        ("context deadline exceeded", "context deadline exceeded"),
        (
            (
                'failed to "StartContainer" for "web" with CrashLoopBackOff: '
                '"back-off 5m0s restarting failed container=web pod=web-0_shop(1f0c)"'
            ),
            "back-off … restarting failed container=web pod=…(…)",
        ),
        ('MountVolume.SetUp failed for volume "c" : secret "s" not found', 'secret "…" not found'),
        ("exit status 32", "exit status …"),
        ("it failed: 17", "it failed"),
        ("mount failed: exit status 1\nOutput: mount: wrong fs type", "exit status …"),
        ('no pod (UID: "1f0c: 17") of that name', "no pod (…) of that name"),
        ('rejected connection from "192.0.2.7:1" (error "remote error: tls: bad \\"x\\"", ServerName "")', 'bad \\"…"'),
        ("", ""),
        ("17: 18", ""),
    ],
)
def test_last_clause(error, clause):
    """The cause stands last, within quotes as well; what is only numbers is none."""
    assert last_clause(error) == clause


def test_the_error_is_that_of_the_field():
    """What a structured line says and why stand apart."""
    said = fold_message(Body("klog", message="Error syncing pod, skipping", fields={"err": "a: b: it is gone"}))
    assert said.text == "Error syncing pod, skipping — it is gone"


def test_the_error_of_free_text_is_told_once():
    """The last clause of a message is part of it."""
    assert fold_message(Body("klog", message="failed to list: it is gone")).text == "failed to list: it is gone"


@pytest.mark.parametrize("piece", ["x", '"', "(", "{", ": ", "1", "…", "a/", "'", ':"a b', '="a b'])
def test_what_never_ends(piece):
    """Of a hostile text no more than the beginning is looked at."""
    text = piece * 200_000
    assert len(fold(text)) <= LONGEST
    assert len(last_clause(text)) <= LONGEST
