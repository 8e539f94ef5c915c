"""Commands with room for a fraction of the events say what they say with room for all, or that something is missing."""

import gzip
import json
import os
import threading
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from kvdiag.analysis import follow
from kvdiag.analysis.anonymize import Inputs, mask_names
from kvdiag.analysis.compare import compare
from kvdiag.analysis.events import list_events
from kvdiag.analysis.inventory import take_inventory
from kvdiag.analysis.retention import budget as limits
from kvdiag.analysis.timeline import timelines
from kvdiag.base.errors import InputError
from kvdiag.history.views.inventory import InventoryFilter
from kvdiag.inputs.scan import blocks
from kvdiag.model.options import Options
from kvdiag.model.values import SubjectKind
from kvdiag.report.json_lines import event_line
from tests.long import YEAR, again, repeated, thinned

ROOT = Path(__file__).parents[3]
LOST = "hostpath-driver-lost-state"
KUBELET = thinned((ROOT / "sample-logs" / LOST / "kubelet.log").read_bytes(), 5, every=5)
UID = b"0d5936eb-62b9-4a42-a53b-6986b4cfbefc"
PV = b"pvc-3126ba07-e71e-4ea5-bf21-3bdb0bd507e4"
FAILURES = thinned(gzip.decompress((ROOT / "tests/data/pod-failures/kubelet.log.gz").read_bytes()), 4)
TIMES, ROOM = 8, 600
EARLY, LATE = 2, 6


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Read a third at a time: how many blocks there are makes a log long, not how much is in each."""
    monkeypatch.setattr(blocks, "SIZE", blocks.SIZE // 3)


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Give the options for a log in which one pod after the other could not be ended."""
    path = tmp_path_factory.mktemp("long") / "kubelet.log"
    path.write_bytes(repeated(KUBELET, range(TIMES)))
    return Options(paths=(str(path),), year=YEAR)


@pytest.fixture
def scarce(monkeypatch):
    """Give a function that leaves room for few events, and gives how many are held each time it is asked."""

    def leave() -> list[int]:
        held: list[int] = []
        check = limits.EventBudget.check

        def checked(self, done, *logs):
            held.append(sum(log.size for log in logs) + sum(len(read.log.raw_events) for read in done))
            check(self, done, *logs)

        monkeypatch.setattr(limits, "MAX_EVENTS", ROOM)
        monkeypatch.setattr(limits.EventBudget, "check", checked)
        return held

    return leave


def named(name: bytes, number: int) -> str:
    """Give what a pod or volume of the sample is called in one of its repetitions."""
    return again(name, number).decode()


def is_bounded(held: list[int]) -> bool:
    """Whether events were let go, again and again, and what was held stayed near the limit."""
    return sum(after < before for before, after in pairwise(held)) > 1 and max(held) <= 2 * ROOM


@pytest.mark.parametrize("kind", [SubjectKind.POD, SubjectKind.VOLUME])
def test_inventories(long, scarce, kind):
    """Each pod and each volume is listed with its state, its retries, its findings and how long each step took."""
    wanted = InventoryFilter(kind=kind, slow=True, everything=True)
    whole = take_inventory(long, wanted)
    held = scarce()
    taken = take_inventory(long, wanted)
    assert len(whole.inventory.rows) >= TIMES
    assert taken.inventory == whole.inventory
    assert (len(whole.notes), len(taken.notes)) == (0, 1)
    assert is_bounded(held)


@pytest.mark.parametrize(
    ("kind", "ref"),
    [
        (SubjectKind.POD, named(UID, EARLY)),
        (SubjectKind.POD, named(UID, LATE)),
        (SubjectKind.POD, named(UID, EARLY)[:8]),
        (SubjectKind.VOLUME, named(PV, EARLY)),
        (SubjectKind.VOLUME, named(PV, LATE)),
        (SubjectKind.DRIVER, "hostpath.csi.k8s.io"),
    ],
)
def test_timelines(long, scarce, capsys, kind, ref):
    """What happened to a subject is told in full, wherever in the log it lived; that there was more is said."""
    whole = timelines([kind], ref, long, print)
    assert capsys.readouterr().out == ""
    held = scarce()
    told = timelines([kind], ref, long, print)
    assert told == whole
    assert f"only what concerns {ref} was kept; narrow the time with --since" in capsys.readouterr().out
    assert is_bounded(held)


