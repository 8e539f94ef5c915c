"""Logs of two clusters in one run: the findings are those of both, and none explains one of the other."""

from __future__ import annotations

import itertools
from functools import cache

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.model.options import Options
from kvdiag.model.report import Evidence
from tests.conftest import samples

FEW = ("containerd-killed", "detach-without-unstage", "kubelet-no-runtime-endpoint", "inline-volume-orphaned")
PAIRS = list(itertools.combinations(FEW, 2))


@pytest.fixture(scope="module")
def found_in(thinned_samples):
    """Give the function that gives each finding of samples: its key, what explains it, and those its lines are of."""
    folders = {sample.name: str(thinned_samples(sample).folder) for sample in samples() if sample.name in FEW}

    @cache
    def found(*names: str) -> dict[str, tuple[str | None, set[str]]]:
        report = analyze(Options(paths=tuple(folders[name] for name in names)))
        return {one.key: (one.explained_by, {of(piece) for piece in one.evidence}) for one in report.findings}

    def of(piece: Evidence) -> str:
        return next(name for name, folder in folders.items() if piece.event.origin.source.startswith(f"{folder}/"))

    return found


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_a_pair_gives_the_findings_of_both(pair, found_in):
    """What is found in each alone is found in both together, whatever stands beside it."""
    rules = [sorted(key.partition(":")[0] for key in found_in(*names)) for names in (pair, pair[:1], pair[1:])]
    assert rules[0] == sorted([*rules[1], *rules[2]])


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_nothing_is_folded_across(pair, found_in):
    """A finding and its cause rest on lines of one sample."""
    found = found_in(*pair)
    for by, of in found.values():
        assert by is None or of & found[by][1]


def test_the_order_of_the_inputs_does_not_matter(found_in):
    """The same two folders the other way round give the same."""
    assert found_in(*FEW[:2]) == found_in(*reversed(FEW[:2]))
