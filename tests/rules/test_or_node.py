"""What a rule says of lines that name no subject of its kind, and of a failure that may pass."""

from __future__ import annotations

import pytest

from kvdiag.analysis.case import Patterns, read_history
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options
from kvdiag.model.report import Finding
from kvdiag.model.values import SubjectKind
from kvdiag.rules.findings import find
from kvdiag.rules.rule_store import decode_store, encode_store
from kvdiag.rules.schema import read_rule

RULE = read_rule(
    """
id: KV2999
name: disk-gone
title: The disk is gone
heading: "The disk[[ of {volume}]] is gone"
severity: high
per: volume or node
events:
  failed: {kind: [volume.stage.failed, csi.call.failed], error: "*no such device*"}
  stuck: {kind: volume.stage.failed, error: "*no such device*", backoff: ["2m2s"]}
when: stuck or failed
alarm: [stuck]
says: "The disk[[ of {volume}]] is gone."
cause: It was pulled.
tests: []
""",
    "test.yaml",
)
CALL = "E0312 08:00:0{}.000000       1 server.go:108] GRPC error: rpc error: code = Internal desc = {}\n"
STAGE = (
    'E0312 08:00:05.000000    2201 nestedpendingoperations.go:348] Operation for "{{volumeName:kubernetes.io/csi/d^vol-1 '
    'podName: nodeName:}}" failed. No retries permitted until 2024-03-12 09:15:21.6 +0000 UTC m=+199.1 '
    '(durationBeforeRetry {}). Error: MountVolume.MountDevice failed for volume "pvc-1" (UniqueName: '
    '"kubernetes.io/csi/d^vol-1") pod "web-0" (UID: "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01") : no such device\n'
)


def found(log: str) -> list[tuple[SubjectKind, str, str]]:
    """Give subject and severity of each finding."""
    return [(f.subject.kind, f.subject.name, f.severity.label) for f in findings_of(log)]


def findings_of(log: str) -> list[Finding]:
    """Give each finding."""
    vocabulary = load_vocabulary(builtin_patterns() / "events")
    (rule,) = decode_store(encode_store([RULE]))
    history = read_history([TextInput("log", log.encode())], Patterns(vocabulary, (rule,)), Options(year=2024)).history
    return list(find((rule,), history, vocabulary.kinds))


def test_a_heading_names_only_what_a_line_names():
    """What stands in a sentence for a volume that no line names is no name."""
    logs = (CALL.format(0, "no such device"), STAGE.format("2m2s"))
    assert [one.title for log in logs for one in findings_of(log)] == ["The disk is gone", "The disk of pvc-1 is gone"]


@pytest.mark.parametrize(
    ("log", "findings"),
    [
        (CALL.format(0, "no such device"), [(SubjectKind.NODE, "this node", "info")]),
        (CALL.format(0, "no such device") + STAGE.format("2m2s"), [(SubjectKind.VOLUME, "pvc-1", "high")]),
        (STAGE.format("500ms"), [(SubjectKind.VOLUME, "pvc-1", "info")]),
        (CALL.format(0, "no such file"), []),
    ],
)
def test_the_node_stands_in(log, findings):
    """Lines that name no volume count for the node where none names one; without an alarm it is an information."""
    assert found(log) == findings
