"""Check a rule's tests with mutants: for each mutant, one test must give another finding.

Each test is read once into a history of all events. Mutants need no further kinds and are evaluated on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvdiag.analysis.rule_tests import Verdicts, failure, history_of, is_expected, logs_of_test, verdicts_of
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.model.rule import Rule, RuleTest
from kvdiag.model.timeline import History
from kvdiag.rules.mutants import Mutant, mutants

MOST_EXCUSED = 5  # per cent of all mutants that may be excused

Proved = tuple[int, RuleTest, History]
"""The number of the wording in which a test passed, the test, and its history."""


class RuleProof(NamedTuple):
    """The results of a rule's tests, its mutants, and errors in its `survives`.

    `unproven` are mutants that no test detects; `excused` are undetected ones with a reason in the rule file.
    """

    rule: Rule
    failed: tuple[Verdicts, ...]
    log_count: int
    mutants: tuple[Mutant, ...]
    unproven: tuple[Mutant, ...]
    excused: tuple[Mutant, ...]
    needless: tuple[str, ...]


def prove(rule: Rule, vocabulary: Vocabulary) -> RuleProof:
    """Run a rule's tests in every wording, then its mutants. Raise PatternError as `logs_of_test` does."""
    failed: list[Verdicts] = []
    proved: list[Proved] = []
    log_count = 0
    for test in rule.tests:
        for number, log in enumerate(logs_of_test(rule, test, every=True)):
            history = history_of(log.log, test, vocabulary)
            got = verdicts_of(rule, history, vocabulary)
            log_count += 1
            if is_expected(test, got):
                proved.append((number, test, history))
            else:
                failed.append(Verdicts(rule, test, got, log.wordings, log_count))
    # A mutant that a test does not detect in one wording is seldom detected in another: first one wording of each test.
    proved.sort(key=lambda one: one[0])
    every = tuple(mutants(rule))
    survivors = tuple(_survivors(every, proved, vocabulary))
    names = {mutant.name for mutant in survivors}
    return RuleProof(
        rule,
        tuple(failed),
        log_count,
        every,
        unproven=tuple(mutant for mutant in survivors if mutant.name not in rule.survives),
        excused=tuple(mutant for mutant in survivors if mutant.name in rule.survives),
        needless=tuple(name for name in rule.survives if name not in names),
    )


def _survivors(every: Sequence[Mutant], proved: list[Proved], vocabulary: Vocabulary) -> Iterator[Mutant]:
    for mutant in every:
        for at, (_, test, history) in enumerate(proved):
            if not is_expected(test, verdicts_of(mutant.rule, history, vocabulary)):
                proved.insert(0, proved.pop(at))  # the test that detected one mutant is likely to detect the next
                break
        else:
            yield mutant


def shortcomings(proof: RuleProof) -> Iterator[str]:
    """Yield what a rule's tests lack, one line each."""
    rule = proof.rule
    yield from map(failure, proof.failed)
    for mutant in proof.unproven:
        yield f"{rule.place}: {rule.name}: no test detects the mutant {mutant.name!r} ({mutant.operator})"
    for name in proof.needless:
        yield f"{rule.place}: {rule.name}: 'survives' excuses {name!r}, which a test detects or which is not a mutant"


def too_many(proofs: Sequence[RuleProof]) -> Iterator[str]:
    """Yield a message if too many mutants of a library are excused."""
    every, excused = sum(len(proof.mutants) for proof in proofs), sum(len(proof.excused) for proof in proofs)
    if excused * 100 > every * MOST_EXCUSED:
        yield f"{excused} of {every} mutants are excused by 'survives', more than {MOST_EXCUSED} %: add tests"


def problems(proofs: Sequence[RuleProof], *, named: bool) -> Iterator[str]:
    """Yield what must be fixed. The share of excused mutants is only checked for the whole library."""
    for proof in proofs:
        yield from shortcomings(proof)
    if not named:
        yield from too_many(proofs)


def summary(proofs: Sequence[RuleProof]) -> str:
    """Return the number of mutants, and how many survive."""
    every = sum(len(proof.mutants) for proof in proofs)
    excused, unproven = sum(len(proof.excused) for proof in proofs), sum(len(proof.unproven) for proof in proofs)
    log_count = sum(proof.log_count for proof in proofs)
    share = f"{(unproven + excused) / every:.1%}" if every else "none"
    living = f"{unproven + excused} survive ({share}): {excused} with a reason, {unproven} without"
    return f"{log_count} logs, {every} mutants, {living}"
