"""What a state machine is made of: steps by kind of event, and the states that must not be left out.

A log shows only part of a life: what its verbosity, its beginning and its components let through. So a state may be
reached from any other; a step is illegal only when a `OrderConstraint` is broken whose first half was seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kvdiag.model.lanes import Tone
from kvdiag.model.values import EMPTY

NONE: frozenset[str] = frozenset()
ALL = frozenset({"*"})


class Step(NamedTuple):
    """What an event means. `to` is the state it leads to, empty when the state stays.

    `keeps` are states that it does not leave (a second mount of a volume that is published). `holds` is +1 where one
    more holder of the subject is named and -1 where one lets go; the state is left with the last. `proves` is False
    where a beginning or a guess says nothing sure about the state. `forgets` are states that are no longer known to
    have been reached, `*` for all; `may` are those that a timeout, or another error that is not final, leaves in doubt.
    `marks` is a word for an order to name; `waits` says by state what must follow, and `ends_wait` what need not any
    more. `label` is told instead of the kind's own.
    """

    to: str = ""
    keeps: frozenset[str] = NONE
    holds: int = 0
    proves: bool = True
    forgets: frozenset[str] = NONE
    may: frozenset[str] = NONE
    marks: str = ""
    waits: Mapping[str, str] = EMPTY
    ends_wait: str = ""
    label: str = ""
    flags: frozenset[str] = NONE


class State(NamedTuple):
    """`waits` says what must follow; `reboot` is the state that a reboot of the host leads to."""

    waits: str = ""
    reboot: str = ""
    flags: frozenset[str] = NONE


class OrderConstraint(NamedTuple):
    """After `after` was reached, `to` may be reached only through `through`."""

    to: str
    after: str
    through: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One variant of a life cycle, put together from its parts.

    `outage` names the component whose restarts and gaps make the state uncertain. Events without a step are told too,
    but for those in `hides`, or all of them where it is `*`. `labels` has what each kind of event is called.
    """

    name: str
    steps: Mapping[str, Step]
    states: Mapping[str, State]
    orders: tuple[OrderConstraint, ...] = ()
    outage: str = "kubelet"
    hides: frozenset[str] = NONE
    labels: Mapping[str, str]

    @property
    def begins(self) -> str:
        """The state before the first step."""
        return next(name for name, state in self.states.items() if "first" in state.flags)

    def has(self, state: str, flag: str) -> bool:
        """Whether a state has a flag; a name that is no state of this life cycle has none."""
        return state in self.states and flag in self.states[state].flags

    def tone(self, state: str) -> Tone:
        """How a state looks in a picture, by its flags."""
        flags = self.states[state].flags if state in self.states else NONE
        if "trouble" in flags:
            return Tone.BAD
        if "past" in flags:
            return Tone.OVER
        return Tone.GOOD if "settled" in flags else Tone.CHANGE

    def label(self, kind: str) -> str:
        """What people call an event, by its kind or `kind:detail`; made of the kind where no pattern names it."""
        step, base_kind = self.steps.get(kind), kind.partition(":")[0]
        return (
            (step.label if step else "") or self.labels.get(base_kind) or base_kind.replace(".", " ").replace("-", " ")
        )
