"""klog text in all versions since 1.19."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import from_datetime
from kvdiag.formats.bodies.keyvalues import scan
from kvdiag.formats.bodies.klog import preamble, read
from kvdiag.model.values import Level

HEAD = b"I0919 11:11:20.322601  190330 kubelet.go:2130] "


def stamp(*parts: int) -> int:
    """Microseconds of a day and time in the year-less frame."""
    return from_datetime(datetime(2000, *parts, tzinfo=UTC))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("line", "level", "time", "pid", "caller"),
    [
        (HEAD + b"x", Level.INFO, stamp(9, 19, 11, 11, 20, 322601), 190330, "kubelet.go:2130"),
        (
            b"E0715 03:49:34.052729       1 server.go:101] x",
            Level.ERROR,
            stamp(7, 15, 3, 49, 34, 52729),
            1,
            "server.go:101",
        ),
        (b"W0229 00:00:00.000001 4133911 a.go:1] x", Level.WARNING, stamp(2, 29, 0, 0, 0, 1), 4133911, "a.go:1"),
        (
            b"F1120 21:05:54.227502   20837 connection.go:114] x",
            Level.FATAL,
            stamp(11, 20, 21, 5, 54, 227502),
            20837,
            "connection.go:114",
        ),
        (b"I0715 03:49:33.850919    1432 ???:1] x", Level.INFO, stamp(7, 15, 3, 49, 33, 850919), 1432, "???:1"),
        (
            b"I0715 03:49:33.850919    1432 volume/csi/client.go:7] x",
            Level.INFO,
            stamp(7, 15, 3, 49, 33, 850919),
            1432,
            "client.go:7",
        ),
        (
            b"I0822 06:42:35.502887     931 asm_amd64.s:1337] x",
            Level.INFO,
            stamp(8, 22, 6, 42, 35, 502887),
            931,
            "asm_amd64.s:1337",
        ),
        (b"I0715 03:49:33.85 1432 a.go:1] x", Level.INFO, stamp(7, 15, 3, 49, 33, 850000), 1432, "a.go:1"),
        (b"I0715 03:49:33 1432 a.go:1] x", Level.INFO, stamp(7, 15, 3, 49, 33, 0), 1432, "a.go:1"),
    ],
)
def test_headers(line: bytes, level: Level, time: int, pid: int, caller: str) -> None:
    """Severity, time, PID and file are read from every form of header."""
    body = read(line)
    assert body is not None
    assert (body.format, body.level, body.stamp, body.pid, body.caller) == ("klog", level, time, pid, caller)
    assert (body.message, body.truncated) == ("x", False)


@pytest.mark.parametrize(
    ("text", "message", "fields"),
    [
        (
            b'"SyncLoop DELETE" source="api" pods=["default/nginx"]',
            "SyncLoop DELETE",
            {"source": "api", "pods": '["default/nginx"]'},
        ),
        (
            b'"Pod is \\"gone\\" " podUID=95d6 statusVersion=3',
            'Pod is "gone"',
            {"podUID": "95d6", "statusVersion": "3"},
        ),
        (b'"no fields"', "no fields", {}),
        (b'SyncLoop (ADD, "api"): "web_default(u-1)"', 'SyncLoop (ADD, "api"): "web_default(u-1)"', {}),
        (b'"nfs" is not mounted at /data', '"nfs" is not mounted at /data', {}),
        (
            b'"a" err="[failed to \\"X\\" for \\"Y\\" with E: \\"rpc error\\"]"',
            "a",
            {"err": '[failed to "X" for "Y" with E: "rpc error"]'},
        ),
        (b"\xff broken \xc3\xbc", "� broken ü", {}),
        (
            b'"multi" cfg=<\n\tline one\n\t\tline two\n > pod="a/b"',
            "multi",
            {"cfg": "line one\n\tline two", "pod": "a/b"},
        ),
        (
            b'"multi" cfg=<\n        line one\n        line two\n > pod="a/b"',
            "multi",
            {"cfg": "line one\nline two", "pod": "a/b"},
        ),
        (b'"two" a=<\n\tx\n > b=<\n\t> y\n > c="z"\nstray line k="v"', "two", {"a": "x", "b": "> y", "c": "z"}),
        (b'"v" n=3\nFailed to connect to bus: a=1', "v", {"n": "3"}),
        (b"target /a\nfstype \ndevice ", "target /a\nfstype \ndevice", {}),
    ],
)
def test_messages(text: bytes, message: str, fields: dict[str, str]) -> None:
    """Quoted messages come with fields, free text is taken as it is."""
    body = read(HEAD + text)
    assert body is not None
    assert (body.message, body.fields, body.truncated) == (message, fields, False)


@pytest.mark.parametrize(
    ("tail", "fields"),
    [
        (
            ' event=&{ID:u-1 Type:ContainerDied Data:abc} pod="a/b"',
            {"event": "&{ID:u-1 Type:ContainerDied Data:abc}", "pod": "a/b"},
        ),
        (
            ' event={"ID":"u-1","Type":"ContainerDied","Data":"a b=c}"} n=1',
            {"event": '{"ID":"u-1","Type":"ContainerDied","Data":"a b=c}"}', "n": "1"},
        ),
        (' pods=[default/a default/b] source="api"', {"pods": "[default/a default/b]", "source": "api"}),
        (' pods="[default/a default/b]"', {"pods": "[default/a default/b]"}),
        (' pods=[{"name":"a b","namespace":"d"}] x=null', {"pods": '[{"name":"a b","namespace":"d"}]', "x": "null"}),
        (
            " status={Phase:Running Conditions:[{Type:Init Status:True a=b}]} podUID=u-1",
            {"status": "{Phase:Running Conditions:[{Type:Init Status:True a=b}]}", "podUID": "u-1"},
        ),
        (
            " plugin={Path:/a Timestamp:2026-11-20 20:55:35 +0000 UTC m=+5.37 Name:} n=2",
            {"plugin": "{Path:/a Timestamp:2026-11-20 20:55:35 +0000 UTC m=+5.37 Name:}", "n": "2"},
        ),
        (" t=2023-01-01 00:00:00 +0000 UTC m=+8.1 next=1", {"t": "2023-01-01 00:00:00 +0000 UTC m=+8.1", "next": "1"}),
        (
            " containerID={Type:containerd ID:abc} p=map[a:b c:d]",
            {"containerID": "{Type:containerd ID:abc}", "p": "map[a:b c:d]"},
        ),
        (
            ' duration="1m0s" odd="(MISSING)" empty= pod=""',
            {"duration": "1m0s", "odd": "(MISSING)", "empty": "", "pod": ""},
        ),
        (
            ' %!s(int=1)="v" {name}="w" map[test:%!s(bool=true)]="x"',
            {"%!s(int=1)": "v", "{name}": "w", "map[test:%!s(bool=true)]": "x"},
        ),
        (
            ' /proc/swaps contents=<\n\tFilename\n\t/dev/sdb\n > mount path="/x"',
            {"/proc/swaps contents": "Filename\n/dev/sdb", "mount path": "/x"},
        ),
        (' pod-uid="a" cni.dev=b k8s.pod/x="c"', {"pod-uid": "a", "cni.dev": "b", "k8s.pod/x": "c"}),
        (' a="1" a="2"', {"a": "2"}),
        (
            ' patch="{\\"metadata\\":{\\"uid\\":\\"u\\"}}" new=true',
            {"patch": '{"metadata":{"uid":"u"}}', "new": "true"},
        ),
        (" p=(*int64)(0xc000123) q=<nil> r=[]", {"p": "(*int64)(0xc000123)", "q": "<nil>", "r": "[]"}),
        (' v="\\xe2\\x9c\\x93"', {"v": "✓"}),
        ("", {}),
        (" just words", {}),
    ],
)
def test_values_in_every_encoding(tail: str, fields: dict[str, str]) -> None:
    """The value decides how it is read, not the version: quoted, bare, JSON, Go dump, block."""
    assert scan(tail.encode())[0] == fields


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (HEAD + b'"Volume detached for volume \\"pvc', 'Volume detached for volume "pvc'),
        (HEAD + b'"a" pod="default/ngi', "a"),
        (HEAD + b'"a" event={"ID":"x","Ty', "a"),
        (HEAD + b'"a" cfg=<\n\tone', "a"),
        (HEAD + b'"a" cfg=<', "a"),
    ],
)
def test_truncated_lines(line: bytes, message: str) -> None:
    """A line that was cut gives what it has, and says so."""
    body = read(line)
    assert body is not None
    assert (body.message, body.truncated) == (message, True)


@pytest.mark.parametrize(
    ("line", "level", "message"),
    [
        (
            b'reconciler.go:388] "Could not construct volume information"',
            Level.INFO,
            "Could not construct volume information",
        ),
        (b'E reconciler.go:388] "Could not construct" pod="a/b"', Level.ERROR, "Could not construct"),
        (b'21:34:50.609830    4868 kubelet.go:2294] "Error getting node"', Level.INFO, "Error getting node"),
        (b'0322 09:06:08.585631       1 event.go:389] "Event occurred"', Level.INFO, "Event occurred"),
    ],
)
def test_lines_that_lost_their_head(line: bytes, level: Level, message: str) -> None:
    """Without date the file still tells that it is klog; the time is unknown and the record truncated."""
    body = read(line)
    assert body is not None
    assert (body.stamp, body.level, body.message, body.truncated) == (None, level, message, True)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"I",
        b"Jul 15 03:49:33 x",
        b"I0715 03:49:33.850919",
        b"see kubelet.go:12 for more",
        b"\tkubelet.go:12 +0x1d9",
    ],
)
def test_other_lines_are_not_klog(line: bytes) -> None:
    """What has no klog header is left to other readers."""
    assert read(line) is None


def test_a_day_that_does_not_exist_has_no_time() -> None:
    """A damaged date costs the time, not the line."""
    body = read(b"I1399 11:11:20.322601  190330 kubelet.go:2130] x")
    assert body is not None
    assert body.stamp is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"Log file created at: 2024/07/15 03:49:33", ("Log file created at", "2024/07/15 03:49:33")),
        (b"Running on machine: node-1\r", ("Running on machine", "node-1")),
        (b"Log line format: [IWEF]mmdd hh:mm", ("Log line format", "[IWEF]mmdd hh:mm")),
        (b"Running on empty", None),
    ],
)
def test_the_preamble_of_a_file(line: bytes, told: tuple[str, str] | None) -> None:
    """The lines at the top of a klog file are told apart: they hold its only year."""
    assert preamble(line) == told


@given(st.binary(max_size=200))
def test_any_bytes_after_a_header(text: bytes) -> None:
    """Whatever follows a header is read without raising."""
    assert read(HEAD + text) is not None
    assert read(HEAD + b'"m" ' + text) is not None


@pytest.mark.parametrize(
    "piece",
    [
        b" a=x[",
        b'\\"',
        b'"',
        b" a=",
        b"[",
        b"{a:",
        b" a=<\n",
        b"=",
        b'a="b" ',
        b" ",
        b"\t",
        b"a",
        b" a",
        b"\n",
        b"\n ",
        b" a=b c",
    ],
)
def test_long_hostile_lines_are_read_in_linear_time(piece: bytes) -> None:
    """Half a megabyte of one piece repeated is read; a quadratic reader would not come back."""
    assert read(HEAD + b'"m"' + piece * (500_000 // len(piece))) is not None
