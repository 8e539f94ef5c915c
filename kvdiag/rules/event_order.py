"""Check quickly whether events can have the order that a condition requires, before the condition is evaluated.

Most pods have events of all kinds, but in the order of a healthy life. To see that `volume.unpublish.succeeded then
container.killing` is impossible costs a tenth of a full evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from kvdiag.base.identity_cache import cached_by_identity
from kvdiag.model.event import Event
from kvdiag.model.rule import All, AnyOf, Chain, ChainStep, Condition

EARLIEST = -(1 << 62)


class EventTimes(Protocol):
    """When events of a rule's names occurred."""

    def soonest(self, name: str, since: int) -> int | None:
        """Return the first time from `since` on at which an event of that name was going on; None if there is none."""


Names = tuple[str, ...]
Alternatives = Sequence[Sequence[Names]]  # one of the alternatives must hold: all its chains, each with names in order
ALWAYS: Alternatives = ((),)
MOST_ALTERNATIVES = 64  # a condition with more alternatives is evaluated without this check


def order_is_possible(condition: Condition, cut: tuple[str, ...], moments: EventTimes) -> bool:
    """Return whether each step of a chain has an event during or after one of the step before it.

    The last step may lack one if it is in `cut` (the log may end before it). Absent events are not checked.
    """
    for chains in _alternatives(condition, cut):
        for names in chains:
            if not _follow(names, moments):
                break
        else:
            return True
    return False


def _follow(names: Names, moments: EventTimes) -> bool:
    since = EARLIEST
    for name in names:
        moment = moments.soonest(name, since)
        if moment is None:
            return False
        since = moment
    return True


def _alternatives(condition: Condition, cut: tuple[str, ...]) -> Alternatives:
    """Return the chains that a condition requires."""
    known = _known_alternatives(condition)
    if cut not in known:
        known[cut] = _chains(condition, cut)
    return known[cut]


@cached_by_identity
def _known_alternatives(_condition: Condition) -> dict[tuple[str, ...], Alternatives]:
    """Return the chains of a condition that were computed, by `cut`."""
    return {}


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
    """Return the first time from `since` on at which one of these events, in order of time, was going on."""
    for event in events:
        if event.ends >= since:
            return max(event.time, since)
    return None


def sure_steps(steps: Sequence[ChainStep], cut: Sequence[str]) -> Sequence[ChainStep]:
    """Return the steps that must have an event: all but the last one if the log's end may have cut it off."""
    return steps[:-1] if len(steps) > 1 and steps[-1].name in cut else steps
