"""A long log is read in stretches, by one process or several, and that changes nothing."""

from __future__ import annotations

import gzip
import os
import signal

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.analysis.error_lines.error_index import ErrorIndex
from kvdiag.base.errors import InputError
from kvdiag.events.line_texts import LineTexts
from kvdiag.events.packed_events import Events, pack, unpack
from kvdiag.explain.benign import known_benign
from kvdiag.history.ingest import input_reader
from kvdiag.history.ingest.input_reader import InputReader
from kvdiag.history.ingest.log_reader import LineReaders
from kvdiag.history.ingest.stretches import stretches
from kvdiag.inputs.paths import sources
from kvdiag.model.options import Options
from tests.patterns import known
from tests.wrappers import SAMPLES

WHOLE = 1 << 40
NAMES = sorted({path.parent.name for path in SAMPLES.glob("*/*.log*")})


def read(paths, size, jobs=1):
    """Give what was read of the logs, the error lines in them, the problems and the bytes of the progress."""
    problems, progress, index = [], [], ErrorIndex(known_benign())
    inputs = sources([str(path) for path in paths], problems.append)
    readers = LineReaders(*known(), index)
    reader = InputReader(inputs, readers, problems.append, lambda _name, size: progress.append(size))
    return list(reader.reads(jobs, size)), index, problems, sum(progress)


def events_of(one):
    """Give all that is known of the events of a log."""
    return [
        (event.match.entry, *event.match.meaning, one.log.texts[event.text_at], *event[:1], event.line, *event[4:])
        for event in one.log.raw_events
    ]


def error_lines_of(index, source):
    """Give the columns of the error lines of a log, and their groups."""
    columns = index._logs[source].part()
    groups = [(group.key, group.line, group.sample, tuple(group.subjects)) for group in columns.groups]
    return groups, [column for column in columns if column is not columns.groups]


def assert_the_same(paths, size, jobs=1):
    """Reading in stretches gives what reading as a whole does."""
    whole, errors, _, read_bytes = read(paths, WHOLE)
    parted, parted_errors, problems, parted_bytes = read(paths, size, jobs)
    assert problems == []
    assert parted_bytes >= read_bytes  # more if a log is read again as a whole
    assert [events_of(one) for one in parted] == [events_of(one) for one in whole]
    events = {"raw_events": (), "texts": ()}
    for one, other in zip(parted, whole, strict=True):
        assert one.log.__dict__ | events == other.log.__dict__ | events
        assert (one.recognised, one.facts) == (other.recognised, other.facts)
        assert one.survey.lines == other.survey.lines
        assert error_lines_of(parted_errors, one.log.source) == error_lines_of(errors, one.log.source)


@pytest.fixture
def unpacked(tmp_path):
    """Write the logs of a sample without compression."""

    def write(sample):
        for path in (SAMPLES / sample).glob("*.log*"):
            data = path.read_bytes()
            text = gzip.decompress(data) if path.suffix == ".gz" else data
            (tmp_path / path.name.removesuffix(".gz")).write_bytes(text)
        return sorted(tmp_path.glob("*.log"))

    return write


@pytest.mark.parametrize("folder", NAMES)
def test_samples_in_stretches(folder, unpacked):
    """Wherever the cuts are."""
    paths = unpacked(folder)
    assert_the_same(paths, 20_000)
    for path in paths:
        ends = [source.ends for source in stretches(next(sources([str(path)], [].append)), 20_000)]
        data = path.read_bytes()
        assert ends[-1] is None
        assert all(data[end - 1 : end] == b"\n" for end in ends[:-1])
        assert ends[:-1] == sorted(set(ends[:-1]))


def test_processes_read_the_same(unpacked, monkeypatch):
    """Two processes read a folder: long logs in stretches, short ones whole."""
    monkeypatch.setattr(input_reader, "FEWEST_BYTES", 0)
    assert_the_same(unpacked("hostpath-driver-lost-state"), 50_000, jobs=2)


def test_packed_events(unpacked):
    """What goes to another process comes back as it was, some lines further down."""
    vocabulary, _ = known()
    reads, *_ = read(unpacked("hostpath-driver-lost-state"), WHOLE)
    for one in reads:
        texts = LineTexts()
        texts.add(b"a line of the stretch before")
        packed = pack(Events(one.log.raw_events, one.log.texts), vocabulary)
        events, _, lines, polls = unpack(packed, vocabulary, 1_000, texts)
        shifted = [event._replace(line=event.line + 1_000) for event in one.log.raw_events]
        again = one._replace(log=one.log.__class__(**one.log.__dict__ | {"raw_events": events, "texts": texts}))
        before = one._replace(log=one.log.__class__(**one.log.__dict__ | {"raw_events": shifted}))
        assert events_of(again) == events_of(before)
        assert (lines, polls) == ([], [])


