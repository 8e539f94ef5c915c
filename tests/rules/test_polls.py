"""Folded polls are cut where something else happened meanwhile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import SECOND
from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.rules.absence import cut_polls


def event(kind, second, *, count=1, lasts=0):
    """Give an event, or a folded poll."""
    time = second * SECOND
    return Event(
        time, kind, "kubelet", (), {}, Origin("log", second + 100), "", (kind.encode(),), time + lasts * SECOND, count
    )


def in_seconds(pairs):
    """Give kind, begin, end and count of each piece."""
    return [(e.kind, e.time // SECOND, e.ends // SECOND, e.count) for e, _ in pairs]


def test_a_poll_is_cut():
    """A poll of every ten seconds is cut into what came before another event and what came after it."""
    assert in_seconds(cut_polls([event("a", 0, count=11, lasts=100), event("b", 35)])) == [
        ("a", 0, 30, 4),
        ("b", 35, 35, 1),
        ("a", 40, 100, 7),
    ]


def test_what_is_not_cut():
    """What happened at its ends or outside, and other polls of its kind, do not cut a poll."""
    told = [event("b", 0), event("a", 0, count=11, lasts=100), event("a", 50, count=2, lasts=9), event("b", 100)]
    assert [(one, poll) for one, poll in cut_polls(told) if one is not poll] == []


polls = st.tuples(st.integers(2, 50), st.integers(1, 3600))
others = st.lists(st.tuples(st.sampled_from("bc"), st.integers(-10, 3700)), max_size=6, unique_by=lambda told: told[1])


@given(polls, others)
def test_the_pieces_of_a_poll(poll, others):
    """Cut however often, the pieces have the poll's count together, lie in order, and never over another event."""
    count, lasts = poll
    told = [event("a", 0, count=count, lasts=lasts), *(event(kind, second) for kind, second in others)]
    pairs = cut_polls(sorted(told, key=lambda e: (e.time, e.origin)))
    pieces = [piece for piece, whole in pairs if whole is told[0]]
    assert sum(piece.count for piece in pieces) == count
    assert (pieces[0].time, pieces[-1].ends) == (0, lasts * SECOND)
    assert all(piece.time <= piece.ends and piece.count > 0 for piece in pieces)
    assert not any(p.time < e.time < p.ends and p.count > 1 for p in pieces for e, _ in pairs if e.kind != "a")
    assert [e for e, _ in pairs if e.kind != "a"] == sorted(told[1:], key=lambda e: (e.time, e.origin))


def test_a_log_whose_first_line_is_cut(kvdiag, tmp_path):
    """The line without a time gets that of the next line; it is no copy of the poll that begins there."""
    words = """  2201 desired_state_of_world_populator.go:293] Failed to add volume "db" (specName: "db") for pod \
"1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01" to desiredStateOfWorld. err=no volume plugin matched
"""
    times = ("312 08:15:00.000000", *(f"E0312 08:15:00.{tenth}00000" for tenth in (3, 6, 9)))
    (tmp_path / "kubelet.log").write_text("".join(f"{time}  {words}" for time in times))
    assert "reported 4 times" in " ".join(kvdiag("analyze", "kubelet.log", cwd=tmp_path).stdout.split())
