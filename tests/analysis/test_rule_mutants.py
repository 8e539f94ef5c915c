"""What a rule's own tests prove of it."""

from __future__ import annotations

from functools import cache

import pytest

from kvdiag.analysis.rule_mutants import problems, prove, shortcomings, summary, too_many
from kvdiag.analysis.rule_tests import logs_of_test
from kvdiag.base.errors import PatternError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.rules.schema import read_rule

RULE = """\
id: KV299
name: invented-busy
title: Something
severity: high
per: volume
events:
  failed: {kind: [volume.unpublish.failed, csi.nodeunpublish.failed], error: "*busy*"}
  done: {kind: volume.unpublish.succeeded}
when: at least 2 failed and no done after failed until end
says: Busy.
cause: Why.
tests:
  - name: busy
    story: |
      07:00 kubelet
      08:00 volume.unpublish.failed|csi.nodeunpublish.failed error="target is busy" x2 every 2s
      +31s  kubelet
    finds: confirmed
  - near: busy
    given: volume.unpublish.failed error="no such thing"
    finds: {}
  - near: busy
    keep: volume.unpublish.failed x1
    finds: {}
  - near: busy
    add: 08:00:10 volume.unpublish.succeeded
    finds: {}
"""


@cache
def vocabulary():
    """Give the vocabulary."""
    return load_vocabulary(builtin_patterns() / "events")


def proof(old="", new="", count=-1):
    """Give what the rule's tests prove after a change of its file."""
    assert old in RULE
    return prove(read_rule(RULE.replace(old, new, count) if old else RULE, "x.yaml"), vocabulary())


def test_a_rule_that_is_proven():
    """Hits and near misses on both sides of everything leave no mutant alive."""
    sound = proof()
    assert list(shortcomings(sound)) == []
    assert {mutant.operator for mutant in sound.mutants} == {
        "term dropped",
        "count lowered",
        "kind removed",
        "value ignored",
    }
    assert summary([sound]) == f"{sound.log_count} logs, 5 mutants, 0 survive (0.0%): 0 with a reason, 0 without"


@pytest.mark.parametrize(
    ("dropped", "unproven"),
    [
        ("  - near: busy\n    keep: volume.unpublish.failed x1\n    finds: {}\n", "at least 2 failed: 1 failed"),
        ("  - near: busy\n    add: 08:00:10 volume.unpublish.succeeded\n    finds: {}\n", "without no done after failed until end"),
        ('  - near: busy\n    given: volume.unpublish.failed error="no such thing"\n    finds: {}\n', "failed whatever error"),
        ("|csi.nodeunpublish.failed", "failed without csi.nodeunpublish.failed"),
    ],
)  # fmt: skip
def test_what_is_not_proven(dropped, unproven):
    """Without a test that notices it a mutant is told."""
    (problem,) = shortcomings(proof(dropped))
    assert f"invented-busy: no test detects the mutant {unproven!r}" in problem


def test_an_excuse():
    """A mutant with a reason is not told, unless a test kills it or it does not exist."""
    near, name = "  - near: busy\n    keep: volume.unpublish.failed x1\n    finds: {}\n", "at least 2 failed: 1 failed"
    excuse = f'survives: {{"{name}": once is enough}}\ntests:\n'
    excused = prove(read_rule(RULE.replace(near, "").replace("tests:\n", excuse), "x.yaml"), vocabulary())
    assert list(shortcomings(excused)) == []
    assert [mutant.name for mutant in excused.excused] == [name]
    (problem,) = shortcomings(proof("tests:\n", excuse))
    assert f"'survives' excuses {name!r}, which a test detects or which is not a mutant" in problem


def test_too_much_is_excused():
    """Of a whole library at most one mutant of twenty may live."""
    sound = proof()
    assert list(too_many([sound])) == []
    assert list(too_many([sound._replace(excused=sound.mutants[:1])]))


def test_a_rule_by_its_name():
    """How much is excused is counted over the library, and not where a rule is tested by its name."""
    lax = proof()
    lax = lax._replace(excused=lax.mutants[:1])
    assert list(problems([lax], named=True)) == []
    (problem,) = problems([lax], named=False)
    assert "1 of 5 mutants are excused" in problem


def test_a_story_in_few_and_in_every_wording():
    """Each alternative is told at least once; in every wording there are more logs."""
    rule = read_rule(RULE, "x.yaml")
    few, every = (len(list(logs_of_test(rule, rule.tests[0], every=every))) for every in (False, True))
    assert (few, every > few) == (2, True)


def test_what_cannot_be_told():
    """A value that no wording has, and a kind that stands in no log, are errors at the place of the test."""
    for old, new, fault in (
        (
            'error="target is busy"',
            'image="x"',
            "no wording of volume.unpublish.failed can express the line with image",
        ),
        (
            "08:00:10 volume.unpublish.succeeded",
            "08:00:10 mount.found",
            "no wording of mount.found can express the line",
        ),
    ):
        with pytest.raises(PatternError, match=fault):
            proof(old, new)
