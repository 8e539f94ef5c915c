"""Events as objects of the API are the rows that kubectl makes of them, with their dates."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import MINUTE
from kvdiag.formats.bodies.eventobject import read
from kvdiag.formats.bodies.eventtable import node_of, repeats
from kvdiag.formats.bodies.registry import canonical, classify, read_body
from kvdiag.formats.timestamps import rfc3339
from kvdiag.model.values import Level

CORE = {
    "apiVersion": "v1",
    "kind": "Event",
    "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web-0"},
    "type": "Warning",
    "reason": "FailedMount",
    "message": 'MountVolume.SetUp failed for volume "data" : timed out',
    "source": {"component": "kubelet", "host": "worker-1"},
    "firstTimestamp": "2024-03-12T08:00:00Z",
    "lastTimestamp": "2024-03-12T08:12:00Z",
    "count": 13,
}
NEWER = {
    "apiVersion": "events.k8s.io/v1",
    "regarding": {"kind": "Pod", "namespace": "shop", "name": "web-0"},
    "type": "Warning",
    "reason": "FailedMount",
    "note": 'MountVolume.SetUp failed for volume "data" : timed out',
    "reportingController": "kubelet",
    "eventTime": "2024-03-12T08:00:00.000000Z",
    "series": {"count": 13, "lastObservedTime": "2024-03-12T08:12:00.000000Z"},
}
WORDS = (
    b'"Event listed" object="shop/web-0" kind="Pod" type="Warning" reason="FailedMount" '
    rb'message="MountVolume.SetUp failed for volume \"data\" : timed out"'
)


@pytest.mark.parametrize(("event", "node"), [(CORE, "worker-1"), (NEWER, "")], ids=["v1", "events.k8s.io"])
def test_an_event(event, node):
    """Both groups of the API say what happened to what, how often, from when to when, and who told."""
    line = json.dumps(event).encode()
    body = read(line)
    assert body is not None
    assert (body.level, body.stamp) == (Level.WARNING, rfc3339(b"2024-03-12T08:12:00Z"))
    assert canonical(body) == WORDS
    assert (repeats(body), node_of(body)) == ((13, 12 * MINUTE), node)
    assert read_body(line) == body
    assert classify(line) == "head"


@pytest.mark.parametrize("around", [{"verb": "ADDED", "event": CORE}, {"type": "ADDED", "object": CORE}])
def test_an_event_within_an_object(around):
    """A watch and some exporters put the event into an object of their own."""
    assert read(json.dumps(around).encode()) == read(json.dumps(CORE).encode())


@pytest.mark.parametrize(
    ("changes", "stamp", "repeated"),
    [
        ({"count": 1}, b"2024-03-12T08:12:00Z", None),
        ({"lastTimestamp": None, "count": None}, b"2024-03-12T08:00:00Z", None),
        ({"lastTimestamp": None, "firstTimestamp": None, "eventTime": "2024-03-12T09:00:00.5Z"}, b"2024-03-12T09:00:00.5Z", (13, 0)),
        ({"lastTimestamp": None, "firstTimestamp": None}, None, None),
        ({"lastTimestamp": "soon"}, None, None),
        ({"count": "9" * 5000}, b"2024-03-12T08:12:00Z", None),
        ({"firstTimestamp": "2024-03-12T09:00:00Z"}, b"2024-03-12T08:12:00Z", (13, 0)),
    ],
)  # fmt: skip
def test_times(changes, stamp, repeated):
    """The last time counts, whatever it is called; an event without any is read all the same."""
    body = read(json.dumps(CORE | changes).encode())
    assert body is not None
    assert body.stamp == (rfc3339(stamp) if stamp else None)
    assert repeats(body) == repeated


@pytest.mark.parametrize(
    "event",
    [
        {key: value for key, value in CORE.items() if key != "message"},
        {key: value for key, value in CORE.items() if key != "involvedObject"},
        CORE | {"involvedObject": {}},
        CORE | {"involvedObject": "web-0"},
        CORE | {"reason": 7},
        [CORE],
    ],
)
def test_what_is_none(event):
    """What lacks its object, its reason or its words is no event."""
    assert read(json.dumps(event).encode()) is None


@given(st.recursive(st.none() | st.text(max_size=5), lambda inner: st.dictionaries(st.sampled_from([*CORE]), inner)))
def test_any_values(value):
    """Whatever stands in such an object, it is read or not."""
    body = read(
        json.dumps(
            {"involvedObject": {"name": "x"}, "value": value, **(value or {})} if isinstance(value, dict) else value
        ).encode()
    )
    assert body is None or canonical(body)
