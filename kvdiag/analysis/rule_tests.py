"""Run a rule's own tests: each log is analyzed as usual and must give exactly the expected findings.

A story is tested with each log synthesized from it: with all kinds and values, or with every wording.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from kvdiag.analysis.case import Patterns, read_history
from kvdiag.base.clock import zone_offset
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.rendering import FixturePod, Spellings
from kvdiag.events.vocabulary import Vocabulary, read_vocabulary
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options
from kvdiag.model.rule import ANY_SUBJECT, SUBJECT, Rule, RuleTest
from kvdiag.model.timeline import History
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.findings import find
from kvdiag.rules.log_synthesis import LogSynthesizer, SynthesizedLog

YEAR = 2024  # the year of logs without one
SHORT_ID = 13  # characters of an id in the name of a sandbox or container
_NAMES = FixturePod.named("").names.values()
SUBJECTS = frozenset((*_NAMES, *(name[:SHORT_ID] for name in _NAMES), "this node"))  # possible subjects of a story


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The verdicts of a test by subject name; of a story those of the first log with other verdicts than expected.

    `wordings` are those of that log, `log_count` is the number of logs analyzed.
    """

    rule: Rule
    test: RuleTest
    got: Mapping[str, str]
    wordings: tuple[str, ...] = ()
    log_count: int = 1

    @property
    def passed(self) -> bool:
        """Whether the findings are exactly the expected ones."""
        return is_expected(self.test, self.got)


def run_tests(rule: Rule, vocabulary: Vocabulary) -> Iterator[Verdicts]:
    """Run every test of a rule, stories in few wordings; `vocabulary` contains its raw lines.

    Raise PatternError if a story cannot be synthesized.
    """
    for test in rule.tests:
        yield _run_test(rule, test, vocabulary)


def _run_test(rule: Rule, test: RuleTest, vocabulary: Vocabulary) -> Verdicts:
    last = Verdicts(rule, test, {}, log_count=0)
    for log in logs_of_test(rule, test):
        got = verdicts_of(rule, history_of(log.log, test, vocabulary), vocabulary)
        last = Verdicts(rule, test, got, log.wordings, last.log_count + 1)
        if not last.passed:
            break
    return last


def logs_of_test(rule: Rule, test: RuleTest, *, every: bool = False) -> Iterator[SynthesizedLog]:
    """Yield the logs of a test: of a story in few wordings or in `every` one, of a near miss in few.

    Raise PatternError if a story cannot be synthesized.
    """
    if not test.story:
        yield SynthesizedLog(test.log, ())
        return
    yield from LogSynthesizer(*_builtin_spellings(), rule).synthesize(test, once=bool(test.near) or not every)


@cache
def _builtin_spellings() -> tuple[Spellings, Mapping[str, Entry]]:
    """Return the samples of the vocabulary, which are not cached: 0.15 s."""
    vocabulary = read_vocabulary(builtin_patterns() / "events")
    return Spellings(vocabulary), vocabulary.kinds


def history_of(log: str, test: RuleTest, vocabulary: Vocabulary) -> History:
    """Return the history of all events in a log, whether or not rules use them."""
    from datetime import UTC, datetime

    components = {name: value for name, value in test.options.items() if name not in {"year", "tz"}}
    zone = zone_offset(test.options["tz"], datetime.now(UTC)) if "tz" in test.options else None
    options = Options(year=int(test.options.get("year", YEAR)), zone=zone, components=components)
    return read_history([TextInput("log", log.encode())], Patterns(vocabulary, ()), options).history


def verdicts_of(rule: Rule, history: History, vocabulary: Vocabulary) -> dict[str, str]:
    """Return the verdicts and severities of a rule by subject name."""
    verdicts: dict[str, str] = {}
    for finding in find((rule,), history, vocabulary.kinds):  # the most certain part of a node comes first
        verdicts.setdefault(finding.subject.name, f"{finding.verdict} {finding.severity.label}")
    return verdicts


def is_expected(test: RuleTest, got: Mapping[str, str]) -> bool:
    """Return whether the verdicts are exactly the expected ones, and the severities if the test has some."""
    expected = test.finds
    if ANY_SUBJECT in expected:
        return bool(got)
    if SUBJECT in expected:
        expected = dict.fromkeys(SUBJECTS & got.keys(), expected[SUBJECT]) or {SUBJECT: ""}
    return expected.keys() == got.keys() and all(
        set(expected[name].split()) <= set(got[name].split()) for name in expected
    )


def failure(result: Verdicts) -> str:
    """Return the message for a failed test: expected and actual verdicts, and the wordings used."""
    expected = {
        name or "the subject": verdict or "a finding" for name, verdict in result.test.finds.items()
    } or "nothing"
    wordings = "".join(f"\n  {words}" for words in result.wordings)
    name = f"{result.test.place}: {result.rule.name}, {result.test.name!r}"
    return f"{name}: expected {expected}, got {dict(result.got) or 'nothing'}{wordings and f'; wordings:{wordings}'}"