@pytest.mark.parametrize("uid", [b"04f71045-0f18-4b2c-a214-316963a95302", b"b6d97327-70ce-4799-914d-635b779b2b62"])
def test_a_name_that_others_had_later(monkeypatch, tmp_path, capsys, uid):
    """Lines that say a pod's name alone are of the one that held it then, also when the others were let go."""
    path = tmp_path / "kubelet.log"
    path.write_bytes(repeated(FAILURES, range(3)))
    options = Options(paths=(str(path),), year=YEAR)
    whole = timelines([SubjectKind.POD], uid.decode(), options, print)
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(limits, "MAX_EVENTS", 1200)
    assert timelines([SubjectKind.POD], uid.decode(), options, print) == whole
    assert f"only what concerns {uid.decode()} was kept" in capsys.readouterr().out


def test_a_timeline_of_nearly_everything(long, scarce, capsys):
    """Where not even the subject's own events fit, as of a pod that was made anew again and again, that is said."""
    held = scarce()
    assert timelines([SubjectKind.POD], "default/db-0", long, print)
    assert "not all that concerns default/db-0 was kept; narrow the time with --since" in capsys.readouterr().out
    assert max(held) <= 2 * ROOM


def test_comparisons(long, scarce, tmp_path):
    """Two pods part where they part with room for all, and so do two logs."""
    other = tmp_path / "other.log"
    other.write_bytes(repeated(KUBELET.replace(b"NodeUnpublishVolume", b"NodeUnpublishVolum"), range(TIMES)))
    asked = [
        (named(UID, EARLY), named(UID, LATE), long),
        (long.paths[0], str(other), Options(year=YEAR)),
    ]
    whole = [compare(*words, print) for words in asked]
    held = scarce()
    assert [compare(*words, print) for words in asked] == whole
    assert is_bounded(held)


def test_events(long, scarce):
    """Each event is printed once, in order of time within a run, and that there are several runs is said."""

    def listed() -> tuple[list[str], list[str]]:
        told: list[str] = []
        done = list_events(long, lambda event: told.append(json.dumps(event_line(event))), lambda _source, _size: None)
        return told, [*map(str, done.problems), *done.notes]

    whole, none = listed()
    held = scarce()
    told, notes = listed()
    assert Counter(told) == Counter(whole)
    assert none == []
    assert "in batches" in notes[0]
    assert is_bounded(held)


def test_hidden_names(long, scarce):
    """The same names are hidden, and the hashes of names with them."""
    words = " ".join([named(UID, EARLY), named(PV, LATE), "default/db-0 worker-1 hostpath.csi.k8s.io"])
    change = mask_names(Inputs(long), "salt")[1].apply
    held = scarce()
    again_hidden = mask_names(Inputs(long), "salt")[1].apply
    assert again_hidden(words) == change(words)
    assert again_hidden(KUBELET.decode()) == change(KUBELET.decode())
    assert is_bounded(held)


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
def test_following(scarce, monkeypatch, tmp_path, half):
    """What is certain is told once, long after its events were let go too; over is what came to its end before that."""
    text = repeated(KUBELET[: len(KUBELET) // 2] if half else KUBELET, range(TIMES))
    whole = followed(tmp_path / "kubelet.log", text)
    monkeypatch.setattr(follow, "MAX_REPORTED", 2)
    held = scarce()
    changes = followed(tmp_path / "again.log", text)
    assert len(keys(whole, over=False)) >= TIMES
    assert keys(changes, over=False) == keys(whole, over=False)
    assert set(keys(changes, over=True)) <= set(keys(whole, over=True))
    assert max(held) <= 2 * ROOM
