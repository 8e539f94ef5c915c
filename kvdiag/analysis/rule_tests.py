"""A rule's own tests: each log is analysed as a user's would be, and must give just the findings it names.

A story is analysed as each log that tells it: in every kind and value it has, or in every wording of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from kvdiag.analysis.case import Patterns, read_history
from kvdiag.base.clock import zone_offset
from kvdiag.events.fixture_pod import FixturePod
from kvdiag.events.pattern_folder import builtin_patterns
from kvdiag.events.rendering import Spellings
from kvdiag.events.vocabulary import Vocabulary, read_vocabulary
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options
from kvdiag.model.rule import SUBJECT, Rule, RuleTest
from kvdiag.model.timeline import History
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.findings import find
from kvdiag.rules.log_synthesis import LogSynthesizer, SynthesizedLog

YEAR = 2024  # of excerpts that say none
SHORT_ID = 13  # characters of the id that a sandbox or container is called by
_NAMES = FixturePod.named("").names.values()
SUBJECTS = frozenset((*_NAMES, *(name[:SHORT_ID] for name in _NAMES), "this node"))  # what a story may be about


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What one test wanted and what it got: subject name → verdict; of a story in the first telling that got others.

    `wordings` are those of that telling, and `tellings` how many logs were analysed.
    """

    rule: Rule
    test: RuleTest
    got: Mapping[str, str]
    wordings: tuple[str, ...] = ()
    log_count: int = 1

    @property
    def passed(self) -> bool:
        """Whether the findings are exactly the wanted ones."""
        return is_expected(self.test, self.got)


def run_tests(rule: Rule, vocabulary: Vocabulary, *, every: bool = False) -> Iterator[Verdicts]:
    """Run every test of a rule; `vocabulary` holds the raw lines of its selectors. Stories in `every` wording or few.

    Raises PatternError for a story that cannot be told.
    """
    for test in rule.tests:
        yield _run_test(rule, test, vocabulary, every=every)


def _run_test(rule: Rule, test: RuleTest, vocabulary: Vocabulary, *, every: bool) -> Verdicts:
    last = Verdicts(rule, test, {}, log_count=0)
    for log in logs_of_test(rule, test, every=every):
        got = verdicts_of(rule, history_of(log.log, test, vocabulary), vocabulary)
        last = Verdicts(rule, test, got, log.wordings, last.log_count + 1)
        if not last.passed:
            break
    return last


def logs_of_test(rule: Rule, test: RuleTest, *, every: bool) -> Iterator[SynthesizedLog]:
    """The logs of a test: of a story in few words or in `every` wording, of what is near another in few.

    Raises PatternError for a story that cannot be told.
    """
    if not test.story:
        yield SynthesizedLog(test.log, ())
        return
    yield from LogSynthesizer(*_builtin_spellings(), rule).synthesize(test, once=bool(test.near) or not every)


@cache
def _builtin_spellings() -> tuple[Spellings, Mapping[str, Entry]]:
    """The samples of the vocabulary, which the cache does not keep: 0.15 s."""
    vocabulary = read_vocabulary(builtin_patterns() / "events")
    return Spellings(vocabulary), vocabulary.kinds


def history_of(log: str, test: RuleTest, vocabulary: Vocabulary) -> History:
    """All that a log tells, whatever the rules ask for."""
    from datetime import UTC, datetime

    components = {name: value for name, value in test.options.items() if name not in {"year", "tz"}}
    zone = zone_offset(test.options["tz"], datetime.now(UTC)) if "tz" in test.options else None
    options = Options(year=int(test.options.get("year", YEAR)), zone=zone, components=components)
    return read_history([TextInput("log", log.encode())], Patterns(vocabulary, ()), options).history


def verdicts_of(rule: Rule, history: History, vocabulary: Vocabulary) -> dict[str, str]:
    """The verdicts of a rule, each with its severity, by the name of their subject."""
    verdicts: dict[str, str] = {}
    for finding in find((rule,), history, vocabulary.kinds):  # of a node's parts the surest comes first
        verdicts.setdefault(finding.subject.name, f"{finding.verdict} {finding.severity.label}")
    return verdicts


def is_expected(test: RuleTest, got: Mapping[str, str]) -> bool:
    """Whether the verdicts are exactly those that the test wants, and the severities where it wants one."""
    expected = test.finds
    if SUBJECT in expected:
        expected = dict.fromkeys(SUBJECTS & got.keys(), expected[SUBJECT]) or {SUBJECT: ""}
    return expected.keys() == got.keys() and all(
        set(expected[name].split()) <= set(got[name].split()) for name in expected
    )


def failure(result: Verdicts) -> str:
    """A test that failed, for people: what it wanted and got, and in which words."""
    expected = {name or "the subject": verdict for name, verdict in result.test.finds.items()} or "nothing"
    wordings = "".join(f"\n  {words}" for words in result.wordings)
    name = f"{result.test.place}: {result.rule.name}, {result.test.name!r}"
    return f"{name}: wanted {expected}, got {dict(result.got) or 'nothing'}{wordings and f'; told by{wordings}'}"
