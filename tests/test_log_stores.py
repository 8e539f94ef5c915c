"""Exports of log stores, as docs/how-to/log-stores.md makes them: each gives what the log itself gives."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.model.options import Options

SAMPLES = Path(__file__).parents[1] / "sample-logs"
LOG = (SAMPLES / "hostpath-driver-lost-state/kubelet.log").read_text("utf-8").splitlines()
HEADER = re.compile(r"[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6})")
NODE = "worker-1"


def dated():
    """Give the lines with their times."""
    for line in LOG:
        if found := HEADER.match(line):
            *numbers, micros = map(int, found.groups())
            yield datetime(2026, *numbers, micros, tzinfo=UTC), line


def loki(lines):
    """As `logcli query --output=jsonl` prints."""
    labels = {"job": "systemd-journal", "unit": "kubelet.service", "nodename": NODE}
    rows = [{"labels": labels, "line": line, "timestamp": time.isoformat()} for time, line in lines]
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def cloudwatch(lines):
    """As `aws logs filter-log-events` prints what Fluent Bit sent: the message is an object itself."""
    events = [
        {
            "logStreamName": f"{NODE}-dataplane.systemd.kubelet.service",
            "timestamp": int(time.timestamp() * 1000),
            "message": json.dumps({"hostname": NODE, "systemd_unit": "kubelet.service", "message": line}),
            "ingestionTime": int(time.timestamp() * 1000) + 900,
            "eventId": str(number),
        }
        for number, (time, line) in enumerate(lines)
    ]
    return json.dumps({"events": events, "searchedLogStreams": []}, indent=4)


def google(lines):
    """As `gcloud logging read --format=json` prints."""
    entries = [
        {
            "insertId": f"a{number}",
            "jsonPayload": {"MESSAGE": line, "_HOSTNAME": NODE, "SYSLOG_IDENTIFIER": "kubelet", "_PID": "6175"},
            "logName": "projects/example/logs/kubelet",
            "resource": {"type": "k8s_node", "labels": {"cluster_name": "c", "node_name": NODE}},
            "timestamp": time.isoformat(),
        }
        for number, (time, line) in enumerate(lines)
    ]
    return json.dumps(entries, indent=2)


def elasticsearch(lines):
    """As a search in an index of Filebeat's journald input answers."""
    hits = [
        {
            "_index": "filebeat-2026.11.20",
            "_id": str(number),
            "_source": {
                "@timestamp": time.isoformat(),
                "message": line,
                "systemd": {"unit": "kubelet.service"},
                "host": {"hostname": NODE},
                "process": {"pid": 6175},
            },
            "sort": [int(time.timestamp() * 1000)],
        }
        for number, (time, line) in enumerate(lines)
    ]
    return json.dumps({"took": 3, "timed_out": False, "hits": {"total": {"value": len(hits)}, "hits": hits}})


@pytest.mark.parametrize("export", [loki, cloudwatch, google, elasticsearch])
def test_an_export_is_read_as_it_is(export, tmp_path):
    """The findings, their times and the node are those of the log."""
    (tmp_path / "kubelet.log").write_text("\n".join([*(line for _, line in dated()), ""]), "utf-8")
    (tmp_path / "export.json").write_text(export(dated()), "utf-8")
    plain, exported = (
        analyze(Options(paths=(str(tmp_path / name),), year=2026)) for name in ("kubelet.log", "export.json")
    )
    assert exported.findings
    assert [(one.rule.name, one.begins, one.ends, one.count) for one in exported.findings] == [
        (one.rule.name, one.begins, one.ends, one.count) for one in plain.findings
    ]
    assert {one.subject.ids["node"] for one in exported.findings} == {NODE}
    assert (exported.inputs[0].lines, exported.inputs[0].unread) == (plain.inputs[0].lines, 0)
