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


class Moments(Protocol):
    """When events of a name were."""

    def soonest(self, name: str, since: int) -> int | None:
        """The first moment from `since` on at which an event of that name was going on; None if there is none."""


def can_be(condition: Condition, cut: Sequence[str], moments: Moments) -> bool:
    """Whether each step of a chain has an event that goes on when or after one of the step before it does.

    The last step need not have one where the log's end may have `cut` it off. What must be absent is not looked at.
    """
    match condition:
        case Chain(steps):
            since = EARLIEST
            for step in sure_steps(steps, cut):
                moment = moments.soonest(step.name, since)
                if moment is None:
                    return False
                since = moment
            return True
        case All(terms):
            return all(can_be(term, cut, moments) for term in terms)
        case AnyOf(terms):
            return any(can_be(term, cut, moments) for term in terms)
        case _:
            return True


def soonest(events: Iterable[Event], since: int) -> int | None:
    """The first moment from `since` on at which one of these events, in order of time, was going on."""
    for event in events:
        if event.ends >= since:
            return max(event.time, since)
    return None


def sure_steps(steps: Sequence[ChainStep], cut: Sequence[str]) -> Sequence[ChainStep]:
    """The steps of which at least one event must be there: the last need not, where the log's end may have cut it."""
    return steps[:-1] if len(steps) > 1 and steps[-1].name in cut else steps