LINE = (
    'I0715 03:{minute:02}:{second:02}.850919    1432 kubelet.go:2168] "SyncLoop ADD" source="api" pods=["a/web-{n}"]\n'
)
FULL = "x" * 900


def klog(count, start=0):
    """Give lines of one second each."""
    return [LINE.format(minute=n // 60, second=n % 60, n=n) for n in range(start, start + count)]


def log(tmp_path, lines, name="kubelet.log"):
    """Write a log."""
    path = tmp_path / name
    path.write_text("".join(lines))
    return path


def parted(path, size=10_000):
    """Return the number of stretches of a log."""
    return len(stretches(next(sources([str(path)], [].append)), size))


@pytest.mark.parametrize(
    "middle",
    [
        ["I0715 03:05:01.000000    1432 a.go:1] -----BEGIN RSA PRIVATE KEY-----\n"]
        + [f"I0715 03:05:01.{n:06}    1432 a.go:1] MIIEowIBAAKCAQEA{n:06}aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abcdefAB\n" for n in range(200)]
        + ["I0715 03:05:01.000999    1432 a.go:1] -----END RSA PRIVATE KEY-----\n"],
        [f"2026-07-15T03:05:{n % 60:02}.0Z stderr {'F' if n == 190 else 'P'} {FULL}\n" for n in range(191)],
        klog(200, 10),
        ["I0715 03:05:01.000000    1432 a.go:1] &quot;SyncLoop ADD&quot; source=&quot;api&quot;\n"] * 3,
    ],
    ids=["a private key", "a line in parts", "time goes back", "a repair"],
)  # fmt: skip
def test_what_cannot_be_read_in_stretches(middle, tmp_path):
    """What goes on across a cut is read as a whole."""
    path = log(tmp_path, [*klog(290), *middle, *klog(300, 310)])
    assert parted(path) > 1
    assert_the_same([path], 10_000)


def test_a_poll_goes_on(tmp_path):
    """It is one event, whatever is between its lines."""
    poll = (
        "E0715 03:{minute:02}:{second:02}.500000    1432 kubelet.go:2916] "
        '"Container runtime network not ready" networkReady="NetworkReady=false reason:NetworkPluginNotReady '
        'message:Network plugin returns error: cni plugin not initialized"\n'
    )
    lines = [line for n, line in enumerate(klog(600)) for line in (line, poll.format(minute=n // 60, second=n % 60))]
    path = log(tmp_path, lines)
    assert parted(path) > 5
    assert_the_same([path], 10_000)
    (one,) = read([path], 10_000)[0]
    assert [event.more[0] for event in one.log.raw_events if event.more] == [600, 600]


def test_a_copy_at_the_cut(tmp_path):
    """A line that stands twice around a cut is one event."""
    lines = klog(300)
    path = log(tmp_path, lines)
    second = stretches(next(sources([str(path)], [].append)), 10_000)[1].begins
    at = path.read_text()[:second].count("\n")
    path = log(tmp_path, [*lines[:at], lines[at - 1], *lines[at:]])
    assert_the_same([path], 10_000)
    (one,) = read([path], 10_000)[0]
    assert len(one.log.raw_events) == 300


def test_equal_rows_around_the_cut(tmp_path):
    """Rows of a table of events in the same second are different events."""
    row = (
        "2026-07-15T03:{minute:02}:{second:02}Z   Warning   BackOff   pod/web   Back-off restarting failed container\n"
    )
    rows = [row.format(minute=n // 120, second=n // 2 % 60) for n in range(600)]
    path = log(tmp_path, ["LAST SEEN   TYPE   REASON   OBJECT   MESSAGE\n", *rows], "events.txt")
    assert parted(path, 5_000) > 5
    assert_the_same([path], 5_000)


def test_an_error_without_a_time(tmp_path):
    """It has the time of the error above it, which may be in an earlier stretch."""
    error = "E" + klog(1)[0][1:].replace('"SyncLoop ADD"', '"Failed"')
    crash = ["panic: oh no\n", "fatal error: all goroutines are asleep - deadlock!\n"]
    path = log(tmp_path, [error, *klog(280), *crash, *klog(280, 280), *crash, *klog(40, 560)])
    assert parted(path) > 3
    assert_the_same([path], 10_000)


def test_calls_without_a_time(tmp_path, monkeypatch):
    """They have the numbers of their lines instead, also if another process reads them."""
    monkeypatch.setattr(input_reader, "FEWEST_BYTES", 0)
    calls = (
        'level=info msg="GRPC call: /csi.v1.Node/NodePublishVolume"\n'
        'level=info msg="GRPC request: {{\\"volume_id\\":\\"v{n}\\",\\"target_path\\":\\"/a\\"}}"\n'
        'level=error msg="GRPC error: rpc error: code = Internal desc = no"\n'
    )
    path = log(tmp_path, [calls.format(n=n) for n in range(200)], "csi.log")
    assert parted(path) > 3
    assert_the_same([path], 10_000, jobs=2)


def test_a_call_across_the_cut(tmp_path):
    """Its answer is in the next stretch."""
    call = "I0715 03:04:59.000000       1 server.go:101] GRPC call: /csi.v1.Node/NodeUnpublishVolume\n"
    request = 'I0715 03:04:59.000001       1 server.go:105] GRPC request: {"target_path":"/a","volume_id":"v"}\n'
    answer = "I0715 03:04:59.900000       1 server.go:114] GRPC response: {}\n"
    other = [f"I0715 03:04:59.{n + 2:06}       1 other.go:1] {FULL}\n" for n in range(60)]
    path = log(tmp_path, [call, request, *other, answer], "csi.log")
    assert parted(path) > 3
    (one,) = read([path], 10_000)[0]
    assert [event.match.kind for event in one.log.raw_events] == [
        "csi.nodeunpublish.called",
        "csi.nodeunpublish.succeeded",
    ]
    assert_the_same([path], 10_000)


def test_a_killed_process_costs_nothing(tmp_path, monkeypatch):
    """What it was to read is read here."""
    path = log(tmp_path, klog(3_000))
    ends = InputReader._read_whole
    monkeypatch.setattr(input_reader, "FEWEST_BYTES", 0)
    me = os.getpid()

    def deadly(*arguments):
        if os.getpid() != me:
            os.kill(os.getpid(), signal.SIGKILL)
        return read_stretch(*arguments)

    read_stretch = input_reader.read_stretch
    monkeypatch.setattr(input_reader, "read_stretch", deadly)
    assert_the_same([path], 30_000, jobs=2)
    assert ends is InputReader._read_whole


def test_problems_of_another_process(tmp_path, monkeypatch):
    """They are reported with the name of their input."""
    monkeypatch.setattr(input_reader, "FEWEST_BYTES", 0)
    good, bad = log(tmp_path, klog(3)), tmp_path / "bad.log.gz"
    bad.write_bytes(gzip.compress(b"".join(line.encode() for line in klog(3_000)))[:-500])
    reads, _, problems, _ = read([good, bad], WHOLE, jobs=2)
    assert [one.log.source for one in reads] == [str(good), str(bad)]
    assert len(problems) == 1
    assert isinstance(problems[0], InputError)
    assert str(problems[0]).startswith(f"{bad}: ")


def with_texts(finding):
    """Give a finding whose evidence has its lines itself, instead of their places in what was read."""
    events = [one.event._replace(texts=(one.event.logged,), text_at=0) for one in finding.evidence]
    evidence = [one._replace(event=event) for one, event in zip(finding.evidence, events, strict=True)]
    return finding._replace(evidence=evidence)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_report_does_not_depend_on_processes(jobs, monkeypatch, unpacked):
    """Findings, errors and readings are those of one process that reads each log as a whole."""
    paths = tuple(map(str, unpacked("containerd-killed")))
    monkeypatch.setattr(input_reader, "FEWEST_BYTES", 0)
    whole = analyze(Options(paths=paths))
    monkeypatch.setattr("kvdiag.analysis.case.SIZE", 100_000)
    report = analyze(Options(paths=paths, jobs=jobs))
    assert list(map(with_texts, report.findings)) == list(map(with_texts, whole.findings))
    assert report.errors == whole.errors
    assert [one._replace(records=0, unread=0, sampled=True) for one in report.inputs] == [
        one._replace(records=0, unread=0, sampled=True) for one in whole.inputs
    ]


def _cut(path):
    os.truncate(path, path.read_bytes().find(b"\n", 30_000) + 1)


def _replace(path):
    other = path.with_name("other")
    other.write_text("".join(klog(2_000, 1_000)))
    other.replace(path)


def _remove(path):
    path.unlink()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_cut, "bytes while it was read; lines are missing"),
        (_replace, "another file took its name while it was read; lines are missing"),
        (_remove, "cannot be read: no such file or directory"),
    ],
)
def test_a_file_that_changes(change, problem, tmp_path, monkeypatch):
    """What was read before is kept, and the problem is reported once."""
    path, add = log(tmp_path, klog(1_000)), InputReader._add_stretch
    changed = []

    def changing(reader, source, part):
        if not changed:
            changed.append(change(path))
        return add(reader, source, part)

    monkeypatch.setattr(InputReader, "_add_stretch", changing)
    (one,), _, problems, _ = read([path], 10_000)
    assert [event.line for event in one.log.raw_events] == list(range(1, one.log.lines + 1))
    assert 0 < one.log.lines < 1_000
    assert one.log.last == one.log.raw_events[-1].stamp
    assert len(problems) == 1
    assert str(problems[0]).startswith(f"{path}: ")
    assert str(problems[0]).endswith(problem)
