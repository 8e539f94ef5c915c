"""A line is taken apart: carrier, format, record, events with their names."""

from __future__ import annotations

import pytest

from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.explain.line import LineReader
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.event import Ref

READER = LineReader(load_vocabulary(builtin_patterns() / "events"))
KLOG = b'I0312 08:15:00.100000    2201 kubelet.go:2463] "SyncLoop DELETE" source="api" pods=["shop/web-0"]'
CONTAINERD = (
    b'time="2024-03-12T08:15:00.100000000Z" level=info msg="shim disconnected" id=24bee860a677b045e22fb764067cee0d'
)
GRPC = b"I0312 08:15:00.100000    7063 server.go:101] GRPC call: /csi.v1.Node/NodeStageVolume"
PASTED = b'UnmountDevice succeeded for volume "pv-1" (UniqueName: "kubernetes.io/csi/csi.example.org^vol-1") on node "node-a"'


def all_of(*lines):
    """Give the records of the lines."""
    return list(READER.read(TextInput("line", b"\n".join(lines)), pytest.fail))


def read(*lines):
    """Give the one record of the lines."""
    (line,) = all_of(*lines)
    return line


@pytest.mark.parametrize(
    ("line", "carrier", "form", "component", "kinds"),
    [
        (KLOG, "plain", "klog", "kubelet", ["pod.deleted"]),
        (b"Mar 12 08:15:00 node-a kubelet[2201]: " + KLOG, "journal-short", "klog", "kubelet", ["pod.deleted"]),
        (CONTAINERD, "plain", "logrus", "containerd", ["shim.disconnected"]),
        (GRPC, "plain", "klog", "csi-driver", ["csi.nodestage.called"]),
        (PASTED, "plain", "plain", "kubelet", ["volume.unstage.succeeded"]),
        (b"hello world", "plain", "plain", "", []),
    ],
)
def test_what_a_line_is(line, carrier, form, component, kinds):
    """Carrier and format are told apart, and the events are what the vocabulary calls them."""
    told = read(line)
    assert (told.carrier, told.format, told.component) == (carrier, form, component)
    assert [event.kind for event in told.events] == kinds


def test_the_record():
    """Level, caller, message and fields are the record's; the time says what it lacks."""
    told = read(KLOG)
    assert (str(told.body.level), told.body.caller, told.body.message) == ("info", "kubelet.go:2463", "SyncLoop DELETE")
    assert told.body.fields == {"source": "api", "pods": '["shop/web-0"]'}
    assert told.time == "03-12 08:15:00.100000 (no year and no zone in the line)"
    assert read(CONTAINERD).time == "2024-03-12T08:15:00.100000Z"
    assert read(b"hello world").time == ""


def test_names_without_a_header():
    """A message that was pasted without its header is understood all the same."""
    (event,) = read(PASTED).events
    assert Ref("unique_name", "kubernetes.io/csi/csi.example.org^vol-1") in event.refs
    assert Ref("node", "node-a") in event.refs


def test_the_carrier_tells_the_node():
    """The journal's prefix says on which node it was."""
    assert read(b"Mar 12 08:15:00 node-a kubelet[2201]: " + KLOG).node == "node-a"


def test_a_record_of_many_lines_is_one():
    """Lines that belong to one record are explained together, empty ones not at all."""
    lines = [
        b'E0312 08:15:00.100000    2201 swap_util.go:87] "error mounting tmpfs" error=<',
        b"\tmount failed: exit status 32",
        b" >",
        b"",
        KLOG,
    ]
    first, second = all_of(*lines)
    assert (first.number, second.number) == (1, 5)
    assert "exit status 32" in first.body.fields["error"]


@pytest.mark.parametrize(
    ("line", "time"),
    [
        (b"  Warning  BackOff  38s (x13 over 12m)  kubelet  Back-off restarting failed container", "38s before it was printed"),
        (b"[337533.314412] Memory cgroup out of memory: Killed process 23793 (leaker) total-vm:2623712kB", "3d21h since boot"),
        (b"Back-off restarting failed container", ""),
    ],
)  # fmt: skip
def test_a_time_that_is_no_date(line, time):
    """What a line says of its time is told as it says it."""
    assert read(line).time == time
