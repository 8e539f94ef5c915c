"""Extreme values in every field of every format: no command stops at them, and the lines around them are read."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.analysis.case import Case
from kvdiag.model.options import Options
from kvdiag.model.timeline import History
from tests.test_bad_input import GOOD, failure

ERROR = 'MountVolume.SetUp failed for volume \\"data\\" : stat /mnt: input/output error'
# One line of each format or carrier; each run of digits and each word in quotes is replaced in turn.
LINES = {
    "klog": f'E0312 08:14:20.000000    2201 nestedpendingoperations.go:348] Operation for "{{volumeName:kubernetes.io/csi/d^v podName:1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01 nodeName:}}" failed. No retries permitted until 2024-03-12 08:14:21.6 +0000 UTC m=+199.1 (durationBeforeRetry 500ms). Error: {ERROR}',
    "klog-json": '{"ts":1721015373850.919,"caller":"kubelet/kubelet.go:2168","msg":"SyncLoop ADD","v":2,"source":"api"}',
    "zap": '{"level":"error","ts":"2024-03-12T08:14:20.000Z","caller":"x/y.go:12","msg":"failed","error":"rpc error: code = Internal desc = x"}',
    "logrus": 'time="2024-03-12T08:14:20.123456789+08:00" level=error msg="StopPodSandbox for \\"0a1b2c3d4e5f\\" failed" error="context deadline exceeded"',
    "cri": '2024-03-12T08:14:20.123456789Z stderr F {"ts":1721015373.85,"level":"error","msg":"failed"}',
    "docker": '{"log":"E0312 08:14:20.000000 1 a.go:1] failed\\n","stream":"stderr","time":"2024-03-12T08:14:20.123456789Z"}',
    "journal": 'Mar 12 08:14:20 worker-1 kubelet[2201]: E0312 08:14:20.000000    2201 kubelet.go:2447] "failed" err="x"',
    "journal-full": 'Tue 2024-03-12 08:14:20 UTC worker-1 kubelet[2201]: E0312 08:14:20.000000    2201 a.go:1] "failed"',
    "journal-unix": '1721015374.256007 worker-1 kubelet[2201]: E0312 08:14:20.000000    2201 a.go:1] "failed"',
    "journal-json": '{"__REALTIME_TIMESTAMP":"1721015374256007","_HOSTNAME":"worker-1","SYSLOG_IDENTIFIER":"kubelet","_PID":"2201","MESSAGE":"E0312 08:14:20.000000 2201 a.go:1] failed"}',
    "syslog": '<30>1 2024-03-12T08:14:20.123Z worker-1 kubelet 2201 - - E0312 08:14:20.000000    2201 a.go:1] "failed"',
    "kernel": "Mar 12 08:14:20 worker-1 kernel: [  759.689531] Out of memory: Killed process 4242 (java) total-vm:1024kB, anon-rss:512kB",
    "dmesg": "[  759.689531] EXT4-fs error (device sdb1): ext4_find_entry:1455: inode #2: comm x: reading directory lblock 0",
    "kmsg": "3,3964,206764307,-;Out of memory: Killed process 4242 (java) total-vm:1024kB",
    "dmesg-date": "[Tue Mar 12 08:14:20 2024] Out of memory: Killed process 4242 (java) total-vm:1024kB",
    "dmesg-iso": "kern  :err   : 2024-03-12T08:14:20,287197+00:00 Out of memory: Killed process 4242 (java)",
    "events": '3m12s (x5 over 10m)  Warning  FailedMount  pod/web-0  MountVolume.SetUp failed for volume "data" : timed out',
    "events-wide": "default  2024-03-12T08:14:20Z  Warning  BackOff  pod/web-0  Back-off restarting failed container",
    "event-json": '{"apiVersion":"v1","kind":"Event","metadata":{"name":"a","namespace":"shop"},"involvedObject":{"kind":"Pod","namespace":"shop","name":"web-0"},"reason":"FailedMount","message":"failed","type":"Warning","count":5,"firstTimestamp":"2024-03-12T08:14:20Z","lastTimestamp":"2024-03-12T08:24:20Z"}',
    "grpc": 'I0312 08:14:20.000000       1 utils.go:81] GRPC call: /csi.v1.Node/NodeStageVolume request: {"volume_id":"v","volume_capability":{"AccessType":{"Mount":{"fs_type":"ext4"}},"access_mode":{"mode":1}}}',
    "pleg": 'I0312 08:14:20.000000    2201 generic.go:334] "Generic (PLEG): container finished" podID="1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01" containerID="0a1b" exitCode=137',
    "csv": '"1721015374256","E0312 08:14:20.000000 2201 a.go:1] failed"',
}
VALUES = (
    *("0", "-1", "00", "13", "61", "99", "9999", "10000", "99999999999", "253402300800", "253402300800000"),
    *("9" * 18, "9" * 19, "9" * 400, "9" * 5000, "1e308", "-1e308", "1e-400", "NaN", "Infinity", "null", "[]", "{}", '"x"'),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999-23:59", "9999-12-31T23:59:59Z", "0000-00-00T00:00:00Z"),
    *("٣", "²", "0x7f", "١٢", "\x00", "\ufffe", "\U0010ffff", "a" * 300, ""),
)  # fmt: skip
_FIELD = re.compile(r"\d+(?:[-:T.]\d+)*Z?|(?<=\")[^\"\\]{1,80}(?=\")")
_NUMBER = re.compile(r"\d+")
NUMBERS = ("0", "13", "61", "9999", "10000")
LAST = 'I0312 08:29:30.000000    2201 kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/other"]\n'


def variants(line: str) -> list[str]:
    """Give the line with each of its fields replaced by each value, and with each number within a field."""
    fields = [(found, value) for found in _FIELD.finditer(line) for value in VALUES]
    fields += [(found, value) for found in _NUMBER.finditer(line) for value in NUMBERS]
    return list(dict.fromkeys(line[: found.start()] + value + line[found.end() :] for found, value in fields))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Give a folder with a log of each format: all its variants, between lines as they should be."""
    folder = tmp_path_factory.mktemp("extremes")
    for name, line in LINES.items():
        text = "\n".join([line, *variants(line), line]) + "\n" + LAST
        (folder / f"{name}.log").write_bytes(text.encode("utf-8", "surrogatepass"))
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("analyze", "-o", "html"),
        ("parse",),
        ("events",),
        ("errors", "-o", "json"),
        ("redact", "--output-folder", "out"),
    ],
    ids=lambda command: command[0] + command[-1],
)
def test_no_value_stops_a_command(kvdiag, folder, tmp_path, command):
    """No value ends a command or costs a line, whatever field of whatever format it stands in."""
    words = [str(tmp_path / word) if word == "out" else word for word in command]
    done = kvdiag(*words, folder)
    assert "bug in kvdiag" not in done.stdout + done.stderr
    assert done.returncode in {0, 1, 3}


