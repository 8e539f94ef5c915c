"""Lazily decoded rules: only the summary of each is loaded, the rest when the rule is used.

Stored as one line of JSON with all summaries and the lengths of the rules' lines, then one line per rule. In most logs
nine of ten rules cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, overload

from kvdiag.base.codec import Codec
from kvdiag.model.rule import Rule
from kvdiag.model.values import EMPTY
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.prefilter import Clauses, clauses_can_hold, prefilter_of


class RuleSummary(NamedTuple):
    """The part of a rule that selects it; `lines` are the vocabulary entries of its raw lines (`Rule.lines`)."""

    id: str
    name: str
    status: str
    clauses: Clauses
    lines: tuple[Entry, ...]


class StoredSummary(NamedTuple):
    """What is stored of a rule before its line: its summary, and the length of that line in bytes."""

    summary: RuleSummary
    length: int


RULE = Codec(Rule)
SUMMARIES = Codec(tuple[StoredSummary, ...])


class LazyRule:
    """A rule that is decoded on first use, once for all stores that contain it."""

    __slots__ = ("_rule",)

    def __init__(self, packed: memoryview) -> None:
        """Take the rule's line of JSON."""
        self._rule: memoryview | Rule = packed

    def read(self) -> Rule:
        """Return the rule; decode it on first use."""
        if isinstance(self._rule, memoryview):
            self._rule = RULE.decode(bytes(self._rule))
        return self._rule


StoredRule = tuple[RuleSummary, LazyRule | Rule]


class RuleStore(Sequence[Rule]):
    """Rules in order of their ids, decoded on first use."""

    def __init__(self, stored: Iterable[StoredRule]) -> None:
        """Take summaries, each with its rule, decoded or not."""
        self._stored = sorted(stored, key=lambda place: place[0].id)

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self._stored)

    @overload
    def __getitem__(self, at: int) -> Rule: ...
    @overload
    def __getitem__(self, at: slice) -> RuleStore: ...
    def __getitem__(self, at: int | slice) -> Rule | RuleStore:
        """Return one rule, or a store with a slice of the rules."""
        if isinstance(at, slice):
            return RuleStore(self._stored[at])
        _, rule = self._stored[at]
        return rule.read() if isinstance(rule, LazyRule) else rule

    @property
    def summaries(self) -> list[RuleSummary]:
        """The summary of each rule."""
        return [summary for summary, _ in self._stored]

    def filter(self, is_kept: Callable[[RuleSummary], bool]) -> RuleStore:
        """Return a store with the rules whose summaries satisfy the predicate."""
        return RuleStore(place for place in self._stored if is_kept(place[0]))

    def merged(self, other: RuleStore) -> RuleStore:
        """Return a store with the rules of both."""
        return RuleStore([*self._stored, *other._stored])

    def possible(self, seen_kinds: AbstractSet[str]) -> Iterator[Rule]:
        """Yield the rules whose clauses all have a seen kind; the others are not decoded."""
        return (
            self[at] for at, (summary, _) in enumerate(self._stored) if clauses_can_hold(summary.clauses, seen_kinds)
        )


def possible_rules(rules: Iterable[Rule], seen_kinds: AbstractSet[str]) -> Iterator[Rule]:
    """Yield the rules whose clauses all have a seen kind."""
    if isinstance(rules, RuleStore):
        return rules.possible(seen_kinds)
    return (rule for rule in rules if prefilter_of(rule).can_hold(seen_kinds))


def encode_store(rules: Iterable[Rule]) -> bytes:
    """Return the rules without their tests as bytes for the cache."""
    summaries, bodies = [], []
    for rule in rules:
        body = RULE.encode(rule._replace(tests=(), survives=EMPTY, places=EMPTY)) + b"\n"
        summary = RuleSummary(rule.id, rule.name, rule.status, prefilter_of(rule).clauses, rule.lines)
        summaries.append(StoredSummary(summary, len(body)))
        bodies.append(body)
    return b"\n".join([SUMMARIES.encode(tuple(summaries)), b"".join(bodies)])


def decode_store(data: bytes) -> RuleStore:
    """Return the rules of the bytes. Raise ValueError if they are invalid."""
    try:
        return RuleStore(_stored_rules(data))
    except TypeError as error:  # a length that is no number
        raise ValueError(error) from None


def _stored_rules(data: bytes) -> Iterator[StoredRule]:
    end = data.index(b"\n") + 1
    view = memoryview(data)
    for summary, length in SUMMARIES.decode(data[:end]):
        start, end = end, end + length
        yield summary, LazyRule(view[start:end])
    if end != len(data):
        raise ValueError("the rules are shorter or longer than their heads tell")
