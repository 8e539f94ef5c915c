"""Events as kubectl lists them are records, whatever columns were asked for."""

from __future__ import annotations

import pytest

from kvdiag.formats.bodies import classify, read_body
from kvdiag.formats.eventtable import read
from kvdiag.formats.peel import peel
from kvdiag.model.values import Level

SAID = 'MountVolume.SetUp failed for volume "data" : rpc error: code = Internal desc = exit status 32'
SHORT = {"type": "Warning", "reason": "FailedMount", "object": "pod/web-0", "age": "3m12s"}


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (f"3m12s       Warning   FailedMount   pod/web-0   {SAID}", SHORT),
        (f"shop        3m12s       Warning   FailedMount   pod/web-0   {SAID}", SHORT | {"namespace": "shop"}),
        (
            f"3m (x5 over 10m)   Warning   FailedMount   pod/web-0   {SAID}",
            SHORT | {"age": "3m (x5 over 10m)", "count": "5", "over": "10m"},
        ),
        (
            f"3m12s       Warning   FailedMount   pod/web-0                          kubelet, worker-1   {SAID}   9m      12      web-0.17a",
            SHORT | {"source": "kubelet, worker-1", "first_seen": "9m", "count": "12", "name": "web-0.17a"},
        ),
        (
            f"3m12s       Warning   FailedMount   pod/web-0   spec.containers{{app}}   kubelet, worker-1   {SAID}   9m      1       web-0.17a",
            SHORT | {"source": "kubelet, worker-1", "first_seen": "9m", "count": "1", "name": "web-0.17a"},
        ),
        (
            f"  Warning  FailedMount  3m12s (x2 over 5m1s)  kubelet  {SAID}",
            {
                "type": "Warning",
                "reason": "FailedMount",
                "age": "3m12s (x2 over 5m1s)",
                "count": "2",
                "over": "5m1s",
                "source": "kubelet",
            },
        ),
        (
            f"  Warning  FailedMount  <unknown>  kubelet, worker-1  {SAID}",
            {"type": "Warning", "reason": "FailedMount", "age": "<unknown>", "source": "kubelet, worker-1"},
        ),
    ],
)
def test_rows(line, fields):
    """A row says how bad it was, why, of what, how long ago and how often, and its message stands alone."""
    body = read(line.encode())
    assert body is not None
    assert (body.level, body.message, body.fields, body.stamp) == (Level.WARNING, SAID, fields, None)
    assert classify(line.encode()) == "head"
    assert read_body(peel(line.encode()).body) == body


@pytest.mark.parametrize(
    "line",
    [
        "LAST SEEN   TYPE      REASON      OBJECT      MESSAGE",
        "NAMESPACE   LAST SEEN   TYPE      REASON      OBJECT      MESSAGE",
        "  Type     Reason       Age    From     Message",
        "  ----     ------       ----   ----     -------",
    ],
)
def test_headings(line):
    """The names of the columns say nothing themselves."""
    assert classify(line.encode()) == "chatter"


@pytest.mark.parametrize(
    "line",
    [
        "Warning: FailedMount 3m",
        "3m12s later the pod was gone",
        "3m12s Warning FailedMount of a pod",
        "Normal  people  3m  say  so",
        "Warning  FailedMount",
    ],
)
def test_what_is_no_row(line):
    """Prose about events is prose."""
    assert read(line.encode()) is None
