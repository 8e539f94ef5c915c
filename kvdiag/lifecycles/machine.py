"""What a state machine is made of: steps by kind of event, and the states that must not be left out.

A log shows only part of a life: what its verbosity, its beginning and its components let through. So a state may be
reached from any other; a step is illegal only when a `OrderConstraint` is broken whose first half was seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Step(NamedTuple):
    """What an event means. `to` is the state it leads to, empty when the state stays.

    `keeps` are states that it does not leave (a second mount of a volume that is published). `holds` is +1 where one
    more holder of the subject is named and -1 where one lets go; the state is left with the last. `proves` is False
    where a beginning or a guess says nothing sure about the state. `forgets` are states that are no longer known to
    have been reached, `*` for all; `may` are those that a timeout, or another error that is not final, leaves in doubt.
    """

    says: str
    to: str = ""
    keeps: frozenset[str] = frozenset()
    holds: int = 0
    proves: bool = True
    forgets: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()


class OrderConstraint(NamedTuple):
    """After `after` was reached, `to` may be reached only through `through`."""

    to: str
    after: str
    through: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A named table. `ends` are states in which nothing is outstanding; `waits` says what must follow each other state.

    `outage` names the component whose restarts and gaps make the state uncertain. Events without a step are told too,
    but for those in `hides`, or all of them where it is `*`. `reboot` says to which state one of its host leads.
    """

    name: str
    steps: Mapping[str, Step]
    musts: tuple[OrderConstraint, ...] = ()
    ends: frozenset[str] = frozenset()
    waits: Mapping[str, str] = field(default_factory=dict)
    begins: str = "ABSENT"
    outage: str = "kubelet"
    hides: frozenset[str] = frozenset()
    reboot: Mapping[str, str] = field(default_factory=dict)


def states(words: str) -> frozenset[str]:
    """`"STAGED PUBLISHED"` → the two states."""
    return frozenset(words.split())


ALL = states("*")
