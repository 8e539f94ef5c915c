"""`from kvdiag import analyze`: the report as values, for programs in Python."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from datetime import UTC, datetime
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
    """Nothing given, a path that does not exist, a broken rule and what is no time are errors."""
    with pytest.raises(UsageError, match="nothing to analyze"):
        analyze()
    (tmp_path / "broken.yaml").write_text("id: [")
    with pytest.raises(PatternError, match=r"broken\.yaml:2:1"):
        analyze(text="x\n", patterns=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none\.log"):
        analyze(tmp_path / "none.log")
    with pytest.raises(UsageError, match="since: 'soon' is not a time"):
        analyze(text="x\n", since="soon")
    with pytest.raises(UsageError, match="no zone"):
        analyze(text="x\n", since=datetime(2026, 1, 1))  # noqa: DTZ001 (that is the fault)


def test_a_part_of_the_logs(named_sample):
    """Times, a pod and a node narrow the report as the options of the command do."""
    folder = named_sample("hostpath-driver-lost-state").folder
    found = analyze(folder).findings
    assert {one.rule.name for one in analyze(folder, pod="default/db-0").findings} <= {one.rule.name for one in found}
    assert analyze(folder, node="worker-7").findings == ()
    late = datetime(2026, 11, 20, 20, 41, tzinfo=UTC)
    reports = [analyze(folder, since=late), analyze(folder, since="20:41"), analyze(folder, since=late.isoformat())]
    assert len({tuple((one.rule.name, one.count) for one in report.findings) for report in reports}) == 1
    assert reports[0].findings != found


def test_other_forms(named_sample):
    """A dict as -o json prints it, a short text, a table for a notebook; none has a secret or markup of a log."""
    sample = named_sample("hostpath-driver-lost-state")
    report = analyze(sample.folder)
    assert [one["rule"] for one in report.to_dict()["findings"]] == [one.rule.name for one in report.findings]
    assert repr(report) == "<kvdiag: 1 failure found, worst: medium; 4 logs>"
    assert report._repr_html_().count("<tr>") == 2
    hostile = report._replace(
        findings=tuple(
            one._replace(
                texts=one.texts.all._replace(
                    heading="<script> password=hunter2hunter2", row="<script> password=hunter2hunter2"
                )
            )
            for one in report.findings
        )
    )
    for text in (json.dumps(hostile.to_dict()), hostile._repr_html_(), repr(hostile)):
        assert "hunter2hunter2" not in text
    assert "<script>" not in hostile._repr_html_()


def test_a_table_of_pandas(named_sample):
    """One row for each finding, with its times as such."""
    pytest.importorskip("pandas")
    report = analyze(named_sample("hostpath-driver-lost-state").folder)
    frame = report.to_dataframe()
    assert list(frame["rule"]) == [one.rule.name for one in report.findings]
    assert str(frame["begins"].dtype).startswith("datetime64")


def test_as_a_user_would(named_sample):
    """A program of three lines, in an interpreter that knows nothing but the package."""
    code = "import sys; from kvdiag import analyze; print([f.rule.name for f in analyze(sys.argv[1]).findings])"
    sample = named_sample("inline-volume-orphaned")
    done = subprocess.run(
        [sys.executable, "-c", code, sample.folder], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert json.loads(done.stdout.replace("'", '"')) == [one["rule"] for one in sample.expected["findings"]]
