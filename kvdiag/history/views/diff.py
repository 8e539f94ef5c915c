"""Two lives step by step: the first step where they part, steps only one took, steps that took much longer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kvdiag.base.clock import SECOND
from kvdiag.model.event import Event
from kvdiag.model.lifecycle import Lifecycle
from kvdiag.model.views import Comparison, Slower, StepTaken

MUCH = 3  # times as long, and
WORTH = SECOND  # at least this much longer


def compare_lives(left: Lifecycle, right: Lifecycle) -> Comparison:
    """Two pods or two volumes; steps are compared by what they are called, in the order in which each came first."""
    names = (left.subject.name, right.subject.name)
    stages = (_stages(_of_life(left)), _stages(_of_life(right)))
    return _compare(names, stages, (left.state, right.state))


def compare_events(
    left: tuple[str, Sequence[Event]], right: tuple[str, Sequence[Event]], labels: Mapping[str, str]
) -> Comparison:
    """Two logs, each a name and its events in order of time; steps are the kinds of events, by their labels."""
    stages = tuple(
        _stages((labels.get(event.kind) or event.kind, event) for event in events) for _, events in (left, right)
    )
    return _compare((left[0], right[0]), (stages[0], stages[1]), ("", ""))


def _of_life(life: Lifecycle) -> Iterator[tuple[str, Event]]:
    for transition in life.transitions:
        yield f"{transition.event.component} {transition.step or transition.event.kind}", transition.event


def _stages(steps: Iterator[tuple[str, Event]]) -> Mapping[str, StepTaken]:
    """Each step when it came first."""
    stages: dict[str, StepTaken] = {}
    before: int | None = None
    for name, event in steps:
        if name not in stages:
            stages[name] = StepTaken(name, 0 if before is None else event.time - before, event)
        before = event.time
    return stages


def _compare(
    names: tuple[str, str], stages: tuple[Mapping[str, StepTaken], Mapping[str, StepTaken]], states: tuple[str, str]
) -> Comparison:
    left, right = stages
    only_left = tuple(stage for name, stage in left.items() if name not in right)
    only_right = tuple(stage for name, stage in right.items() if name not in left)
    return Comparison(
        left=names[0],
        right=names[1],
        common=_last_common(left, right),
        parted_left=only_left[0] if only_left else None,
        parted_right=only_right[0] if only_right else None,
        only_left=only_left,
        only_right=only_right,
        slower=tuple(_slower(left, right)),
        state_left=states[0],
        state_right=states[1],
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
