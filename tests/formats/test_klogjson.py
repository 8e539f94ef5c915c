"""klog and zap as JSON."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.formats.bodies.klogjson import read
from kvdiag.model.values import Level

AT = 1721015373850919


@pytest.mark.parametrize(
    ("line", "level", "stamp", "caller", "message", "fields"),
    [
        (
            b'{"ts":1721015373850.919,"logger":"a.b","caller":"kubelet/kubelet.go:2168","msg":"SyncLoop ADD","v":2,"source":"api","pods":[{"name":"x","namespace":"d"},{"name":"y","namespace":"d"}]}',
            Level.INFO,
            AT,
            "kubelet.go:2168",
            "SyncLoop ADD",
            {"logger": "a.b", "source": "api", "pods": "[d/x d/y]"},
        ),
        (
            b'{"ts":1721015373850.919,"caller":"a/b.go:1","msg":"Failed","err":"x \\u003c y"}',
            Level.ERROR,
            AT,
            "b.go:1",
            "Failed",
            {"err": "x < y"},
        ),
        (
            b'{"ts":1721015373850.919,"caller":"a/b.go:1","msg":"m","v":0,"pod":{"name":"x","namespace":"d"},"node":{"name":"n"}}',
            Level.INFO,
            AT,
            "b.go:1",
            "m",
            {"pod": "d/x", "node": "n"},
        ),
        (
            b'{"ts":1721015373850.919,"caller":"b.go:1","msg":"m","v":0,"event":{"ID":"u","Type":"T"},"n":3,"ok":true,"no":null}',
            Level.INFO,
            AT,
            "b.go:1",
            "m",
            {"event": '{"ID":"u","Type":"T"}', "n": "3", "ok": "true", "no": "null"},
        ),
        (
            b'{"ts":1721015373850.919,"caller":"b.go:1","msg":"m","v":0,"akey":"1","akey":"2"}',
            Level.INFO,
            AT,
            "b.go:1",
            "m",
            {"akey": "2"},
        ),
        (
            b'{"level":"warn","ts":"2024-07-15T03:49:33.850919Z","caller":"etcdserver/util.go:170","msg":"apply took too long"}',
            Level.WARNING,
            AT,
            "util.go:170",
            "apply took too long",
            {},
        ),
        (b'{"level":"info","ts":1721015373.850919,"caller":"a.go:1","msg":"m"}', Level.INFO, AT, "a.go:1", "m", {}),
        (
            b'{"level":"error","time":"2024-07-15T03:49:33.850919Z","caller":"service/node.go:57","msg":"m","TraceId":"t-1"}',
            Level.ERROR,
            AT,
            "node.go:57",
            "m",
            {"TraceId": "t-1"},
        ),
    ],
)
def test_lines(line: bytes, level: Level, stamp: int, caller: str, message: str, fields: dict[str, str]) -> None:
    """Milliseconds of klog, zap's seconds and dates give the same time; objects are told as klog's text would."""
    body = read(line)
    assert body is not None
    assert (body.level, body.stamp, body.caller, body.message, body.fields) == (level, stamp, caller, message, fields)
    assert (body.format, body.truncated) == ("klogjson", False)


def test_a_line_that_was_cut() -> None:
    """Of an object without an end the fields before it are told."""
    body = read(b'{"ts":1721015373850.919,"caller":"a/b.go:1","msg":"m","pod":"d/x","err":"it \\"fai')
    assert body is not None
    assert (body.stamp, body.message, body.fields, body.truncated) == (AT, "m", {"pod": "d/x", "err": 'it "fai'}, True)


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b'{"ts":1}', b'{"ts":1,"msg":5}', b'{"level":"info","msg":"logrus","time":"x"}', b"[1]", b'{"ts":'],
)
def test_other_lines(line: bytes) -> None:
    """What has neither `ts` nor `caller`, or no message, is left to other readers."""
    assert read(line) is None


@pytest.mark.parametrize("ts", [b"NaN", b"-1", b"1e300", b"true", b'"x"', b"null", b"[]", b"Infinity"])
def test_a_bad_time_costs_only_the_time(ts: bytes) -> None:
    """A time that cannot be meant is None."""
    body = read(b'{"ts":' + ts + b',"msg":"m"}')
    assert body is not None
    assert body.stamp is None


def test_half_of_a_surrogate_pair() -> None:
    """What JSON can name but no output can hold is replaced."""
    body = read(b'{"ts":1,"msg":"a \\ud800","x":"\\udfff","y":{"\\ud800":1}}')
    assert body is not None
    assert (body.message, body.fields) == ("a ?", {"x": "?", "y": '{"?":1}'})


@given(st.binary(max_size=100))
def test_any_bytes(text: bytes) -> None:
    """No input raises."""
    read(text)
    read(b'{"ts":1721015373850.919,"msg":"m","x":' + text)
