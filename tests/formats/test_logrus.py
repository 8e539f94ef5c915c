"""logrus as text, JSON and on a terminal."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import from_datetime
from kvdiag.formats.bodies.logrus import level_of, read
from kvdiag.model.values import Level

NOON = from_datetime(datetime(2023, 11, 11, 12, 0, 0, 123456, tzinfo=UTC))


@pytest.mark.parametrize(
    ("line", "message", "fields", "level"),
    [
        (
            rb'level=info msg="StopPodSandbox for \"cf8d\" returns successfully"',
            'StopPodSandbox for "cf8d" returns successfully',
            {},
            Level.INFO,
        ),
        (
            b"level=info msg=serving... address=/run/containerd/containerd.sock",
            "serving...",
            {"address": "/run/containerd/containerd.sock"},
            Level.INFO,
        ),
        (
            b'level=warning msg="cleaning up after shim disconnected" id=ab12 namespace=k8s.io',
            "cleaning up after shim disconnected",
            {"id": "ab12", "namespace": "k8s.io"},
            Level.WARNING,
        ),
        (
            rb'level=error msg="StopContainer for \"c\" failed" error="rpc error: code = Unknown"',
            'StopContainer for "c" failed',
            {"error": "rpc error: code = Unknown"},
            Level.ERROR,
        ),
        (
            rb'level=warning msg="cleanup warnings time=\"2024-07-04T16:24:03Z\" level=error msg=\"inner\"\n"',
            'cleanup warnings time="2024-07-04T16:24:03Z" level=error msg="inner"',
            {},
            Level.WARNING,
        ),
        (
            b'level=info msg="StopPodSandbox for "c2fd" returns" id=3',
            'StopPodSandbox for "c2fd" returns',
            {"id": "3"},
            Level.INFO,
        ),
        (
            b'level=info msg="GRPC request: {"volume_id":"v-1","readonly":true}"',
            'GRPC request: {"volume_id":"v-1","readonly":true}',
            {},
            Level.INFO,
        ),
        (b"level=debug id= x=1", "", {"id": "", "x": "1"}, Level.DEBUG),
        (
            b'level=info msg=hello file="/go/src/x/y.go:12" func=main',
            "hello",
            {"file": "/go/src/x/y.go:12", "func": "main"},
            Level.INFO,
        ),
    ],
)
def test_text(line: bytes, message: str, fields: dict[str, str], level: Level) -> None:
    """Quoted, bare and badly quoted messages are read; an inner line of the shim does not leak its level."""
    body = read(b'time="2023-11-11T20:00:00.123456789+08:00" ' + line)
    assert body is not None
    assert (body.format, body.stamp, body.message, body.fields, body.level) == ("logrus", NOON, message, fields, level)
    assert not body.truncated


def test_the_caller_is_the_base_name() -> None:
    """`file=` gives the caller without its folders."""
    body = read(b'time="2023-11-11T12:00:00Z" level=info msg=x file="/go/src/x/y.go:12"')
    assert body is not None
    assert body.caller == "y.go:12"


@pytest.mark.parametrize(
    "line", [b'time="2023-11-11T12:00:00Z" level=info msg="cut \\"of', b'{"level":"info","msg":"cut \\"of']
)
def test_truncated_lines(line: bytes) -> None:
    """A message without an end is kept and marked."""
    body = read(line)
    assert body is not None
    assert (body.message, body.truncated) == ('cut "of', True)


@pytest.mark.parametrize(
    ("line", "message", "fields", "level", "stamp"),
    [
        (
            b"INFO[2023-11-11T20:00:00.123456789+08:00] shim disconnected                             id=ab12",
            "shim disconnected",
            {"id": "ab12"},
            Level.INFO,
            NOON,
        ),
        (
            b'WARN[0003] failed to load plugin io.containerd.snapshotter.v1.devmapper  error="not configured"',
            "failed to load plugin io.containerd.snapshotter.v1.devmapper",
            {"error": "not configured"},
            Level.WARNING,
            None,
        ),
        (b"\x1b[31mERRO\x1b[0m[0001] it failed", "it failed", {}, Level.ERROR, None),
        (b"FATA[0000] pulling image failed", "pulling image failed", {}, Level.FATAL, None),
    ],
)
def test_on_a_terminal(line: bytes, message: str, fields: dict[str, str], level: Level, stamp: int | None) -> None:
    """The coloured and padded form is read; seconds since start are no time."""
    body = read(line)
    assert body is not None
    assert (body.message, body.fields, body.level, body.stamp) == (message, fields, level, stamp)


def test_json() -> None:
    """The JSON form gives the same record as the text form."""
    body = read(
        b'{"error":"a \\u003c b","id":"ab","level":"error","msg":"m","pid":7,"time":"2023-11-11T12:00:00.123456789Z"}'
    )
    assert body is not None
    assert (body.stamp, body.level, body.message) == (NOON, Level.ERROR, "m")
    assert body.fields == {"error": "a < b", "id": "ab", "pid": "7"}


@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("warn", Level.WARNING),
        ("warning", Level.WARNING),
        ("panic", Level.FATAL),
        ("trace", Level.DEBUG),
        ("odd", Level.INFO),
    ],
)
def test_level_names(word: str, level: Level) -> None:
    """Every name of logrus has its level."""
    assert level_of(word) == level


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b"{", b"plain", b"INFO: making mounts shared", b'{"level":5,"time":6,"msg":[]}']
)
def test_other_lines(line: bytes) -> None:
    """What is not logrus is refused or read without raising."""
    body = read(line)
    assert body is None or body.format == "logrus"


@given(st.binary(max_size=200))
def test_any_bytes(text: bytes) -> None:
    """No input raises."""
    read(text)
    read(b'time="2023-11-11T12:00:00Z" level=info msg="' + text)
    read(b'{"level":"info","msg":' + text)
    read(b"INFO[0001] " + text)


@pytest.mark.parametrize("piece", [b'"', b'\\"', b'" ', b"a=", b" a=x", b" ", b"\x1b[", b'" a'])
def test_long_hostile_lines_are_read_in_linear_time(piece: bytes) -> None:
    """Half a megabyte of one piece repeated comes back."""
    for lead in (b'level=info msg="', b"level=info msg=", b"INFO[0001] ", b'{"level":"info","msg":"'):
        assert read(lead + piece * (500_000 // len(piece))) is not None


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ('level=info ts={0} component=grpc-server msg="a b"', {"component": "grpc-server"}),
        ('ts={0} caller=main.go:7 level=info component=x msg="a b"', {"component": "x"}),
        ('time={0} level=INFO msg="a b" component=x', {"component": "x"}),
        ('{{"level":"info","message":"a b","service":"x","timestamp":"{0}"}}', {"service": "x"}),
    ],
)
def test_keys_by_other_names_and_in_another_order(line, fields):
    """go-kit, slog and winston say time and message under other keys; neither stays among the fields."""
    told = read(line.format("2023-11-11T12:00:00.123456789Z").encode())
    assert told is not None
    assert (told.stamp, told.message, told.level, told.fields) == (NOON, "a b", Level.INFO, fields)