@pytest.mark.parametrize("name", LINES)
def test_the_lines_around_are_read(folder, name):
    """The lines before and after the odd ones say what they say alone."""
    events = [event for event in history_of(folder / f"{name}.log").events if "shop/other" in str(event.refs)]
    assert len(events) == 1


class _Fault(Exception):  # noqa: N818 (what nobody expects has any name)
    pass


def history_of(*paths: Path) -> History:
    """Read logs as one history."""
    return Case(Options(paths=tuple(map(str, paths)), year=2024)).read().history


@pytest.mark.parametrize(
    ("place", "lost"),
    [
        ("kvdiag.events.hit_lines.HitLines.read", "line 2 is skipped"),
        ("kvdiag.analysis.error_lines.lines.ErrorLines._read", "line 2 is skipped"),
        ("kvdiag.history.ingest.survey.Survey.add", "the rest of the input is skipped"),
    ],
)
def test_a_fault_of_kvdiag_costs_a_line_or_an_input(monkeypatch, tmp_path, place, lost):
    """An exception that nobody expected is reported with its place; the other lines and inputs are analyzed."""
    owner, _, method = place.rpartition(".")
    module, _, name = owner.rpartition(".")
    cls = getattr(import_module(module), name)
    reads = getattr(cls, method)

    def read(self, *given):
        if b"boom" in getattr(given[0], "data", given[0]):
            raise _Fault
        return reads(self, *given)

    monkeypatch.setattr(cls, method, read)
    broken, whole = tmp_path / "broken.log", tmp_path / "whole.log"
    lines = [GOOD.splitlines(keepends=True)[0], failure(15, volume="boom"), failure(16)]
    broken.write_text("".join(lines))
    whole.write_text("".join(failure(minute, volume="other") for minute in range(14, 19)))
    report = analyze(Options(paths=(str(broken), str(whole)), year=2024))
    said = [str(problem) for problem in report.problems]
    assert [lost in one and "_Fault" in one and str(broken) in one for one in said] == [True]
    assert str(whole) in {one.event.origin.source for finding in report.findings for one in finding.evidence}


def test_the_last_resort():
    """What nobody caught is one line and exit 3, never a traceback, and never the exit that means findings."""
    program = "from kvdiag.cli.main import guarded\nguarded(lambda: 1 / 0)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    said = "kvdiag: unexpected ZeroDivisionError"
    assert (done.returncode, done.stdout, done.stderr[: len(said)], done.stderr.count("\n")) == (3, "", said, 1)
