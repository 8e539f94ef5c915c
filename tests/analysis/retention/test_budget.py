"""Analysis in bounded memory finds what it would find with all of it."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.analysis.case import Case
from kvdiag.analysis.retention import budget as limits
from kvdiag.analysis.retention.findings import FindingRetention
from kvdiag.base.clock import HOUR, MINUTE, from_datetime
from kvdiag.history.ingest.log_reader import read_source
from kvdiag.inputs.scan import blocks
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.model.options import Options
from kvdiag.model.report import Report
from kvdiag.model.values import Role, Verdict
from tests.long import YEAR, again, repeated, thinned
from tests.wrappers import journal_short, klog_only, logs

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "sample-logs"
FEW = 340
LONG = ["containerd-killed", "hostpath-inline-republished"]


LOST = "hostpath-driver-lost-state"
KUBELET = thinned((SAMPLES / LOST / "kubelet.log").read_bytes(), 4, every=4)
POLLED = "sandbox-never-removed"  # thousands of repeats that are folded into one, and cut


def told(report: Report) -> list:
    """Give what was found, of what, how sure, how grave and when, whether it is over, and what explains it."""
    return sorted(
        (f.key, f.verdict, f.severity, f.begins, f.ends, f.healed or 0, f.role, f.explained_by or "", bool(f.evidence))
        for f in report.findings
    )


def counts(report: Report) -> dict[str, int]:
    return {finding.key: finding.count for finding in report.findings}


def options_of(case: str) -> Options:
    words = json.loads((SAMPLES / case / "expected.json").read_text("utf-8")).get("options", [])
    year = int(words[words.index("--year") + 1]) if "--year" in words else None
    return Options(paths=(str(SAMPLES / case),), year=year)


@cache
def whole_of(case: str) -> Report:
    """Give the report about a sample with room for all events."""
    assert limits.MAX_EVENTS > 50_000
    return analyze(options_of(case))


@pytest.mark.parametrize("case", [*LONG, POLLED])
def test_it_finds_the_same(monkeypatch, case):
    """With room for a fraction of the events, each incident gives the findings that it gives with room for all."""
    whole = whole_of(case)
    monkeypatch.setattr(limits, "MAX_EVENTS", FEW)
    report = analyze(options_of(case))
    assert told(report) == told(whole)
    assert all(0 < count <= counts(whole)[key] for key, count in counts(report).items())
    assert case == POLLED or counts(report) == counts(whole)
    assert any("dropped to limit memory; counts" in note for note in report.notes)
    assert not any("dropped to limit memory; counts" in note for note in whole.notes)


@pytest.mark.parametrize("room", [400, 600])
def test_an_incident_that_is_cut_in_two(monkeypatch, tmp_path, room):
    """It is over, and explained by what explains it, when what is read after the cut says so."""
    (tmp_path / "kubelet.log").write_bytes(repeated(KUBELET, range(8)))
    options = Options(paths=(str(tmp_path),), year=YEAR)
    whole = analyze(options)
    monkeypatch.setattr(limits, "MAX_EVENTS", room)
    assert told(analyze(options)) == told(whole)
    assert all(finding.healed for finding in whole.findings if finding.role is Role.CAUSE)


def holding(monkeypatch, most: int) -> list[int]:
    """Give room for so many events, and a list of how many are held after each block."""
    held: list[int] = []
    before = limits.EventBudget.check

    def check(self, done, log):
        before(self, done, log)
        held.append(log.size + sum(len(read.log.raw_events) for read in done))

    monkeypatch.setattr(limits, "MAX_EVENTS", most)
    monkeypatch.setattr(limits.EventBudget, "check", check)
    return held


def test_what_is_held_is_bounded(monkeypatch):
    """However long a log, what is kept of it stays near the limit."""
    held = holding(monkeypatch, FEW)
    analyze(options_of(POLLED))
    assert len(held) > 10
    assert max(held) <= 3 * FEW


def test_with_hardly_any_room(monkeypatch, thin):
    """What is found stays found, nothing else is, and what is certain is certain with room for all."""
    whole = {(f.key, f.verdict) for f in thin.report.findings}
    monkeypatch.setattr(limits, "MAX_EVENTS", 60)
    monkeypatch.setattr(blocks, "SIZE", blocks.SIZE // 8)  # a thinned log would else be one block
    few = {(f.key, f.verdict) for f in analyze(thin.options).findings}
    assert {one for one in few if one[1] is Verdict.CONFIRMED} <= whole
    assert {key for key, _ in few} == {key for key, _ in whole}


def test_nothing_of_the_time_that_was_asked_for(monkeypatch):
    """Events that were not asked for are let go, however many there are; that nothing was logged then is all that is said."""
    monkeypatch.setattr(limits, "MAX_EVENTS", 200)
    report = analyze(options_of("containerd-killed")._replace(since=4_000_000_000_000_000))
    assert (report.findings, report.notes) == ((), ())
    assert [problem.partition(": ")[2].partition(";")[0] for problem in report.problems] == [
        "nothing was logged in that time"
    ]


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
    monkeypatch.setattr(limits, "MAX_EVENTS", 150)
    report = analyze(options)
    assert whole.findings
    assert any("dropped to limit memory; counts" in note for note in report.notes)
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
    before, answers = FindingRetention.all, []

    def asked(self, findings):
        answers.extend(sorted((f.key, f.count) for f in before(self, findings)) for _ in range(2))
        return before(self, findings)

    monkeypatch.setattr(limits, "MAX_EVENTS", FEW)
    monkeypatch.setattr(FindingRetention, "all", asked)
    analyze(Options(paths=(str(path),), year=2024))
    assert answers[0] == answers[1]
    assert {count for key, count in answers[0] if key.startswith("unmount-device-busy:")} == {7}


EMPTY_FILE = """\
E0312 08:00:00.000000    2201 file.go:108] "Unable to process watch event" err="can't process config file \\"/etc/kubernetes/manifests/etcd.yaml\\": /etc/kubernetes/manifests/etcd.yaml: couldn't parse as pod(Object 'Kind' is missing in 'null'), please check config file"
I0312 08:00:00.010000    2201 kubelet.go:2407] "SyncLoop ADD" source="file" pods=["kube-system/etcd-node-a"]
"""
STATUS = (
    'I0312 {hour:02}:59:59.000000    2201 kubelet_node_status.go:736] "Recording event message for node" node="node-a" '
    'event="NodeHasSufficientMemory"\n'
)


def test_what_is_left_makes_nothing_new(monkeypatch, tmp_path):
    """The first events of what goes on are kept, as those of a node, without what followed; that makes no finding."""
    hours = (
        "".join(OTHERS.format(hour=hour, minute=n // 10, n=600 * hour + n) for n in range(600))
        + STATUS.format(hour=hour)
        for hour in range(9, 19)
    )
    (tmp_path / "kubelet.log").write_text(OTHERS.format(hour=7, minute=0, n=0) + EMPTY_FILE + "".join(hours))
    options = Options(paths=(str(tmp_path),), year=2024)
    assert analyze(options).findings == ()
    monkeypatch.setattr(limits, "MAX_EVENTS", FEW)
    report = analyze(options)
    assert report.findings == ()
    assert report.notes


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
    case = Case(Options())
    asked = case.budget(FindingRetention(case))
    for _ in range(50):
        reads.append(whole._replace(log=replace(whole.log, raw_events=Counted(whole.log.raw_events))))
        asked.check(reads)
    assert {read.log.raw_events.counts for read in reads} == {1}


def analyze_parts(folder: Path):
    """One log of a sample as it was read."""
    case = Case(Options(paths=(str(folder),)))
    patterns, source = case.patterns, next(case.inputs())
    return next(
        read_source(source, patterns.vocabulary, make_scanner(patterns.vocabulary.literals), [].append, lambda *_: None)
    )


NOON = from_datetime(datetime(YEAR, 11, 20, 12, tzinfo=UTC))
BEGINS, ENDS = NOON + 8 * HOUR + 30 * MINUTE, NOON + 8 * HOUR + 50 * MINUTE  # what happened lies between
WINDOWS = {"until": (None, ENDS), "since": (BEGINS, None), "both": (BEGINS, ENDS)}
COPIES = {"until": range(5), "since": range(-4, 1), "both": range(-2, 3)}


def as_written(text: bytes) -> dict[str, bytes]:
    """The log of one node."""
    return {"kubelet.log": text}


def newest_first(text: bytes) -> dict[str, bytes]:
    """As `journalctl -r` tells it."""
    return {"kubelet.log": b"".join(reversed(klog_only(text).splitlines(keepends=True)))}


def of_two_nodes(text: bytes) -> dict[str, bytes]:
    """Two journals: what happened on one node happened on another as well, to other pods."""
    one = b"".join(journal_short(line, LOST) + b"\n" for line in klog_only(text).splitlines())
    return {"one.log": one, "two.log": again(one, 1000, hours=0).replace(b"worker-1", b"worker-2")}


def in_another_zone(text: bytes) -> dict[str, bytes]:
    """A kubelet that writes local time and nowhere says which; a log that is read later shares ids with it."""
    local = re.sub(rb"No retries permitted until [^(]*", b"", again(text, 1, hours=8).replace(b"0 UTC", b"0"))
    return {"a-kubelet.log": again(local, -1, hours=0), "containerd.log": logs(LOST)["containerd.log"]}


@pytest.mark.parametrize("asked", WINDOWS)
@pytest.mark.parametrize(
    ("form", "room", "apart"),
    [(as_written, 700, 1), (newest_first, 2000, 1), (of_two_nodes, 1400, 1), (in_another_zone, 700, 48)],
)
def test_a_time_that_was_asked_for(monkeypatch, tmp_path, form, room, apart, asked):
    """Of a long log of which a part was asked for, only that part takes room, and it tells all that it tells alone."""
    for name, text in form(repeated(KUBELET, COPIES[asked], hours=apart)).items():
        (tmp_path / name).write_bytes(text)
    since, until = WINDOWS[asked]
    options = Options(paths=(str(tmp_path),), year=YEAR, since=since, until=until)
    whole = analyze(options)
    held = holding(monkeypatch, room)
    report = analyze(options)
    assert whole.findings
    assert (told(report), counts(report), report.notes) == (told(whole), counts(whole), ())
    assert report.inputs == whole.inputs
    assert max(held) <= room
    assert any(after < before for before, after in pairwise(held))


@pytest.mark.parametrize("asked", WINDOWS)
def test_what_was_listened_to(monkeypatch, tmp_path, asked):
    """Who spoke, when, how closely and with which restarts is known of the whole log, not of the time asked for alone."""
    said = [again(KUBELET, number).replace(b" 6175 ", b" %d " % (6175 + number)) for number in COPIES[asked]]
    flag = b'I1101 00:00:00.000001       1 flags.go:64] FLAG: --v="9"\n'
    (tmp_path / "node.log").write_bytes(flag + b"".join(said))
    since, until = WINDOWS[asked]
    options = Options(paths=(str(tmp_path),), year=YEAR, since=since, until=until)

    def heard() -> tuple:
        case = Case(options)
        told = case.read(FindingRetention(case))
        return told.history.coverage, told.readings

    whole = heard()
    held = holding(monkeypatch, 700)
    assert heard() == whole
    assert any(after < before for before, after in pairwise(held))
    assert whole[0][0].verbosity == 9
    assert len(whole[0][0].gaps) == len(COPIES[asked])


def test_who_mostly_speaks(monkeypatch, tmp_path):
    """A log is of the component that spoke most in all of it, not in the part that was asked for."""
    before = repeated(KUBELET, range(-9, 0))
    since = b"".join(again(logs(LOST)["containerd.log"], number) for number in range(20))
    (tmp_path / "node.log").write_bytes(before + since)
    options = Options(paths=(str(tmp_path),), year=YEAR, since=BEGINS)
    whole = analyze(options)
    held = holding(monkeypatch, 1600)
    assert analyze(options).inputs == whole.inputs
    assert whole.inputs[0].component == "kubelet"
    assert any(after < before for before, after in pairwise(held))


def test_a_zone_that_was_only_assumed(monkeypatch, tmp_path):
    """Where there is no room to wait for what tells the zone, the requested time may be another: that is said."""
    for name, text in in_another_zone(repeated(KUBELET, COPIES["both"], hours=48)).items():
        (tmp_path / name).write_bytes(text)
    options = Options(paths=(str(tmp_path),), year=YEAR, since=BEGINS, until=ENDS)
    monkeypatch.setattr(limits, "MAX_EVENTS", 200)
    assert analyze(options).notes == (limits.ASSUMED,)
    given = analyze(options._replace(zone=8 * HOUR))
    assert limits.ASSUMED not in given.notes
    assert given.findings
