"""Bytes and lines that a healthy log has lost at random never make a fault that is certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.damage import KINDS, SAMPLES, confirmed, damaged, false_alarms, logs, without_each
from tests.patterns import library

HEALTHY = sorted(SAMPLES.glob("healthy*"))
DRAWN = range(1)  # bench/damage.py draws a thousand
EACH = 80  # bench/damage.py --each-line leaves out every line
each_folder = pytest.mark.parametrize("folder", HEALTHY, ids=lambda folder: folder.name)


@each_folder
@pytest.mark.parametrize("kind", KINDS)
def test_no_fault_is_certain(folder: Path, kind: str):
    """Whatever is changed, lost or cut out."""
    assert list(false_alarms(folder, kind, DRAWN)) == []


@pytest.mark.parametrize(
    ("case", "seed"),
    [
        ("healthy-containerd-json", 4),
        ("healthy-csi-volume-containerd-2.1", 65),
        ("healthy-containerd-json", 212),
        ("healthy-csi-volume-containerd-2.1", 982),
    ],
)
def test_what_was_certain_once(case: str, seed: int):
    """A call whose answer is lost takes that of a later one; what rests on it, or on lines near damage, is not certain."""
    assert confirmed(damaged(logs(SAMPLES / case), "flips", seed)) == set()


@pytest.mark.parametrize("case", ["healthy-csi-volume-containerd-2.1", "healthy-containerd-json"])
def test_a_single_line(case: str):
    """One line that is gone leaves no sign, and makes no fault that is certain."""
    told = {
        (name, line, what)
        for name, line, less in without_each(logs(SAMPLES / case))
        if line % EACH == 0
        for what in confirmed(less)
    }
    assert told == set()


def test_the_log_of_the_first_node_ends_early():
    """A volume that a second node staged may have been unstaged on the first, as long as no log of it says otherwise."""
    (rule,) = (rule for rule in library().rules if rule.name == "volume-staged-on-two-nodes")
    lines = rule.tests[0].log.encode().splitlines(keepends=True)
    case = {node: b"".join(line for line in lines if node.encode() in line) for node in ("node-a", "node-b")}
    assert confirmed(case) == {f"{rule.name} volume"}
    *until_it_ends, _ = case["node-a"].splitlines(keepends=True)
    assert confirmed({**case, "node-a": b"".join(until_it_ends)}) == set()
