"""A step that filters a journal shows the lines that its rule was found by, or names whose lines it looks for instead."""

from __future__ import annotations

import re
import subprocess

import pytest

from kvdiag.analysis.rule_tests import history_of, logs_of_test
from kvdiag.rules.findings import find
from tests.patterns import library
from tests.test_patterns import vocabulary

FILTERED = re.compile(r"\{(?:journal|logs):(\w+)[^}]*\} \| grep ")
PRINTED = re.compile(r"(?:journalctl|kubectl logs)[^|]*\| (grep .*)")
ELSEWHERE = {  # of the kernel or another part of the runtime, of another moment than the finding
    "cgroup-kill-processes": "kernel: INFO: task runc:4711 blocked for more than 120 seconds.",
    "cni-del-failed": "kernel: portmap[4711]: segfault at 0 ip 0000000000000000",
    "containerd-boltdb-corrupt": "kernel: blk_update_request: I/O error, dev sda, sector 4711",
    "cri-api-unimplemented": 'level=warning msg="failed to load plugin io.containerd.grpc.v1.cri" error="invalid"',
    "image-layer-corrupt": "kernel: EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm containerd",
    "kernel-oops": "kernel: mce: [Hardware Error]: Machine check events logged",
    "kill-container-deadline": "kernel: INFO: task java:4711 blocked for more than 120 seconds.",
    "node-oom-kill": "kernel: java invoked oom-killer: gfp_mask=0x100cca, order=0, oom_score_adj=984",
    "nvidia-runtime-hook": "kernel: NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.",
    "pod-stuck-terminating-volumes": (
        'nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/csi/csi.example.org^vol-1 '
        'podName:5b0c7a1e-2f4d-4c8e-9a63-0d1e2f3a4b5c nodeName:}" failed.'
    ),
    "sandbox-changed-cgroup-driver": "kernel: Memory cgroup out of memory: Killed process 4711 (pause)",
    "shim-died": "kernel: Out of memory: Killed process 4711 (containerd-shim)",
    "shim-ttrpc-closed": "kernel: containerd-shim[4711]: segfault at 0 ip 0000000000000000",
}
RULES = [rule for rule in library().rules if any(FILTERED.search(step.run) for step in rule.fix)]


def _filters(rule):
    """Yield each log of the rule's tests with the filters that its findings print."""
    for test in (test for test in rule.tests if test.finds):
        for log in logs_of_test(rule, test):
            for finding in find((rule,), history_of(log.log, test, vocabulary()), vocabulary().kinds):
                for step in finding.texts.all.fix:
                    if printed := PRINTED.match(step.run):
                        yield printed[1], log.log


def _passes(filters: str, text: str) -> bool:
    done = subprocess.run(["bash", "-c", filters], input=text, capture_output=True, text=True, check=False)
    return bool(done.stdout)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_filter_finds_lines(rule):
    """One of the rule's own logs passes each filter that it prints, or the line that it names passes it."""
    passed: dict[str, bool] = {}
    for filters, log in _filters(rule):
        passed[filters] = passed.get(filters) or _passes(filters, f"{log}\n{ELSEWHERE.get(rule.name, '')}\n")
    assert all(passed.values()), [filters for filters, found in passed.items() if not found]


def test_every_exception_is_needed():
    """A rule whose line is named here has a filter, and is in the library."""
    assert ELSEWHERE.keys() <= {rule.name for rule in RULES}
