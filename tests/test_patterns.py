"""Every rule that comes with kvdiag: without fault, in its place, and true to its own tests."""

from __future__ import annotations

from functools import cache, lru_cache

import pytest

from kvdiag.analysis.lint import built_in_faults
from kvdiag.analysis.rule_tests import Verdicts, failure, history_of, logs_of_test, verdicts_of
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary, read_entries
from kvdiag.model.rule import Rule, RuleTest
from kvdiag.model.timeline import History
from kvdiag.rules.findings import find
from kvdiag.rules.grammar import read_condition
from kvdiag.rules.library import rule_files
from kvdiag.rules.lint import CHANGES
from kvdiag.rules.lint_truth import lint_look_alikes, rules_in
from kvdiag.rules.rank import rank
from kvdiag.rules.rule_page import format_condition, show_rule
from kvdiag.rules.rule_store import RULE
from kvdiag.rules.template import FAMILIES
from kvdiag.safe.clean import clean
from tests.patterns import library

LIBRARY = library()
FILES = {path.stem: path for path in rule_files(builtin_patterns())}


@cache
def vocabulary():
    """Give the vocabulary with the raw lines of all rules."""
    return load_vocabulary(builtin_patterns() / "events", [entry for rule in LIBRARY.rules for entry in rule.lines])


def test_every_file_is_a_rule():
    """Every file can be read, and ids and names are unique."""
    assert [str(error) for error in LIBRARY.errors] == []
    assert len(LIBRARY.rules) == len(list(rule_files(builtin_patterns()))) == len(FILES)
    assert len({rule.id for rule in LIBRARY.rules}) == len({rule.name for rule in LIBRARY.rules}) == len(FILES)


def test_lint_finds_no_fault(kvdiag):
    """Kinds, slots, bounds, guards, tests, globs and anchors of all rules are in order; `patterns` is what comes with it."""
    done = kvdiag("rules", "lint", "patterns")
    assert (done.stdout, done.stderr) == ("", f"{len(LIBRARY.rules)} rules, 0 faults\n")
    assert done.returncode == 0


def test_lint_looks_at_events_too(tmp_path):
    """A wording whose anchor stands nowhere in its message is told with its place, as one of a user's own is."""
    head = """\
component: kubelet
events:
  - kind: a.b
    label: a
    about: a
    anchor: {}
    message: it is odd
    samples: [it is odd]
"""
    (tmp_path / "events.yaml").write_text(head.format("is odd"))
    assert list(built_in_faults(read_entries(tmp_path))) == []
    (tmp_path / "events.yaml").write_text(head.format("is even"))
    (fault,) = built_in_faults(read_entries(tmp_path))
    assert fault.place == f"{tmp_path}/events.yaml:7:14"


@pytest.mark.parametrize("rule", LIBRARY.rules, ids=lambda rule: rule.name)
def test_its_own_tests_pass(rule):
    """Each of its logs gives just the findings that the rule names; of a story, which `make mutants` tells in all, the first."""
    assert rule.tests
    results = [told_once(rule, test) for test in rule.tests]
    assert [failure(result) for result in results if not result.passed] == []


def told_once(rule: Rule, test: RuleTest) -> Verdicts:
    """Give what a test gets in its first telling."""
    telling = next(logs_of_test(rule, test))
    return Verdicts(
        rule, test, verdicts_of(rule, history_of(telling.log, test, vocabulary()), vocabulary()), telling.wordings
    )


def test_a_rule_is_where_one_looks_for_it():
    """The file has the rule's name, and the folder is the family of its id."""
    for rule in LIBRARY.rules:
        path = FILES[rule.name]
        assert rule.place.startswith(f"{path}:")
        assert rule.id[2] == str(FAMILIES[path.parent.name].digit), rule.name


def test_one_looks_before_one_changes():
    """A command that changes something comes after one that only looks, and has a guard."""
    for rule in LIBRARY.rules:
        commands = [fix for fix in rule.fix if fix.run]
        changing = [number for number, fix in enumerate(commands) if fix.run.startswith(CHANGES)]
        assert 0 not in changing, rule.name
        assert all(commands[number].after for number in changing), rule.name


def test_no_command_is_taken_for_a_secret():
    """Nothing of its commands but a name of the log can be redacted: such a command would never be shown."""
    commands = [fix.run for rule in LIBRARY.rules for fix in rule.fix if fix.run]
    assert [clean(command) for command in commands] == commands


def test_nothing_explains_its_own_cause():
    """Along `explains` one never comes back to where one began."""
    explains = {other.name: other.explains for other in LIBRARY.rules}
    for rule in LIBRARY.rules:
        reached, ahead = set(), list(rule.explains)
        while ahead:
            name = ahead.pop()
            if name not in reached:
                reached.add(name)
                ahead.extend(explains[name])
        assert rule.name not in reached


def test_a_rule_survives_the_cache():
    """A rule that was encoded and decoded is the same."""
    for rule in LIBRARY.rules:
        assert RULE.decode(RULE.encode(rule)) == rule


def test_a_rule_can_be_told():
    """Its sentence in words is read as the same sentence, and its page shows it."""
    for rule in LIBRARY.rules:
        said = format_condition(rule.when)
        assert read_condition(said, rule.events, rule.place) == rule.when
        assert said in show_rule(rule)


# A not-when that names another rule means that the other one explains such logs. In these its tests show both faults.
BOTH_FAULTS = {
    ("evicted-ephemeral-storage", "eviction-disk-pressure"): "the pod that is evicted, and the node whose disk is full",
    ("force-detach-before-unstage", "force-detach-timeout"): "the log shows that the node unstages, so it was not down",
    ("node-oom-kill", "oom-kill"): "one kill by the node and one by the container's limit",
    ("lvm-insufficient-space", "thin-pool-metadata-failed"): "no room for metadata, and ten minutes later another mode",
    ("reconstruction-csi-inline-lookup-by-name", "reconstruction-csi-inline-cleaned"): "the unmount fails first",
}
RULES = {rule.name: rule for rule in LIBRARY.rules}
NAMED = sorted(
    (
        (rule.name, other)
        for rule in LIBRARY.rules
        for other in {name for text in rule.look_alikes for name in rules_in(text)} & RULES.keys() - {rule.name}
    ),
    key=lambda pair: pair[::-1],  # so that the logs of one rule are read once
)


@pytest.mark.parametrize(("name", "other"), NAMED, ids=lambda name: name)
def test_a_rule_that_a_look_alike_names_is_the_one_that_is_found(name, other):
    """The logs in which the other rule is found give no finding of this one beside it."""
    beside = [test.name for test, history in found_in(other) if name in causes_beside(name, other, history)]
    assert (beside != []) == ((name, other) in BOTH_FAULTS), beside


@lru_cache(1)
def found_in(name: str) -> list[tuple[RuleTest, History]]:
    """Give the tests that find a rule, each with its first telling."""
    found_of = [test for test in RULES[name].tests if test.finds]
    return [(test, history_of(next(logs_of_test(RULES[name], test)).log, test, vocabulary())) for test in found_of]


def causes_beside(name: str, other: str, history: History) -> set[str]:
    """Give the rules of the two that have a finding which nothing explains."""
    ranked = rank(list(find((RULES[name], RULES[other]), history, vocabulary().kinds)), history)
    return {one.rule.name for one in ranked if one.explained_by is None}


def test_every_look_alike_is_proven():
    """Each not-when has a near miss that names it, or names the rule that is found in its place."""
    assert [fault for rule in LIBRARY.rules for fault in lint_look_alikes(rule, frozenset(RULES))] == []
