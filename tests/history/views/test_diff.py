"""Two lives side by side: after which step they part, and what took longer."""

from __future__ import annotations

import pytest

from kvdiag.base.clock import SECOND
from kvdiag.history.views.diff import compare_events, compare_lives
from kvdiag.model.event import Event
from kvdiag.model.lifecycle import Lifecycle, Transition
from kvdiag.model.record import Origin
from kvdiag.model.timeline import Entity
from kvdiag.model.values import SubjectKind


def events(text: str) -> list[Event]:
    """`a b@5`: kinds, one a second or at a second."""
    made = []
    for number, word in enumerate(text.split()):
        kind, _, second = word.partition("@")
        time = round(float(second or number) * SECOND)
        made.append(Event(time, kind, "kubelet", (), {}, Origin("log", number), "", (kind.encode(),), time))
    return made


def life(name: str, text: str) -> Lifecycle:
    """A pod that took these steps."""
    steps = events(text)
    transitions = tuple(Transition(event, event.kind, "", event.kind.upper()) for event in steps)
    subject = Entity(kind=SubjectKind.POD, key=name, name=name)
    last = transitions[-1]
    return Lifecycle(subject=subject, machine="pod", transitions=transitions, state=last.state, since=last.event.time)


@pytest.mark.parametrize(
    ("left", "right", "common", "parted"),
    [
        ("a b c", "a b c", "c", (None, None)),
        ("a b c", "a b d", "b", ("c", "d")),
        ("a b c d", "a b", "b", ("c", None)),
        ("a b", "a b c", "b", (None, "c")),
        ("a b c", "x y z", "", ("a", "x")),
        ("a b b b c", "a b c", "c", (None, None)),
        ("a b c d", "a x b c d", "a", (None, "x")),
        ("b a c", "a b d", "a", ("c", "d")),
    ],
)
def test_where_they_part(left: str, right: str, common: str, parted: tuple[str | None, str | None]) -> None:
    """The last step that both took before the first that only one took."""
    found = compare_events(("l", events(left)), ("r", events(right)), {})
    assert found.common == common
    sides = (found.left.parted, found.right.parted)
    assert tuple(side.step if side else None for side in sides) == parted


@pytest.mark.parametrize(
    ("left", "right", "slower"),
    [
        ("a@0 b@1", "a@0 b@9", [("b", 1, 9)]),
        ("a@0 b@9", "a@0 b@1", [("b", 9, 1)]),
        ("a@0 b@1", "a@0 b@2.9", []),
        ("a@0 b@0.1", "a@0 b@1", []),
        ("a@0 b@0.1", "a@0 b@1.1", [("b", 0.1, 1.1)]),
        ("a@0 b@1 b@99", "a@0 b@1", []),
    ],
)
def test_what_took_longer(left: str, right: str, slower: list[tuple[str, float, float]]) -> None:
    """Three times as long and at least a second more; a step counts when it came first."""
    found = compare_events(("l", events(left)), ("r", events(right)), {})
    assert [(one.step, one.left / SECOND, one.right / SECOND) for one in found.slower] == slower


def test_lives_name_their_states() -> None:
    """Two pods are compared by step and component, and by where they ended."""
    found = compare_lives(life("shop/a", "added mounted gone"), life("shop/b", "added mounted waits"))
    assert (found.left.name, found.right.name) == ("shop/a", "shop/b")
    assert found.common == "kubelet mounted"
    assert (found.left.state, found.right.state) == ("GONE", "WAITS")
    assert [stage.step for stage in found.left.only] == ["kubelet gone"]
    assert [stage.step for stage in found.right.only] == ["kubelet waits"]
