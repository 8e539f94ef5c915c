"""A rule's own tests: each log is analysed as a user's would be, and must give just the findings it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kvdiag.clock import zone_offset
from kvdiag.commands.case import Patterns, read_history
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.ingest.read import TextInput
from kvdiag.model.options import Options
from kvdiag.model.rule import Rule, RuleTest
from kvdiag.rules.findings import find

YEAR = 2024  # of excerpts that say none


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What one test wanted and what it got: subject name → verdict."""

    rule: Rule
    test: RuleTest
    got: Mapping[str, str]

    @property
    def passed(self) -> bool:
        """Whether the findings are exactly the wanted ones."""
        return dict(self.got) == dict(self.test.finds)


def try_rule(rule: Rule, vocabulary: Vocabulary) -> Iterator[Verdicts]:
    """Run every test of a rule; `vocabulary` holds the raw lines of its selectors."""
    for test in rule.tests:
        yield Verdicts(rule, test, _found(rule, test, vocabulary))


def _found(rule: Rule, test: RuleTest, vocabulary: Vocabulary) -> dict[str, str]:
    from datetime import UTC, datetime

    components = {name: value for name, value in test.options.items() if name not in {"year", "tz"}}
    zone = zone_offset(test.options["tz"], datetime.now(UTC)) if "tz" in test.options else None
    options = Options(year=int(test.options.get("year", YEAR)), zone=zone, components=components)
    history = read_history([TextInput("log", test.log.encode())], Patterns(vocabulary, (rule,)), options).history
    return {f.subject.name: str(f.verdict) for f in find((rule,), history, vocabulary.kinds)}
