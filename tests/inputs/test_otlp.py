"""OTLP's logs as JSON, as the OpenTelemetry Collector's file exporter writes them."""

from __future__ import annotations

import json

import pytest

from kvdiag.analysis.log_clocks import LogClocks
from kvdiag.analysis.parse import source_records
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.inputs.sniff import looks_like_log
from kvdiag.model.options import Options

KLOG = 'E1120 20:26:01.779765    6175 kubelet.go:2200] "Pod is terminated" pod="shop/web-0"'
JOURNAL = {"MESSAGE": KLOG, "_HOSTNAME": "worker-2", "SYSLOG_IDENTIFIER": "kubelet", "_PID": "6175"}


def value(of):
    if isinstance(of, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": value(one)} for key, one in of.items()]}}
    return {"stringValue": of}


def record(body, **attributes):
    told = [{"key": key.replace("_", "."), "value": value(one)} for key, one in attributes.items()]
    return {"timeUnixNano": "1795206361779765000", "severityText": "Info", "body": value(body), "attributes": told}


def batch(*records, host="worker-1"):
    resource = {"attributes": [{"key": "host.name", "value": value(host)}]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": {}, "logRecords": list(records)}]}]}


ONE = batch(record(KLOG, log_file_name="kubelet.log"), record("plain words", k8s_container_name="app"))
TWO = batch(record(JOURNAL), record(KLOG, log_file_path="/var/log/kubelet.log"), host="worker-3")


def parsed(text):
    """Give line, time, node, component and message of each record."""
    read = source_records(TextInput("otlp.json", text.encode()), pytest.fail, LogClocks(Options(paths=(), year=2026)))
    return [
        (one.origin.line, one.time and f"{one.time:%F %T.%f}", one.node, one.component, one.message) for one in read
    ]


def test_a_batch_a_line():
    """Each record has its own time, the host's name, its container or file, and what it says."""
    told = parsed(f"{json.dumps(ONE)}\n{json.dumps(TWO, separators=(',', ':'))}\n")
    assert told == [
        (1, "2026-11-20 20:26:01.779765", "worker-1", "kubelet", "Pod is terminated"),
        (1, "2026-11-20 20:26:01.779765", "worker-1", "app", "plain words"),
        (2, "2026-11-20 20:26:01.779765", "worker-2", "kubelet", "Pod is terminated"),
        (2, "2026-11-20 20:26:01.779765", "worker-3", "kubelet", "Pod is terminated"),
    ]


def test_a_batch_of_many_lines():
    """Made pretty, each record stands at the line of its body."""
    text = f"{json.dumps(ONE, indent=2)}\n{json.dumps(TWO, indent=2)}\n"
    lines = text.splitlines()
    told = parsed(text)
    assert [one[1:] for one in told] == [one[1:] for one in parsed(f"{json.dumps(ONE)}\n{json.dumps(TWO)}\n")]
    assert all('"body"' in lines[one[0] - 1] for one in told)
    assert len({one[0] for one in told}) == 4


@pytest.mark.parametrize(
    "text", ['{"resourceLogs":[', '{"resourceLogs":[1]}\n', '{"resourceLogs":[{"scopeLogs":7}]}\n']
)
def test_what_is_none(text):
    """What only begins like it stays lines."""
    assert [one[4] for one in parsed(text)] in ([], [text.strip()])


def test_it_is_found_in_a_folder():
    """A document of logs is worth reading though it is called .json."""
    assert looks_like_log("otel.json", json.dumps(ONE).encode())


def test_cut_anywhere():
    """Of a file that is cut the batches before the cut are read, whatever follows."""
    text = f"{json.dumps(ONE)}\n{json.dumps(TWO)}\n"
    for at in range(len(json.dumps(ONE)) + 1, len(text), 97):
        assert [one[4] for one in parsed(text[:at])][:2] == ["Pod is terminated", "plain words"]
