"""Whether the events there are can stand in the order that a condition asks for, told without looking for a run.

Most pods have events of every kind that some rule asks for, but in the order of a healthy life: that such is not
`volume.unpublish.succeeded then container.killing` costs a tenth of what judging it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from kvdiag.model.event import Event
from kvdiag.model.rule import All, AnyOf, Chain, ChainStep, Condition

EARLIEST = -(1 << 62)
MOST_KNOWN = 4096  # conditions


class EventTimes(Protocol):
    """When events of a name were."""

    def soonest(self, name: str, since: int) -> int | None:
        """The first moment from `since` on at which an event of that name was going on; None if there is none."""


Names = tuple[str, ...]
Alternatives = Sequence[Sequence[Names]]  # of each of one of them the names must follow one another
ALWAYS: Alternatives = ((),)
MOST_ALTERNATIVES = 64  # alternatives; a condition with more of them is judged without being looked at before
_KNOWN: dict[int, tuple[Condition, Sequence[str], Alternatives]] = {}  # by the identity of a condition


def order_is_possible(condition: Condition, cut: Sequence[str], moments: EventTimes) -> bool:
    """Whether each step of a chain has an event that goes on when or after one of the step before it does.

    The last step need not have one where the log's end may have `cut` it off. What must be absent is not looked at.
    """
    return any(all(_follow(names, moments) for names in chains) for chains in _alternatives(condition, cut))


def _follow(names: Names, moments: EventTimes) -> bool:
    since = EARLIEST
    for name in names:
        moment = moments.soonest(name, since)
        if moment is None:
            return False
        since = moment
    return True


def _alternatives(condition: Condition, cut: Sequence[str]) -> Alternatives:
    """The chains that a condition asks for, worked out once: rules live as long as the process."""
    known = _KNOWN.get(id(condition))
    if known is None or known[0] is not condition or known[1] != cut:
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        known = _KNOWN[id(condition)] = (condition, cut, _chains(condition, cut))
    return known[2]


def _chains(condition: Condition, cut: Sequence[str]) -> Alternatives:
    match condition:
        case Chain(steps):
            return ((tuple(step.name for step in sure_steps(steps, cut)),),)
        case All(terms):
            found: Alternatives = ALWAYS
            for term in terms:
                found = [(*some, *more) for some in found for more in _chains(term, cut)]
                if len(found) > MOST_ALTERNATIVES:
                    return ALWAYS
            return found
        case AnyOf(terms):
            return [chains for term in terms for chains in _chains(term, cut)]
        case _:
            return ALWAYS


def soonest(events: Iterable[Event], since: int) -> int | None:
    """The first moment from `since` on at which one of these events, in order of time, was going on."""
    for event in events:
        if event.ends >= since:
            return max(event.time, since)
    return None


def sure_steps(steps: Sequence[ChainStep], cut: Sequence[str]) -> Sequence[ChainStep]:
    """The steps of which at least one event must be there: the last need not, where the log's end may have cut it."""
    return steps[:-1] if len(steps) > 1 and steps[-1].name in cut else steps
