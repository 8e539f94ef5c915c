"""Analysis in bounded memory finds what it would find with all of it."""

import json
from pathlib import Path

import pytest

from kvdiag.model.report import Report
from kvdiag.model.values import Verdict
from kvdiag.pipeline import relief
from kvdiag.pipeline.analyze import analyze
from kvdiag.pipeline.options import Options

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample-logs"
FEW = 300
LONG = ["containerd-killed", "hostpath-inline-republished"]


POLLED = "sandbox-never-removed"  # thousands of repeats that are folded into one, and cut


def told(report: Report) -> list:
    """Give what was found, of what, how sure and when, and what explains it."""
    return sorted(
        (f.key, f.verdict, f.begins, f.ends, f.role, f.explained_by or "", len(f.evidence) > 0) for f in report.findings
    )


def counts(report: Report) -> dict[str, int]:
    return {finding.key: finding.count for finding in report.findings}


def options_of(case: str) -> Options:
    words = json.loads((SAMPLES / case / "expected.json").read_text("utf-8")).get("options", [])
    year = int(words[words.index("--year") + 1]) if "--year" in words else None
    return Options(paths=(str(SAMPLES / case),), year=year)


@pytest.mark.parametrize("case", [*LONG, POLLED])
def test_it_finds_the_same(monkeypatch, case):
    """With room for a fraction of the events, each incident gives the findings that it gives with room for all."""
    whole = analyze(options_of(case))
    monkeypatch.setattr(relief, "MOST", FEW)
    report = analyze(options_of(case))
    assert told(report) == told(whole)
    assert all(0 < count <= counts(whole)[key] for key, count in counts(report).items())
    assert case == POLLED or counts(report) == counts(whole)
    assert any("events: what ended before" in note for note in report.notes)
    assert not any("events: what ended before" in note for note in whole.notes)


def test_what_is_held_is_bounded(monkeypatch):
    """However long a log, what is kept of it stays near the limit."""
    held = []
    before = relief.Relief.check

    def check(self, done, log):
        before(self, done, log)
        held.append(log.size + sum(len(read.testimony.sightings) for read in done))

    monkeypatch.setattr(relief, "MOST", FEW)
    monkeypatch.setattr(relief.Relief, "check", check)
    analyze(options_of(POLLED))
    assert len(held) > 20
    assert max(held) <= 3 * FEW


@pytest.mark.parametrize("case", [path.name for path in sorted(SAMPLES.iterdir())])
def test_with_hardly_any_room(monkeypatch, case):
    """What is found stays found, nothing else is, and what is certain is certain with room for all."""
    whole = {(f.key, f.verdict) for f in analyze(options_of(case)).findings}
    monkeypatch.setattr(relief, "MOST", 60)
    few = {(f.key, f.verdict) for f in analyze(options_of(case)).findings}
    assert {one for one in few if one[1] is Verdict.CONFIRMED} <= whole
    assert {key for key, _ in few} == {key for key, _ in whole}


def test_nothing_of_the_time_that_was_asked_for(monkeypatch):
    """Events that were not asked for are let go without a word, however many there are."""
    monkeypatch.setattr(relief, "MOST", 200)
    report = analyze(options_of("containerd-killed")._replace(since=4_000_000_000_000_000))
    assert (report.findings, report.notes, report.problems) == ((), (), ())


def test_a_journal_of_many_lines_an_entry(monkeypatch, tmp_path):
    """Which events are kept is told by the lines of the input, also where several of them are one entry."""
    entry = (
        "__CURSOR=x\n__REALTIME_TIMESTAMP={0}\n_HOSTNAME=worker-1\nSYSLOG_IDENTIFIER=kubelet\n_PID=7\nMESSAGE={1}\n\n"
    )
    lines = (SAMPLES / "hostpath-driver-lost-state/kubelet.log").read_text("utf-8").splitlines()
    told_as = "".join(entry.format(1_795_207_100_000_000 + n, line) for n, line in enumerate(lines))
    (tmp_path / "kubelet.export").write_text(told_as, "utf-8")
    options = Options(paths=(str(tmp_path / "kubelet.export"),), year=2026)
    whole = analyze(options)
    monkeypatch.setattr(relief, "MOST", 150)
    report = analyze(options)
    assert whole.findings
    assert any("events: what ended before" in note for note in report.notes)
    assert told(report) == told(whole)
