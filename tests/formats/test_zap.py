"""zap's lines for a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.formats.bodies.registry import is_head
from kvdiag.formats.bodies.zap import FRAME, read
from kvdiag.formats.carriers.peel import peel
from kvdiag.formats.timestamps import rfc3339
from kvdiag.model.values import Level

NOW = "2021-04-01T03:16:33.306Z"


@pytest.mark.parametrize(
    ("line", "level", "caller", "message", "fields"),
    [
        (
            'INFO\tservice/node.go:404\tstaged\t{"TraceId": "t-1"}',
            Level.INFO,
            "node.go:404",
            "staged",
            {"TraceId": "t-1"},
        ),
        ('INFO service/node.go:404 staged {"TraceId": "t-1"}', Level.INFO, "node.go:404", "staged", {"TraceId": "t-1"}),
        ("ERROR\tcontroller\tnode.go:4\tno such device", Level.ERROR, "node.go:4", "no such device", {}),
        ("info\tsetup\tstarting manager", Level.INFO, "", "starting manager", {}),
        (
            'DEBUG\tnode.go:4\targs {VolumeId:v {"x": 1}}\t{"n": 2, "error": "a \\"b\\""}',
            Level.DEBUG,
            "node.go:4",
            'args {VolumeId:v {"x": 1}}',
            {"n": "2", "error": 'a "b"'},
        ),
        ('WARN\tnode.go:4\tcut\t{"TraceId": "t', Level.WARNING, "node.go:4", 'cut\t{"TraceId": "t', {}),
    ],
)
def test_read(line, level, caller, message, fields):
    """Level, caller, message and the object that ends the line are told apart; the time is the carrier's."""
    peeled = peel(f"{NOW}\t{line}".encode())
    assert peeled.stamp == rfc3339(NOW.encode())
    assert is_head(peeled.body)
    told = read(peeled.body)
    assert told is not None
    assert (told.level, told.caller, told.message, told.fields) == (level, caller, message, fields)


def test_the_stack_goes_to_the_fields():
    """What follows on other lines is the stack and no part of the message."""
    stack = "sigs.k8s.io/driver/csi.(*service).NodeStageVolume\n\t/build/node.go:404"
    told = read(f'ERROR\tnode.go:404\tfailed\t{{"TraceId": "t-1"}}\n{stack}'.encode())
    assert told is not None
    assert (told.message, told.fields) == ("failed", {"TraceId": "t-1", "stack": stack})


@pytest.mark.parametrize("line", ["INFO some words", "INFORMATION\ta.go:1\tx", "info: a", "", "ERROR", "error a.go x"])
def test_other_lines(line):
    """A line without caller and without tabs is none."""
    assert read(line.encode()) is None
    assert not is_head(line.encode())


@pytest.mark.parametrize(
    ("line", "is_frame"),
    [
        ("sigs.k8s.io/driver/csi.(*service).NodeStageVolume", True),
        ("main.(*driver).run.func1", True),
        ("github.com/x/y.Run.func1.2", True),
        ("www.example.com", False),
        ("a path /var/lib/x.y", False),
        ("/var/lib/kubelet", False),
    ],
)
def test_frames(line, is_frame):
    """A function of a stack is told from words with dots."""
    assert bool(FRAME.match(line.encode())) is is_frame


@given(st.binary(max_size=200))
def test_anything_is_read_or_not(data):
    """Whatever follows level and caller is a message, and never raises."""
    told = read(b"INFO\tnode.go:1\t" + data)
    assert told is not None
    assert told.caller == "node.go:1"
