"""A rule's own tests: each log is analysed as a user's would be, and must give just the findings it names.

A story is analysed as each log that tells it: in every kind and value it has, or in every wording of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from kvdiag.analysis.case import Patterns, read_history
from kvdiag.base.clock import zone_offset
from kvdiag.events.cast import Cast
from kvdiag.events.folder import built_in
from kvdiag.events.rendering import Spellings
from kvdiag.events.vocabulary import Vocabulary, read_vocabulary
from kvdiag.history.ingest.read import TextInput
from kvdiag.model.options import Options
from kvdiag.model.rule import SUBJECT, Rule, RuleTest
from kvdiag.model.timeline import History
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.findings import find
from kvdiag.rules.telling import Teller, Telling

YEAR = 2024  # of excerpts that say none
SHORT_ID = 13  # characters of the id that a sandbox or container is called by
_NAMES = Cast.called("").names.values()
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
    tellings: int = 1

    @property
    def passed(self) -> bool:
        """Whether the findings are exactly the wanted ones."""
        return is_wanted(self.test, self.got)


def try_rule(rule: Rule, vocabulary: Vocabulary, *, every: bool = False) -> Iterator[Verdicts]:
    """Run every test of a rule; `vocabulary` holds the raw lines of its selectors. Stories in `every` wording or few.

    Raises PatternError for a story that cannot be told.
    """
    for test in rule.tests:
        yield _tried(rule, test, vocabulary, every=every)


def _tried(rule: Rule, test: RuleTest, vocabulary: Vocabulary, *, every: bool) -> Verdicts:
    last = Verdicts(rule, test, {}, tellings=0)
    for telling in tellings(rule, test, every=every):
        got = found(rule, history_of(telling.log, test, vocabulary), vocabulary)
        last = Verdicts(rule, test, got, telling.wordings, last.tellings + 1)
        if not last.passed:
            break
    return last


def tellings(rule: Rule, test: RuleTest, *, every: bool) -> Iterator[Telling]:
    """The logs of a test: of a story in few words or in `every` wording, of what is near another in few.

    Raises PatternError for a story that cannot be told.
    """
    if not test.story:
        yield Telling(test.log, ())
        return
    yield from Teller(*_words(), rule).tell(test, once=bool(test.near) or not every)


@cache
def _words() -> tuple[Spellings, Mapping[str, Entry]]:
    """The samples of the vocabulary, which the cache does not keep: 0.15 s."""
    vocabulary = read_vocabulary(built_in() / "events")
    return Spellings(vocabulary), vocabulary.kinds


def history_of(log: str, test: RuleTest, vocabulary: Vocabulary) -> History:
    """All that a log tells, whatever the rules ask for."""
    from datetime import UTC, datetime

    components = {name: value for name, value in test.options.items() if name not in {"year", "tz"}}
    zone = zone_offset(test.options["tz"], datetime.now(UTC)) if "tz" in test.options else None
    options = Options(year=int(test.options.get("year", YEAR)), zone=zone, components=components)
    return read_history([TextInput("log", log.encode())], Patterns(vocabulary, ()), options).history


def found(rule: Rule, history: History, vocabulary: Vocabulary) -> dict[str, str]:
    """The verdicts of a rule, each with its severity, by the name of their subject."""
    verdicts: dict[str, str] = {}
    for finding in find((rule,), history, vocabulary.kinds):  # of a node's parts the surest comes first
        verdicts.setdefault(finding.subject.name, f"{finding.verdict} {finding.severity.label}")
    return verdicts


def is_wanted(test: RuleTest, got: Mapping[str, str]) -> bool:
    """Whether the verdicts are exactly those that the test wants, and the severities where it wants one."""
    wanted = test.finds
    if SUBJECT in wanted:
        wanted = dict.fromkeys(SUBJECTS & got.keys(), wanted[SUBJECT]) or {SUBJECT: ""}
    return wanted.keys() == got.keys() and all(set(wanted[name].split()) <= set(got[name].split()) for name in wanted)


def failure(result: Verdicts) -> str:
    """A test that failed, for people: what it wanted and got, and in which words."""
    wanted = {name or "the subject": verdict for name, verdict in result.test.finds.items()} or "nothing"
    told = "".join(f"\n  {words}" for words in result.wordings)
    name = f"{result.test.place}: {result.rule.name}, {result.test.name!r}"
    return f"{name}: wanted {wanted}, got {dict(result.got) or 'nothing'}{told and f'; told by{told}'}"
