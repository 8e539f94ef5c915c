"""Two lives step by step: the first step where they part, steps only one took, steps that took much longer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kvdiag.base.clock import SECOND
from kvdiag.model.event import Event
from kvdiag.model.lifecycle import Lifecycle
from kvdiag.model.views import ComparedSide, Comparison, Slower, StepTaken

MUCH = 3  # times as long, and
WORTH = SECOND  # at least this much longer


class _Taken(NamedTuple):
    """The steps of one side, each when it came first."""

    name: str
    steps: Mapping[str, StepTaken]
    state: str = ""

    def beside(self, other: _Taken) -> ComparedSide:
        """Return this side with the steps that the other one did not take."""
        only = tuple(step for name, step in self.steps.items() if name not in other.steps)
        return ComparedSide(self.name, only, self.state)


def compare_lives(left: Lifecycle, right: Lifecycle) -> Comparison:
    """Two pods or two volumes; steps are compared by what they are called, in the order in which each came first."""
    one, other = (_Taken(life.subject.name, _stages(_of_life(life)), life.state) for life in (left, right))
    return _compare(one, other)


def compare_events(
    left: tuple[str, Sequence[Event]], right: tuple[str, Sequence[Event]], labels: Mapping[str, str]
) -> Comparison:
    """Two logs, each a name and its events in order of time; steps are the kinds of events, by their labels."""
    one, other = (
        _Taken(name, _stages((labels.get(event.kind) or event.kind, event) for event in events))
        for name, events in (left, right)
    )
    return _compare(one, other)


def _of_life(life: Lifecycle) -> Iterator[tuple[str, Event]]:
    for transition in life.transitions:
        yield f"{transition.event.component} {transition.step or transition.event.kind}", transition.event


def _stages(steps: Iterable[tuple[str, Event]]) -> Mapping[str, StepTaken]:
    """Each step when it came first."""
    stages: dict[str, StepTaken] = {}
    before: int | None = None
    for name, event in steps:
        if name not in stages:
            stages[name] = StepTaken(name, 0 if before is None else event.time - before, event)
        before = event.time
    return stages


def _compare(left: _Taken, right: _Taken) -> Comparison:
    return Comparison(
        left=left.beside(right),
        right=right.beside(left),
        common=_last_common(left.steps, right.steps),
        slower=tuple(_slower(left.steps, right.steps)),
    )


def _last_common(left: Mapping[str, StepTaken], right: Mapping[str, StepTaken]) -> str:
    """The last step both took before the first that only one took."""
    common = ""
    for name in left:
        if name not in right:
            break
        common = name
    other = next((name for name in right if name not in left), None)
    if other is None or common not in right:
        return common
    order = list(right)
    return common if order.index(common) < order.index(other) else _before(other, order, left)


def _before(other: str, order: Sequence[str], left: Mapping[str, StepTaken]) -> str:
    return next((name for name in reversed(order[: order.index(other)]) if name in left), "")


def _slower(left: Mapping[str, StepTaken], right: Mapping[str, StepTaken]) -> Iterator[Slower]:
    for name, stage in left.items():
        if name in right:
            one, two = stage.took, right[name].took
            if max(one, two) >= MUCH * max(1, min(one, two)) and abs(one - two) >= WORTH:
                yield Slower(name, one, two)
