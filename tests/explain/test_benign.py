"""Harmless lines: their samples are read as them, what only looks alike is not."""

from __future__ import annotations

import pytest

from kvdiag.analysis.case import load_patterns
from kvdiag.base.errors import PatternError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.explain.benign import BENIGN, faults, first_that_fits, load_benign
from kvdiag.model.options import Options

LINES = load_benign(builtin_patterns() / "topics" / f"{BENIGN}.yaml")
ENTRY = """\
- name: cold
  anchor: the tea is cold
  messages: ['the tea is cold after {duration}']
  why: It stood.
  unless: it was just made
  samples: ['I: the tea is cold after 5m']
  not-samples: ['I: the tea is cold']
"""


def test_samples_are_read_as_what_they_are():
    """Each sample is read as its own entry, and no entry takes a line it must not."""
    kinds = load_patterns(Options()).vocabulary.kinds
    assert [str(fault) for fault in faults(LINES, kinds)] == []


def test_names_are_unique():
    """Each entry can be told apart."""
    assert len({entry.name for entry in LINES}) == len(LINES) > 10


def test_each_has_a_reason_and_a_limit():
    """A line is harmless for a reason, and never without a limit."""
    assert all(entry.why.endswith(".") and entry.unless and entry.samples for entry in LINES)


def test_a_sample_that_does_not_fit_is_a_fault(tmp_path):
    """Both a sample that is not read and a line that must not be read are faults with a place."""
    path = tmp_path / "benign.yaml"
    path.write_text(
        ENTRY.replace("cold after 5m", "warm").replace("['I: the tea is cold']", "['the tea is cold after 1s']")
    )
    told = [str(fault) for fault in faults(load_benign(path))]
    assert told == [
        f"{path}:1:3: a sample of cold is not read as it: I: the tea is warm",
        f"{path}:1:3: cold fits what it must not: the tea is cold after 1s",
    ]


def test_entries_that_cannot_both_count(tmp_path):
    """Two entries of one name, and an event that no log tells of, are faults."""
    path = tmp_path / "benign.yaml"
    path.write_text(ENTRY.replace("  why:", "  until: tea.made\n  why:") + ENTRY)
    told = {str(fault).partition(" ")[2] for fault in faults(load_benign(path), {"tea.drunk"})}
    assert {"cold is given twice", "cold: unknown event kind 'tea.made'"} <= told


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("anchor: the tea is cold\n", "anchor: the milk\n", "the anchor 'the milk' is not part of the message"),
        ("  why: It stood.\n", "", ":1:3: the key 'why' is missing"),
        ("  why:", "  wy:", "unknown key 'wy'; did you mean 'why'?"),
        ("  why:", "  most: some\n  why:", ":4:9: 'some' is no number of lines from 1 to 9999"),
        ("  why:", "  start: a while\n  why:", ":4:10: 'a while' is not a duration; write 90s, 5m"),
    ],
)
def test_a_fault_has_a_place(old, new, fault, tmp_path):
    """An entry that cannot be used is told with file, line and column."""
    path = tmp_path / "benign.yaml"
    path.write_text(ENTRY.replace(old, new))
    with pytest.raises(PatternError) as told:
        load_benign(path)
    assert str(told.value).startswith(f"{path}:")
    assert fault in str(told.value)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('"Volume detached for volume \\"c\\" (UniqueName: \\"kubernetes.io/secret/u-c\\") on node', "local-volume"),
        ('"Volume detached for volume \\"p\\" (UniqueName: \\"kubernetes.io/csi/d^h\\") on node', ""),
        ("PLEG is not healthy: pleg has yet to be successful", "pleg-not-yet"),
        ("PLEG is not healthy: pleg was last seen active 3m2s ago; threshold is 3m0s", ""),
    ],
)
def test_what_looks_alike(line, name):
    """A released CSI volume is not a dropped secret, a PLEG that stopped is not one that has not begun."""
    found = first_that_fits(LINES, line.encode())
    assert (name in found.name) if name else found is None
