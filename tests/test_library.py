"""`from kvdiag import analyze`: the report as values, for programs in Python."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kvdiag import analyze
from kvdiag.base.errors import PatternError, UsageError
from kvdiag.model.values import Severity, SubjectKind, Verdict

ROOT = Path(__file__).parents[1]


def log_of(path: Path) -> bytes:
    """Give the bytes of a sample's log."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def test_paths(named_sample):
    """Files and folders as paths or words give what the command finds in them."""
    sample = named_sample("hostpath-driver-lost-state")
    wanted = [(one["rule"], one["verdict"]) for one in sample.expected["findings"]]
    for report in (analyze(sample.folder), analyze(*map(str, sample.logs))):
        assert [(one.rule.name, str(one.verdict)) for one in report.findings] == wanted
    first = report.findings[0]
    assert (first.subject.kind, first.verdict) == (SubjectKind.VOLUME, Verdict.CONFIRMED)
    assert first.severity >= Severity.MEDIUM
    assert first.evidence[0].event.origin.source.endswith("csi-hostpath.log")


def test_a_text(named_sample):
    """A log in memory, as text or bytes, is read like a file; nothing else is."""
    data = log_of(named_sample("containerd-killed").logs[0])
    told = [[(one.rule.name, one.count) for one in analyze(text=text).findings] for text in (data, data.decode())]
    assert told[0] == told[1] != []
    assert [reading.source for reading in analyze(text="hello\n").inputs] == ["text"]


def test_what_the_logs_do_not_tell():
    """Year and versions can be said."""
    line = 'I1120 21:09:29.265106   17849 server.go:1] "Started kubelet"\n'
    report = analyze(text=line, year=2019, versions={"kubelet": "1.29.2"})
    assert [(one.component, one.version) for one in report.versions] == [("kubelet", "1.29.2")]
    assert report.inputs[0].clock.startswith("2019") or "2019" in report.inputs[0].clock


def test_faults(tmp_path):
    """Nothing given and a broken rule are errors, a missing file is a problem in the report."""
    with pytest.raises(UsageError, match="nothing to analyze"):
        analyze()
    (tmp_path / "broken.yaml").write_text("id: [")
    with pytest.raises(PatternError, match=r"broken\.yaml:2:1"):
        analyze(text="x\n", patterns=tmp_path)
    assert "none.log" in analyze(tmp_path / "none.log").problems[0]


def test_as_a_user_would(named_sample):
    """A program of three lines, in an interpreter that knows nothing but the package."""
    code = "import sys; from kvdiag import analyze; print([f.rule.name for f in analyze(sys.argv[1]).findings])"
    sample = named_sample("inline-volume-orphaned")
    done = subprocess.run(
        [sys.executable, "-c", code, sample.folder], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert json.loads(done.stdout.replace("'", '"')) == [one["rule"] for one in sample.expected["findings"]]
