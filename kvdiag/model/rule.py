"""A rule: a condition over named events, and everything it tells the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from kvdiag.model.story import StoryLine
from kvdiag.model.values import EMPTY, Role, Severity, SubjectKind
from kvdiag.model.vocabulary import Entry


class ChainStep(NamedTuple):
    """`at_least` events of that name, spanning `lasting` microseconds or more.

    With `different`, a name or value, as many events that differ in it.
    """

    name: str
    at_least: int = 1
    lasting: int = 0
    different: str = ""


class Chain(NamedTuple):
    """Steps in this order on one timeline, the first to the last within `within` microseconds (0: any)."""

    steps: tuple[ChainStep, ...]
    within: int = 0


class Absent(NamedTuple):
    """No event of that name after one named event and/or before another.

    With neither, anywhere on the timeline. `within` bounds an open side in microseconds; `to_end` says that an open
    right side means the end of the log on purpose.
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
    """Every term holds, for the same events. `of` tells it from AnyOf, a tuple as well."""

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
    """Which events a name in a rule stands for.

    `kinds` are event kinds; all of `where` must hold, and one of `any_of` if there are some. With `each`, an absence is
    proven only if the logs of all components that print one of the kinds show it.
    """

    name: str
    kinds: tuple[str, ...]
    where: Where = EMPTY
    any_of: tuple[Where, ...] = ()
    each: bool = False

    @property
    def conditions(self) -> tuple[Where, ...]:
        """All conditions on names and values, whether all or one of them must hold."""
        return (self.where, *self.any_of)


class Fix(NamedTuple):
    """One step of the remedy: what to do, the command if there is one, and what must be true before it is run.

    `withheld` says why the command is left out: a name from the log is not safe in a shell.
    """

    text: str
    run: str = ""
    after: str = ""
    withheld: str = ""


class Healing(NamedTuple):
    """What ends the fault: events named `by`, and what is said instead once one of them came after the last failure.

    It came `after` microseconds or more. Its `severity` is one lower than the rule's unless it is given.
    """

    by: tuple[str, ...]
    says: str
    severity: Severity | None = None
    after: int = 0


class Bug(NamedTuple):
    """A known defect behind a signature: which versions have it and which first do not.

    `doubt` is shown when the range was not verified in release notes or source. With `by` the defect concerns a finding
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
    """The events of which one must be part of a match, or the finding is only possible and `doubt` says why."""

    by: tuple[str, ...]
    doubt: str


SUBJECT = ""  # in what a test finds: the one that its story is about, whatever a wording calls it


class RuleTest(NamedTuple):
    """A log excerpt or a story, and what must be found in it: subject name → verdict; empty for a near miss.

    A story is told in all wordings but those with the words `but`; `near` is the test that it differs from.
    `look_alikes` are the numbers, from 1 on, of the rule's look-alikes of which this is one.
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
    With `alarm`, a match without one of these events is of severity info.
    With `or_node`, events that name no subject of the kind `per` count for their node, where none names one.
    `possible` is the severity of a finding that is only possible, where that is another.
    It `breaks` capabilities, or `suffers` from what broke them; `explains` and `never_explains` are rules that it folds
    or does not fold whatever these say.
    `survives` are the mutants that its tests need not tell from it, each with the reason.
    `cut` are the events that may yet have come where the log ends within the bound of their chain.
    `places` says where in the file each key's value stands; it is not kept in the cache.
    `clocks` are the events whose place after the step before them must not hang on the clocks of two machines.
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
    places: Mapping[str, str] = EMPTY

    def place_of(self, path: str) -> str:
        """Where `fix.0.run` stands in the file: `file:line:column`; the nearest that holds it, if it is not known."""
        while path and path not in self.places:
            path = path.rpartition(".")[0]
        return self.places.get(path, self.place)
