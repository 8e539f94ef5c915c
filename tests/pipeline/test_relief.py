"""Analysis in bounded memory finds what it would find with all of it."""

import json
from pathlib import Path

import pytest

from kvdiag.model.report import Report
from kvdiag.model.values import Verdict
from kvdiag.pipeline import relief
from kvdiag.pipeline.analyze import analyze, inputs, know
from kvdiag.pipeline.options import Options
from kvdiag.pipeline.read import read_source
from kvdiag.scan.choose import scanner

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
    assert max(held) <= 2 * FEW


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


BUSY = (
    'E0312 {hour:02}:15:2{n}.101500    2201 nestedpendingoperations.go:348] Operation for "{{volumeName:{volume} podName:{uid} nodeName:}}" failed. '
    "No retries permitted until 2024-03-12 {hour:02}:15:2{n}.601439 +0000 UTC m=+199.1 (durationBeforeRetry 500ms). "
    'Error: UnmountVolume.TearDown failed for volume "data" (UniqueName: "{volume}") pod "{uid}" (UID: "{uid}") : '
    "kubernetes.io/csi: Unmounter.TearDownAt failed to clean mount dir [{path}]: kubernetes.io/csi: "
    "failed to remove dir [{path}]: remove {path}: device or resource busy\n"
)
UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
MOUNT = f"/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~csi/pvc-77aa11cc-0b1d-4f5e-8c9a-2d3e4f5a6b7c/mount"
OTHERS = (
    'I0312 {hour:02}:{minute:02}:00.000000    2201 kubelet.go:2130] "SyncLoop ADD" source="api" pods=["shop/web-{n}"]\n'
)


def test_asked_again(monkeypatch, tmp_path):
    """What befell a subject before it was let go counts once, however often one asks, as one does who follows a log."""
    busy = [
        "".join(BUSY.format(hour=h, n=n, volume="kubernetes.io/csi/d^v", uid=UID, path=MOUNT) for n in range(times))
        for h, times in ((8, 5), (20, 2))
    ]
    between = "".join(OTHERS.format(hour=9 + n // 600, minute=n // 10 % 60, n=n) for n in range(6000))  # of some blocks
    path = tmp_path / "kubelet.log"
    path.write_text(busy[0] + between + busy[1])
    before, answers = relief.Relief.all, []

    def asked(self, findings):
        answers.extend(sorted((f.key, f.count) for f in before(self, findings)) for _ in range(2))
        return before(self, findings)

    monkeypatch.setattr(relief, "MOST", FEW)
    monkeypatch.setattr(relief.Relief, "all", asked)
    analyze(Options(paths=(str(path),), year=2024))
    assert answers[0] == answers[1]
    assert {count for key, count in answers[0] if key.startswith("unmount-device-busy:")} == {7}


class Counted(list):
    """Events that know how often they were counted."""

    counts = 0

    def __len__(self):
        self.counts += 1
        return super().__len__()


def test_a_log_is_counted_once():
    """However many logs follow one, its events are not counted again."""
    whole = analyze_parts(SAMPLES / LONG[0])
    reads = []
    asked = relief.Relief(None)
    for _ in range(50):
        reads.append(whole._replace(testimony=whole.testimony._replace(sightings=Counted(whole.testimony.sightings))))
        asked.check(reads)
    assert {read.testimony.sightings.counts for read in reads} == {1}


def analyze_parts(folder: Path):
    """One log of a sample as it was read."""
    options = Options(paths=(str(folder),))
    knowledge = know(options)
    source = next(iter(inputs(options, [])))
    return next(
        read_source(source, knowledge.vocabulary, scanner(knowledge.vocabulary.literals), [].append, lambda *_: None)
    )
