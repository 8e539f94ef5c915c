"""Calls without interest are left out of what is read, and that changes nothing."""

from __future__ import annotations

import gzip

import pytest

from kvdiag.events.rpc_reader import RpcReader
from kvdiag.history.ingest.log_reader import TextInput, read_source
from tests.patterns import known
from tests.wrappers import SAMPLES

HEAD = "I0715 03:{at:02}:00.{n:06}    {pid} server.go:{line}] "
RESPONSE = '{"capabilities":[{"rpc":{"type":"GET_VOLUME_STATS"}}]}'


def lines(*parts, at=1, pid=7063, request="{}", response=RESPONSE, method="NodeGetCapabilities"):
    """Give the lines of a call."""
    text = {
        "call": f"GRPC call: /csi.v1.Node/{method}",
        "request": f"GRPC request: {request}",
        "response": f"GRPC response: {response}",
        "error": "GRPC error: rpc error: code = Internal desc = no",
    }
    return [HEAD.format(at=at, n=n, pid=pid, line=100 + n) + text[part] + "\n" for n, part in enumerate(parts)]


def read(data):
    """Give the events of a log, and how many lines were recognized."""
    (one,) = read_source(TextInput("csi.log", data), *known(), [].append, lambda _name, _size: None)
    events = [
        (*event[:1], event.match.kind, *event.match.meaning, event.line, one.log.texts[event.text_at], *event[4:])
        for event in one.log.raw_events
    ]
    return events, one.recognised


def left_out(data, monkeypatch):
    """Return how many lines were left out, and check that what is read is the same without that."""
    shortcut, counts = RpcReader.without_idle, [0]

    def counted(reader, hits, front):
        kept, count = shortcut(reader, hits, front)
        counts[0] += count
        return kept, count

    with monkeypatch.context() as patched:
        patched.setattr(RpcReader, "without_idle", lambda _reader, hits, _front: (hits, 0))
        expected = read(data)
    with monkeypatch.context() as patched:
        patched.setattr(RpcReader, "without_idle", counted)
        assert read(data) == expected
    return counts[0]


WHOLE = ("call", "request", "response")
OTHER = lines(
    "call", "request", "response", at=9, method="NodeUnpublishVolume", request='{"target_path":"/a","volume_id":"v"}'
)


def log(*calls):
    """Give a log that is longer than a block and begins with calls from which others are known."""
    filler = [HEAD.format(at=2, n=0, pid=7063, line=1) + "x" * 1000 + "\n"] * 300
    return "".join(
        [*lines(*WHOLE), *lines(*WHOLE), *OTHER, *filler, *(line for call in calls for line in call)]
    ).encode()


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ([lines(*WHOLE, at=3), lines(*WHOLE, at=3), OTHER], 6),
        ([lines(*WHOLE, at=3), lines(*WHOLE, at=4), lines(*WHOLE, at=5)], 6),
        ([lines(*WHOLE, at=3), lines("error", at=3), OTHER], 0),
        ([lines("call", "request", "error", at=3), OTHER], 0),
        ([lines(*WHOLE, at=3, pid=9999), OTHER], 0),
        ([lines(*WHOLE, at=3, response="{}"), OTHER], 0),
        ([lines(*WHOLE, at=3, request='{"volume_id":"v"}'), OTHER], 0),
        ([lines("call", at=3), lines("call", pid=9999, at=3), lines("request", "response", at=3), OTHER], 0),
        ([lines("call", "request", at=3), ["nothing\n"], lines("response", at=3), OTHER], 0),
    ],
    ids=[
        *("twice", "in other minutes", "an error below", "an error instead", "another process", "another response"),
        *("another request", "interleaved", "a line between"),
    ],
)  # fmt: skip
def test_which_calls(calls, count, monkeypatch):
    """Those whose lines stand together, as they were met, above another call of their process."""
    assert left_out(log(*calls), monkeypatch) == count


@pytest.mark.parametrize(
    "path", sorted(SAMPLES.glob("*/csi*.log*")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_samples(path, monkeypatch):
    """No event of a driver's or sidecar's log changes."""
    data = path.read_bytes()
    left_out(3 * (gzip.decompress(data) if path.suffix == ".gz" else data), monkeypatch)
