"""Lists of events as YAML: an event a line, each at the line of its message."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.inputs import yamldocument
from kvdiag.inputs.sniff import looks_like_log
from tests.conftest import run_kvdiag
from tests.rewriting import rewritten

LIST = b"""\
apiVersion: v1
items:
- apiVersion: v1
  count: 13
  involvedObject:
    kind: Pod
    name: web-0
    namespace: shop
  kind: Event
  message: 'MountVolume.MountDevice failed for volume "data" : rpc error: code = Aborted
    desc = An operation with the given Volume ID data already exists'
  reason: FailedMount
- apiVersion: v1
  count: 1
  involvedObject:
    kind: Pod
  message: |-
    Readiness probe failed:
    no answer
  reason: Unhealthy
kind: List
metadata:
  resourceVersion: ""
"""


def numbered(data):
    """Give the lines that an input is rewritten to, each with its number."""
    text, numbers = rewritten(data, yamldocument.detect, size=100)
    return list(zip(numbers, text.splitlines(), strict=True))


def test_events():
    """An event is one line of JSON, whatever form its message has; what is around the events is left out."""
    (first, mount), (second, probe) = [(number, json.loads(line)) for number, line in numbered(LIST)]
    assert (first, second) == (10, 17)
    assert mount["message"].endswith("code = Aborted desc = An operation with the given Volume ID data already exists")
    assert mount["involvedObject"] == {"kind": "Pod", "name": "web-0", "namespace": "shop"}
    assert (mount["count"], mount["reason"]) == (13, "FailedMount")
    assert probe["message"] == "Readiness probe failed:\nno answer"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: b"---\n" + text,
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"apiVersion: v1\nitems", b"apiVersion: v1\nkind: EventList\nitems", 1),
        lambda text: b"\n".join(
            b"  " + line if number > 1 and line[:1] in b"- " else line for number, line in enumerate(text.split(b"\n"))
        ),
        lambda text: text.replace(b"involvedObject", b"regarding").replace(b"message", b"note"),
        lambda text: text.rstrip(b"\n"),
    ],
)
def test_forms(change):
    """Other ends of lines, other indentation and the other group of the API are read as well."""
    text = change(LIST)
    assert looks_like_log("namespaces/shop/core/events.yaml", text)
    assert [json.loads(line)["reason"] for _number, line in numbered(text)] == ["FailedMount", "Unhealthy"]


@pytest.mark.parametrize(
    "fault",
    [b"  count: [1\n", b"  count: &a 1\n  more: *a\n", b"  count: !!python/name:os.system 1\n", b"  a: b: c\n"],
)
def test_a_broken_event(fault):
    """What is no plain YAML stays lines, and the others are read."""
    text = LIST.replace(b"  count: 13\n", fault)
    lines = numbered(text)
    assert (3, b"- apiVersion: v1") in lines
    assert json.loads(lines[-1][1])["reason"] == "Unhealthy"


def test_an_event_without_end():
    """An event that is too long stays lines, in bounded memory; so does what follows of it."""
    text = LIST.replace(b"    no answer\n", b"    no answer at all\n" * 30_000)
    made = numbered(text)
    assert json.loads(made[0][1])["reason"] == "FailedMount"
    assert max(len(line) for _number, line in made) < 1000
    assert made[-1] == (text.count(b"\n", 0, text.index(b"  reason: Unhealthy")) + 1, b"  reason: Unhealthy")


@pytest.mark.parametrize(
    "text", [LIST.replace(b"involvedObject", b"spec"), LIST.replace(b"items:", b"data:"), b"items:\n- a\n- b\n"]
)
def test_other_lists(text):
    """Lists of other things stay as they are."""
    assert yamldocument.detect(text) is None
    assert not looks_like_log("namespaces/shop/core/pods.yaml", text)


PLAIN = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\x85\u2028\u2029\ufeff")
)


@given(st.lists(st.tuples(PLAIN, st.integers(0, 99)), min_size=1, max_size=4), st.booleans())
def test_any_event(said, is_wide):
    """Whatever its words are, an event that was written as YAML is read as it was."""
    events = [
        {"count": count, "involvedObject": {"kind": "Pod"}, "message": f"{words}.", "reason": "Failed"}
        for words, count in said
    ]
    document = {"apiVersion": "v1", "items": events, "kind": "List"}
    text = yaml.safe_dump(document, allow_unicode=True, width=9000 if is_wide else 80).encode()
    assert [json.loads(line) for _number, line in numbered(text)] == events


def test_the_same_is_found(tmp_path):
    """A list of events as YAML and as JSON, in a folder that was named, is the same log."""
    document = LIST.replace(
        b"  reason: FailedMount\n", b'  lastTimestamp: "2026-11-20T20:41:00Z"\n  reason: FailedMount\n'
    )
    told = []
    for name, text in (
        ("events.yaml", document),
        ("events.json", json.dumps(yaml.safe_load(document), indent=4).encode()),
    ):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        (folder / name).write_bytes(text)
        report = json.loads(run_kvdiag("analyze", "-o", "json", folder).stdout)
        told.append([(one["rule"], one["subject"]["name"], one["begins"], one["count"]) for one in report["findings"]])
    assert told[0] == told[1] != []


POD = b"""\
apiVersion: v1
kind: Pod
metadata:
  annotations:
    note: "%s"
  name: web-0
  namespace: shop
