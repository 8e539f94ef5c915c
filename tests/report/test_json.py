"""The JSON report keeps to its schema and to the order and the sums that it promises."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "kvdiag" / "report" / "report.schema.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)
SEVERITIES = ["info", "low", "medium", "high", "critical"]


def faults(report: dict) -> list[str]:
    """Give where and how a report breaks its schema."""
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(report)]


def test_schema():
    """The schema is one of JSON Schema 2020-12."""
    Draft202012Validator.check_schema(SCHEMA)


def test_samples_keep_to_the_schema(sample):
    """Every sample's report is valid."""
    assert faults(sample.report) == []


def test_report_about_nothing(kvdiag, tmp_path):
    """A report about inputs of which none could be read is valid too, and tells so."""
    (tmp_path / "empty.log").touch()
    done = kvdiag("analyze", "-o", "json", tmp_path / "empty.log", tmp_path / "missing.log")
    report = json.loads(done.stdout)
    assert faults(report) == []
    assert len(report["problems"]) == 2
    assert report["findings"] == []


def test_report_with_doubts(kvdiag, tmp_path):
    """A possible finding is valid and has doubts."""
    log = (ROOT / "sample-logs" / "hostpath-driver-lost-state" / "kubelet.log").read_text("utf-8").splitlines()
    busy = [line for line in log if "device or resource busy" in line]
    (tmp_path / "kubelet.log").write_text("\n".join(busy[:2]) + "\n", "utf-8")
    report = json.loads(kvdiag("analyze", "-o", "json", tmp_path).stdout)
    assert faults(report) == []
    possible = [finding for finding in report["findings"] if finding["verdict"] == "possible"]
    assert possible
    assert all(finding["doubts"] for finding in possible)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["schema"], "kvdiag.report/2"),
        (["findings", 0, "severity"], "terrible"),
        (["findings", 0, "begins"], "2026-11-20 20:39:21"),
        (["findings", 0, "evidence"], []),
        (["findings", 0, "unknown"], 1),
        (["inputs", 0, "lines"], -1),
    ],
)
def test_schema_is_strict(path, value, named_sample):
    """The schema refuses what a report must not be."""
    report = json.loads(json.dumps(named_sample("hostpath-driver-lost-state").report))
    place = report
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert faults(report)


def test_order(sample):
    """Causes come before symptoms, then the more severe, then the certain, then the earlier."""
    findings = sample.report["findings"]
    keys = [
        (f["role"] == "symptom", -SEVERITIES.index(f["severity"]), f["verdict"] == "possible", f["begins"])
        for f in findings
    ]
    assert keys == sorted(keys)


def test_keys(sample):
    """A finding's key is its own, and each explanation leads to a finding that says so."""
    findings = {finding["key"]: finding for finding in sample.report["findings"]}
    assert len(findings) == len(sample.report["findings"])
    for finding in findings.values():
        if finding["explained_by"]:
            assert finding["rule"] in findings[finding["explained_by"]]["explains"]


def test_times(sample):
    """Times are in order within a finding, and its evidence lies inside it or is shown as context."""
    for finding in sample.report["findings"]:
        assert finding["begins"] <= finding["ends"]
        times = [evidence["time"] for evidence in finding["evidence"]]
        assert times == sorted(times)


def test_sums(sample):
    """The summary agrees with what it sums up."""
    report = sample.report
    alarms = [one for one in report["findings"] if one["role"] == "cause" and one["severity"] != "info"]
    order = ["none", "info", "low", "medium", "high", "critical"]
    assert report["summary"] == {
        "failures": len({one["incident"] or one["key"] for one in alarms}),
        "worst": max((one["severity"] for one in alarms), key=order.index, default="none"),
        "findings": len(report["findings"]),
        "by_severity": dict(Counter(finding["severity"] for finding in report["findings"])),
        "unread_lines": sum(entry["unread"] for entry in report["inputs"]),
    }


def test_inputs(sample):
    """Each log is told of with as many lines as it has, and has no more records than lines."""
    for entry in sample.report["inputs"]:
        path = ROOT / entry["source"]
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        assert entry["lines"] == data.count(b"\n")
        assert entry["records"] + entry["unread"] <= entry["lines"]
        assert entry["begins"] <= entry["ends"]


def test_evidence_is_in_the_logs(sample):
    """The text of each piece of evidence stands in the named log at the named line."""
    texts: dict[str, list[str]] = {}
    for finding in sample.report["findings"]:
        for evidence in finding["evidence"]:
            path = ROOT / evidence["source"]
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            lines = texts.setdefault(evidence["source"], data.decode().split("\n"))
            assert evidence["text"].strip() in lines[evidence["line"] - 1]


def test_a_report_without_a_date(kvdiag):
    """Of lines without a time no moment can be named from which another log is wanted; the report is valid all the same."""
    line = b'"CreatePodSandbox for pod failed" err="failed to reserve sandbox name" pod="shop/web-0"\n'
    told = json.loads(kvdiag("analyze", "-o", "json", stdin=line).stdout)
    VALIDATOR.validate(told)
    assert [(need["component"], need["begins"], need["ends"]) for need in told["to_be_certain"]] == [
        ("kubelet", None, None)
    ]
