"""Memory is bounded by what events take and not by their number: those of many things take more."""

import re

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.analysis.case import Case
from kvdiag.analysis.inventory import take_inventory
from kvdiag.analysis.retention import budget as limits
from kvdiag.analysis.retention import findings as judged
from kvdiag.history.correlate import history
from kvdiag.history.ingest.memory_estimate import LONG, Load, MemoryEstimate, event_size
from kvdiag.history.views.inventory import InventoryFilter
from kvdiag.model.options import Options
from kvdiag.model.values import SubjectKind

MANY = 1_000
ROOM = 1 << 19
ADDED = 'I0312 08:{minute:02}:{second:02}.{micro:06}    2201 kubelet.go:2130] "SyncLoop ADD" source="api" pods=["shop/web-{n}"]\n'
CLEANED = (
    'E0312 08:{minute:02}:{second:02}.{micro:06}    2201 kubelet_volumes.go:256] "Failed to remove orphaned pod dir" '
    'err="unlinkat: device or resource busy" podUID="{n:08x}-8d7b-4e6f-9a10-5b2c7d8e9f01"\n'
)


def lines(line: str, many: int, named: int) -> str:
    """Give many lines of so many things."""
    return "".join(
        line.format(minute=n // 600, second=n // 10 % 60, micro=n % 10 * 100_000, n=n % named) for n in range(many)
    )


@pytest.fixture
def log(tmp_path):
    """Give a function that writes a log, and gives the options for it."""

    def write(text: str) -> Options:
        path = tmp_path / "kubelet.log"
        path.write_text(text)
        return Options(paths=(str(path),), year=2024)

    return write


@pytest.fixture
def held(monkeypatch):
    """Give what is held after each block, with room for little."""
    loads: list[Load] = []
    check = limits.EventBudget.check

    def checked(self, done, *logs):
        check(self, done, *logs)
        loads.extend(one.load for one in logs)

    monkeypatch.setattr(limits, "MAX_BYTES", ROOM)
    monkeypatch.setattr(limits.EventBudget, "check", checked)
    return loads


@pytest.mark.parametrize(("named", "is_over"), [(MANY, True), (1, False)])
def test_events_of_many_things(log, named, is_over):
    """As many events take three times as much where each is of another pod."""
    weight = MemoryEstimate()
    options = log(lines(ADDED, MANY, named))
    events = Case(options).read().history.events
    for event in events:
        weight.add_event(event)
    assert weight.load.events == MANY
    assert (weight.load.size > 1.5 * sum(event_size(event.text) for event in events)) is is_over


def test_a_long_text_takes_more():
    """Of a long line the values are kept beside the text."""
    assert event_size("x" * LONG) - event_size("") > 2 * (event_size("x" * (LONG - 1)) - event_size(""))


def test_new_names_fill_the_room(log, held):
    """A log of many pods is let go though its events are few, and that is said."""
    report = analyze(log(lines(ADDED, MANY, MANY)))
    assert max(load.size for load in held) < 2 * ROOM
    assert min(load.events for load in held) < MANY // 4
    assert [note for note in report.notes if note.startswith("events that take more than ")]


def test_few_names_do_not(log, held):
    """As many events of one pod stay."""
    report = analyze(log(lines(ADDED, MANY // 8, 1)))
    assert report.notes == ()
    assert held[-1].events == MANY // 8


def test_all_at_the_same_time(log, held):
    """Events of one moment are let go together: none of them is newer than the others."""
    same = re.sub(r"08:\d\d:\d\d\.\d{6}", "08:00:00.000000", lines(ADDED, 4 * MANY, 4 * MANY))
    analyze(log(same))
    assert max(load.size for load in held) < 2 * ROOM


def test_each_pod_is_listed(log, held):
    """What is let go is listed as it was."""
    inventory = take_inventory(log(lines(CLEANED, MANY, MANY)), InventoryFilter(kind=SubjectKind.POD)).inventory
    assert held[-1].events < MANY
    assert len(inventory.rows) == MANY


def test_more_findings_than_fit(log, held, monkeypatch):
    """What was found is listed up to a number, and counted by rule beyond it."""
    options = log(lines(CLEANED, MANY, MANY))
    monkeypatch.setattr(judged, "MAX_FINDINGS", 200)
    report = analyze(options)
    notes = " ".join(report.notes)
    counted = sum(int(number.replace(",", "")) for number in re.findall(r"([\d,]+) of [a-z]", notes))
    assert "findings not listed" in notes
    assert len(report.findings) + counted >= MANY
    assert held[-1].events < MANY


def test_a_list_of_pods_links_none(log):
    """A line that names more pods than use one another does not link each with each."""
    many = history.MOST_LINKED + 1
    named = ",".join(f'"shop/web-{n}"' for n in range(many))
    options = log(ADDED.format(minute=0, second=0, micro=0, n=0).replace('"shop/web-0"', named))
    timelines = Case(options).read().history.timelines
    assert len([key for key in timelines if key[0] is SubjectKind.POD]) == many
    assert not any(timeline.uses for timeline in timelines.values())