spec:
  containers:
  - name: app
  nodeName: node-a
status:
  containerStatuses:
  - containerID: containerd://%s
    lastState:
      terminated:
        exitCode: 137
        finishedAt: "2024-03-12T08:00:00Z"
        reason: OOMKilled
    name: app
    restartCount: 4
    state:
      running:
        startedAt: "2024-03-12T08:00:02Z"
  phase: Running
""" % (b"x" * 300, b"3f2a" * 16)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: b"---\n" + text,
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.rstrip(b"\n"),
        lambda text: text + b"---\napiVersion: v1\nkind: Service\n",
    ],
)
def test_a_pod_alone(change):
    """The status of a pod that `kubectl get pod NAME -o yaml` prints is read; a document behind it stays lines."""
    text = change(POD)
    made = numbered(text)
    (number, killed) = next((number, one) for number, one in made if b"OOMKilled" in one)
    assert json.loads(killed)["involvedObject"] == {"kind": "Pod", "name": "web-0", "namespace": "shop"}
    assert number == text.count(b"\n", 0, text.index(b"  containerStatuses:")) + 1
    assert (b"kind: Service" in text) == (made[-1][1] == b"kind: Service")


def test_a_pod_alone_without_end():
    """A pod that is too long stays lines, in bounded memory."""
    text = POD + b"  note: and more\n" * 20_000
    made = numbered(text)
    assert [line.strip(b"- ") for _number, line in made] == [line.strip(b"- ") for line in text.splitlines()]
    assert [number for number, _line in made] == list(range(1, len(made) + 1))


def test_a_manifest():
    """A pod without a status is none that ran."""
    assert yamldocument.detect(POD[: POD.index(b"status:")]) is None


PART = b"""\
    lastState:
      terminated:
        exitCode: 128
        message: 'failed to create task: OCI runtime create failed: runc create failed:
          unable to apply caps: it''s not permitted'
        reason: StartError
    name: web
"""


def test_a_part_of_a_pod():
    """Its message is one line; other lines, and texts that are no status, are not changed."""
    out, numbers = rewritten(PART, yamldocument.detect)
    told = b"failed to create task: OCI runtime create failed: runc create failed: unable to apply caps: it's not permitted"
    assert out.splitlines()[3] == told
    assert numbers == [1, 2, 3, 4, 6, 7]
    block = PART.replace(b"message: 'failed", b"message: >-\n          failed").replace(
        b"it''s not permitted'", b"it's not permitted"
    )
    assert told in rewritten(block, yamldocument.detect)[0].splitlines()
    assert yamldocument.detect(PART.replace(b"reason: ", b"why: ").replace(b"exitCode: ", b"code: ")) is None
    assert yamldocument.detect(PART.replace(b"failed:\n          unable", b"failed: unable")) is None


@pytest.mark.parametrize(
    ("scalar", "lines"),
    [
        (
            '"failed to pull \\"shop:1\\": not\\\n  \\ found in\n  C:\\\\widgets\\nOutput: none\\n"',
            ['failed to pull "shop:1": not found in C:\\widgets Output: none'],
        ),
        ("'the widget''s store\n  is held'", ["the widget's store is held"]),
        ("|\n  panic: no widget\n  goroutine 1 [running]", None),
        (">-\n  the store\n  is held", ["the store is held"]),
    ],
    ids=["double quotes", "single quotes", "literal block", "folded block"],
)
def test_a_message_of_several_lines(scalar, lines):
    """It is read as YAML has it; of a literal block, which is output, each line is one already."""
    text = f"reason: Failed\nmessage: {scalar}\ntype: Warning\n"
    out = rewritten(text.encode(), yamldocument.detect)[0].decode().splitlines()
    assert out == (["reason: Failed", *lines, "type: Warning"] if lines else text.splitlines())
