"""Which events of the node a rule sees beside those of its subject."""

from __future__ import annotations

import pytest

from kvdiag.base.clock import HOUR, MINUTE
from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.rule import Selector
from kvdiag.model.timeline import Entity, History, Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.event_index import EventIndex
from kvdiag.rules.grammar import read_condition
from tests.rules.one_rule import one_rule
from tests.timelines import GivenTimelines

NOON = 1_720_008_000_000_000
ENTRIES = {
    "own": Entry(kind="own", component="kubelet", wordings=()),
    "round": Entry(kind="round", component="kubelet", wordings=(), scope="node"),
}
RULE = one_rule(
    events={name: Selector(name=name, kinds=(name,), where={}) for name in ENTRIES},
    when=read_condition("own and round", tuple(ENTRIES), "here"),
)


def event(kind: str, begins: int, ends: int, node: str = "n1") -> Event:
    """An event from and until so many microseconds after noon."""
    return Event(NOON + begins, kind, "kubelet", (), {}, Origin("log", 1), node, (kind.encode(),), NOON + ends)


@pytest.mark.parametrize(
    ("begins", "ends", "node", "seen"),
    [
        (0, 0, "n1", True),
        (-HOUR, -HOUR, "n1", True),
        (-HOUR - 1, -HOUR - 1, "n1", False),
        (-9 * HOUR, -9 * HOUR, "n1", False),
        (-9 * HOUR, 0, "n1", True),
        (-9 * HOUR, 9 * HOUR, "n1", True),
        (-9 * HOUR, -2 * HOUR, "n1", False),
        (HOUR + MINUTE, HOUR + MINUTE, "n1", True),
        (HOUR + MINUTE + 1, 9 * HOUR, "n1", False),
        (0, 0, "n2", False),
    ],
)
def test_what_is_near(begins: int, ends: int, node: str, seen: bool) -> None:
    """An event of the node is seen when any part of it lies within an hour of the subject's own."""
    own, near = event("own", 0, MINUTE), event("round", begins, ends, node)
    pod = Entity(kind=SubjectKind.POD, key="uid", name="shop/web-0")
    place = Entity(kind=SubjectKind.NODE, key=node, name=node)
    timelines = {
        (SubjectKind.POD, "uid"): Timeline(pod, (own,)),
        (SubjectKind.NODE, node): Timeline(place, (near,)),
    }
    history = History(
        events=(own, near),
        timelines=GivenTimelines(timelines),
        coverage=(),
        versions=(),
        begins=own.time,
        ends=near.ends,
    )
    scene = EventIndex(history, ENTRIES)
    found = [near in subject.select(wanted, "n1") for subject, (wanted,) in scene.candidates([RULE])]
    assert found == [seen]
