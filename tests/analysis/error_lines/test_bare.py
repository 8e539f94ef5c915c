"""Errors that were taken out of a log are listed with their causes; other texts without a log are not."""

from __future__ import annotations

import pytest

from kvdiag import analyze
from kvdiag.analysis.error_lines.bare import LONGEST_TEXT, failures, reports_failure
from kvdiag.inputs.scan.blocks import Block

ERRORS = [
    "failed to find disk by lun 3",
    "Unable to attach or mount volumes: unmounted volumes=[data]",
    "could not find enough disk luns",
    "Error response from daemon: pull access denied for shop/web",
    "error getting node worker-1 from the cache",
    'OCI runtime exec failed: exec failed: unable to start container process: exec: "bash": executable file not found',
    "mkdir /data: read-only file system",
    'Get "https://192.0.2.7:10250/stats": dial tcp 192.0.2.7:10250: connect: connection refused',
    'exec: "/start.sh": permission denied',
    "mount.nfs: access denied by server while mounting 192.0.2.5:/export",
    "driver name disk.example.org not found in the list of registered CSI drivers",
    "volume(rg#acct#share) mount //acct.example.org/share on /mnt failed with mount failed: exit status 32",
]
OTHERS = [
    "NAME   READY   STATUS    RESTARTS   AGE",
    "Unable to find image 'nginx:latest' locally",
    "+ kubectl apply -f web.yaml",
    "/dev/sda1        50G   20G   30G  40% /",
    "  restartPolicy: OnFailure",
    "  - name: FAIL_ON_ERROR",
    "0 failed, 12 passed",
    "failed: 0",
    "Last Exit Code: 0",
    "[preflight] Running pre-flight checks",
    "note: this path does not exist yet",
    "PLAY RECAP: ok=3 changed=1 unreachable=0 failed=0",
]


def block(text: str) -> Block:
    """Return a log as its first block."""
    return Block(text.encode(), 0, text.count("\n"), 0)


@pytest.mark.parametrize("line", ERRORS)
def test_an_error_is_told(line):
    """By how it begins, or by its cause."""
    assert reports_failure(line.encode())
    assert list(failures(block(f"NAME  READY\n{line}\n"))) == [(12, 12 + len(line.encode()))]


@pytest.mark.parametrize("line", OTHERS)
def test_other_text_is_none(line):
    """What commands print, and manifests."""
    assert not reports_failure(line.encode())


def test_a_log_has_levels():
    """Lines below a record belong to it, and a long text is no error that was taken out of a log."""
    record = 'I0312 08:00:00.000000    2201 kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/web-0"]'
    assert not list(failures(block(f"{record}\n{ERRORS[0]}\n")))
    assert not list(failures(block(f"{ERRORS[0]}\n" * (LONGEST_TEXT // len(ERRORS[0]) + 1))))
    assert not list(failures(Block(f"{ERRORS[0]}\n".encode(), 900, 1, 0)))


def test_the_cause_is_named():
    """In the report of a text that has no line of a known format."""
    (group,) = analyze(text=f"{ERRORS[5]} in $PATH: unknown\n").errors.groups
    assert group.anatomy is not None
    assert group.anatomy.sentence == "the container image has no program bash in its $PATH"
