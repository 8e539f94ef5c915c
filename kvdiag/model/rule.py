"""A rule: a condition over named events, the texts of its finding, and its tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from kvdiag.model.values import EMPTY, Role, Severity, SubjectKind
from kvdiag.model.vocabulary import Entry

Alternatives = tuple[str, ...]


class StoryLine(NamedTuple):
    """One event of a story, or `count` of them `every` so many microseconds; 0: with kubelet's backoff between them.

    `time` is in microseconds since midnight. Each of several `kinds` or values must give the same finding. `of` names
    the pod if it is not the story's first one. A kind without a dot is a component that logs any line.
    """

    time: int
    kinds: Alternatives
    values: Mapping[str, Alternatives] = EMPTY
    of: str = ""
    count: int = 1  # type: ignore[assignment]  # hides tuple.count
    every: int = 0

    @property
    def ends(self) -> int:
        """Return the time of its last event."""
        return self.moments[-1]

    @property
    def moments(self) -> tuple[int, ...]:
        """Return the time of each of its events."""
        if self.every or self.count == 1:
            return tuple(self.time + number * self.every for number in range(self.count))
        times = [self.time]
        for number in range(self.count - 1):
            times.append(times[-1] + backoff(number))
        return tuple(times)


FIRST_BACKOFF, LONGEST_BACKOFF = 500_000, 122_000_000


def backoff(number: int) -> int:
    """Return how long kubelet waits after failure `number` + 1: 500ms, 1s, 2s … 2m2s."""
    return min(FIRST_BACKOFF << min(number, 20), LONGEST_BACKOFF)


class ChainStep(NamedTuple):
    """`at_least` events of that name, spanning `lasting` microseconds or more.

    With `different` (a name or value), they must have that many different values of it.
    """

    name: str
    at_least: int = 1
    lasting: int = 0
    different: str = ""


class Chain(NamedTuple):
    """Steps in this order on one timeline, from the first to the last at most `within` microseconds (0: any)."""

    steps: tuple[ChainStep, ...]
    within: int = 0


class Absent(NamedTuple):
    """No event of that name after one named event and/or before another.

    With neither, anywhere on the timeline. `within` limits an open side in microseconds; with `to_end` the rule
    explicitly means the end of the log.
    """

    name: str
    after: str = ""
    before: str = ""
    within: int = 0
    to_end: bool = False


class Not(NamedTuple):
    """The term does not hold."""

    term: Condition


class All(NamedTuple):
    """Every term holds, for the same events. `of` distinguishes it from AnyOf, which is also a tuple."""

    terms: tuple[Condition, ...]
    of: Literal["all"] = "all"


class AnyOf(NamedTuple):
    """At least one term holds."""

    terms: tuple[Condition, ...]
    of: Literal["any"] = "any"


Condition = Chain | Absent | Not | All | AnyOf


Where = Mapping[str, tuple[str, ...]]
"""Attribute or name → glob patterns, of which one must match, and none that begins with `!`."""


class Selector(NamedTuple):
    """The events that a name in a rule selects.

    `kinds` are event kinds; all of `where` must match, and one of `any_of` if there are some. `glob_because` says why a
    glob asks for the words of a cause that the anatomy of errors knows.
    """

    name: str
    kinds: tuple[str, ...]
    where: Where = EMPTY
    any_of: tuple[Where, ...] = ()
    glob_because: str = ""

    @property
    def conditions(self) -> tuple[Where, ...]:
        """Return all conditions on names and values, whether all or one of them must match."""
        return (self.where, *self.any_of)

    @property
    def placed_conditions(self) -> Iterator[tuple[str, Where]]:
        """Yield these conditions, each behind the path of its keys: `events.failed.any.0`."""
        yield f"events.{self.name}", self.where
        yield from ((f"events.{self.name}.any.{number}", where) for number, where in enumerate(self.any_of))


class Fix(NamedTuple):
    """One step of the fix: what to do, the command if there is one, and its precondition (`after`).

    `withheld` is the reason why the command is left out: a name from the log is not safe in a shell. A step with
    `causes` is for these only, and for an error whose cause is unknown.
    """

    text: str
    run: str = ""
    after: str = ""
    withheld: str = ""
    causes: tuple[str, ...] = ()


class Healing(NamedTuple):
    """The recovery: events named `by`, and the text of the finding if one of them came after the last failure.

    It must come at least `after` microseconds later. `severity` is one lower than the rule's if it is not given.
    """

    by: tuple[str, ...]
    says: str
    severity: Severity | None = None
    after: int = 0


class Bug(NamedTuple):
    """A known bug behind a signature: the affected versions, and the first fixed ones.

    `doubt` is shown if the range was not verified in release notes or source. With `by`, the bug applies to a finding
    only if one of these names is part of its match.
    """

    component: str
    affected: str
    fixed: tuple[str, ...] = ()
    reference: str = ""
    where: Mapping[str, str] = EMPTY
    doubt: str = ""
    by: tuple[str, ...] = ()


class Proof(NamedTuple):
    """If none of the events `by` is part of a match, the finding is only possible, and `doubt` explains why."""

    by: tuple[str, ...]
    doubt: str


ANY_SUBJECT = "*"  # in the expectations of a log file: any subject, with any verdict
SUBJECT = ""  # in the expectations of a test: the subject of its story, under any name


class RuleTest(NamedTuple):
    """A log excerpt or a story, and what must be found in it: subject name → verdict; empty for a near miss.

    A story is rendered in all wordings except those with the words `but`; `near` is the test that it differs from.
    `look_alikes` are the numbers, from 1, of the rule's look-alikes that this test shows.
    """

    name: str
    log: str
    finds: Mapping[str, str]
    options: Mapping[str, str] = EMPTY
    place: str = ""
    story: tuple[StoryLine, ...] = ()
    but: tuple[str, ...] = ()
    near: str = ""
    look_alikes: tuple[int, ...] = ()


class Rule(NamedTuple):
    """One failure signature; one file in patterns/. `lines` are the vocabulary entries of its raw-line selectors.

    `heading` is the title with the names of the finding in it, for a person; a template as `says` is.
    With `alarm`, a match without one of these events has severity info.
    With `or_node`, events that name no subject of the kind `per` count for their node if no event names one.
    `possible` is the severity of a finding that is only possible, if it differs.
    It `breaks` capabilities, or `suffers` from those that are broken; `explains` and `never_explains` are rules that it
    explains, or does not explain, regardless of the capabilities.
    `survives` are mutants that its tests need not kill, each with the reason.
    `cut` are events that may be missing only because the log ends within the time limit of their chain.
    `cause_from` are events whose error is read for the innermost cause, which the texts name as `{cause}`.
    `places` has the place of each key in the file; it is not cached.
    `clocks` are events whose order after the step before must not depend on the clocks of two machines.
    """

    id: str
    name: str
    title: str
    severity: Severity
    status: str
    role: Role
    per: SubjectKind
    events: Mapping[str, Selector]
    when: Condition
    says: str
    cause: str
    fix: tuple[Fix, ...] = ()
    applies: Mapping[str, str] = EMPTY
    bugs: tuple[Bug, ...] = ()
    proof: Proof | None = None
    same: tuple[str, ...] = ()
    counts: str = ""
    shows: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    healed: Healing | None = None
    clocks: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    look_alikes: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    never_explains: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    suffers: tuple[str, ...] = ()
    collect: tuple[str, ...] = ()
    lines: tuple[Entry, ...] = ()
    tests: tuple[RuleTest, ...] = ()
    possible: Severity | None = None
    place: str = ""
    or_node: bool = False
    heading: str = ""
    alarm: tuple[str, ...] = ()
    survives: Mapping[str, str] = EMPTY
    cut: tuple[str, ...] = ()
    cause_from: tuple[str, ...] = ()
    places: Mapping[str, str] = EMPTY

    def place_of(self, path: str) -> str:
        """Return the place of `fix.0.run` as `file:line:column`; if unknown, that of the nearest key around it."""
        while path and path not in self.places:
            path = path.rpartition(".")[0]
        return self.places.get(path, self.place)
