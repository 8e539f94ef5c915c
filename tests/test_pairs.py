"""Logs of two clusters in one run: the findings are those of both, and none explains one of the other."""

from __future__ import annotations

import itertools
from functools import cache

import pytest

from kvdiag.commands.analyze import analyze
from kvdiag.model.options import Options
from tests.conftest import SAMPLES

FEW = ("containerd-killed", "detach-without-unstage", "kubelet-no-runtime-endpoint", "inline-volume-orphaned")
PAIRS = list(itertools.combinations(FEW, 2))


@cache
def found_in(*names):
    """Give each finding of these samples: its key, what explains it, and the samples its lines are of."""
    report = analyze(Options(paths=tuple(str(SAMPLES / name) for name in names)))
    return {
        one.key: (one.explained_by, {name for e in one.evidence for name in names if name in e.event.origin.source})
        for one in report.findings
    }


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_a_pair_gives_the_findings_of_both(pair):
    """What is found in each alone is found in both together, whatever stands beside it."""
    rules = [sorted(key.partition(":")[0] for key in found_in(*names)) for names in (pair, pair[:1], pair[1:])]
    assert rules[0] == sorted([*rules[1], *rules[2]])


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_nothing_is_folded_across(pair):
    """A finding and its cause rest on lines of one sample."""
    found = found_in(*pair)
    for by, samples in found.values():
        assert by is None or samples & found[by][1]


def test_the_order_of_the_inputs_does_not_matter():
    """The same two folders the other way round give the same."""
    assert found_in(*FEW[:2]) == found_in(*reversed(FEW[:2]))
