"""A followed log has no end: older events are dropped, and what they showed is reported once."""

from __future__ import annotations

import os
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from kvdiag.analysis import follow
from kvdiag.base.errors import InputError
from kvdiag.history.ingest.log_reader import LogReader
from kvdiag.inputs.scan import blocks
from kvdiag.model.options import Options
from tests.long import YEAR, repeated, thinned
from tests.wrappers import SAMPLES

KUBELET = thinned((SAMPLES / "hostpath-driver-lost-state/kubelet.log").read_bytes(), 5, every=5)
TIMES, ROOM = 8, 600


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Read a third at a time: how many blocks there are makes a log long, not how much is in each."""
    monkeypatch.setattr(blocks, "SIZE", blocks.SIZE // 3)


def followed(path: Path, text: bytes) -> list[follow.Change]:
    """Give what is told of a text that comes through a pipe."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(text,))
    writer.start()
    problems: list[InputError] = []
    changes = list(follow.Follower(Options(paths=(str(path),), year=YEAR), problems.append).changes())
    writer.join()
    assert problems == []
    return changes


def keys(changes: list[follow.Change], *, over: bool) -> list[str]:
    """Give what was told as found, or as over."""
    return sorted(change.finding.key for change in changes if change.is_over is over)


@pytest.mark.parametrize("half", [False, True])
def test_older_events_are_dropped(monkeypatch, tmp_path, half):
    """What is certain is told once, long after its events were dropped too; over is what came to its end before that."""
    text = repeated(KUBELET[: len(KUBELET) // 2] if half else KUBELET, range(TIMES))
    whole = followed(tmp_path / "kubelet.log", text)
    held: list[int] = []
    add = LogReader.add

    def counted(self, block, listener=None):
        held.append(self.size)
        add(self, block, listener)
        held.append(self.size)

    monkeypatch.setattr(follow, "MAX_REPORTED", 2)
    monkeypatch.setattr(follow, "MOST_HELD", ROOM)
    monkeypatch.setattr(LogReader, "add", counted)
    changes = followed(tmp_path / "again.log", text)
    assert len(keys(whole, over=False)) >= TIMES
    assert keys(changes, over=False) == keys(whole, over=False)
    assert set(keys(changes, over=True)) <= set(keys(whole, over=True))
    assert sum(after < before for before, after in pairwise(held)) > 1
    assert max(held) <= 2 * ROOM


def test_events_of_one_moment(monkeypatch, tmp_path):
    """Events of the same time are dropped together: none of them is older than the others."""
    line = 'I0312 08:15:00.000000    2201 kubelet.go:2130] "SyncLoop ADD" source="api" pods=["shop/web-{}"]\n'
    monkeypatch.setattr(follow, "MOST_HELD", 100)
    assert followed(tmp_path / "kubelet.log", "".join(map(line.format, range(4_000))).encode()) == []
