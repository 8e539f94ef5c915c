"""No event is dropped, however many there are; beyond the limit, what was not read is listed."""

from __future__ import annotations

import re

from kvdiag.analysis.analyze import analyze
from kvdiag.analysis.case import Case
from kvdiag.history.ingest import input_reader as reading
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options
from kvdiag.model.values import SubjectKind

MANY, PODS = 70_000, 100  # more than two bytes count
ADDED = 'I0312 {:02}:{:02}:{:02}.{:06}    2201 kubelet.go:2130] "SyncLoop UPDATE" source="api" pods=["shop/web-{}"]\n'


def log(many: int) -> bytes:
    """Give a log with as many events, ten in a second."""
    rows = ((n // 36_000, n // 600 % 60, n // 10 % 60, n % 10 * 100_000, n % PODS) for n in range(many))
    return "".join(ADDED.format(*row) for row in rows).encode()


def test_none_is_dropped():
    """Of 70,000 events of a log each is in the history and in the timeline of its pod."""
    history = Case(Options(year=2024)).read(given=[TextInput("kubelet.log", log(MANY))]).history
    assert [event.origin.line for event in history.events] == list(range(1, MANY + 1))
    pods = [timeline for (kind, _), timeline in history.timelines.items() if kind is SubjectKind.POD]
    assert [len(timeline.events) for timeline in pods] == [MANY // PODS] * PODS


def test_more_events_than_the_limit(monkeypatch, tmp_path):
    """What was read by then is analyzed; the rest of the log and the logs after it are listed."""
    monkeypatch.setattr(reading, "MAX_EVENTS", 500)
    paths = [tmp_path / name for name in ("a.log", "b.log", "c.log")]
    paths[0].write_bytes(log(10))
    paths[1].write_bytes(log(MANY // 10))
    paths[2].write_bytes(log(10))
    report = analyze(Options(paths=tuple(map(str, paths)), year=2024))
    assert [reading.source for reading in report.inputs] == [str(path) for path in paths[:2]]
    assert 500 < sum(reading.recognised for reading in report.inputs) < MANY // 10
    assert re.fullmatch(rf"{paths[1]}: limit of 5,000,000 events reached after \d+ % of it", report.problems[0])
    assert report.problems[1:] == (f"{paths[2]}: limit of 5,000,000 events reached before it was read",)
