"""What was tried again and again, and is heard of no more, is not known to last."""

from __future__ import annotations

import pytest

from kvdiag.base.clock import MINUTE, SECOND
from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.timeline import Coverage
from kvdiag.report.phrases import format_doubt
from kvdiag.rules.absence import silence_doubts

NOON = 1_720_008_000_000_000


def failure(second, backoff=""):
    """Give a failure so many seconds after noon."""
    time, attrs = NOON + round(second * SECOND), {"backoff": backoff} if backoff else {}
    return Event(time, "failed", "kubelet", (), attrs, Origin("log", round(second)), "n", (b"failed",), time)


def reasons(failures, ends, component="kubelet", *, is_poll=False):
    """Give why they may not go on in a log of the component that ends so many seconds after noon."""
    coverage = Coverage(component, "n", NOON - MINUTE, NOON + ends * SECOND, 4)
    return list(map(format_doubt, silence_doubts(failures, is_poll=is_poll, coverages=[coverage])))


TWICE = [failure(0, "500ms"), failure(1, "1s")]
SLOW = [failure(0, "500ms"), failure(120.5, "1s")]


@pytest.mark.parametrize(
    ("failures", "ends", "component"),
    [
        (TWICE, 30, "kubelet"),
        (TWICE, 600, "containerd"),
        (SLOW, 260, "kubelet"),
        (TWICE[:1], 600, "kubelet"),
        ([TWICE[0], TWICE[0]], 600, "kubelet"),
        ([failure(0), failure(1)], 600, "kubelet"),
        ([], 600, "kubelet"),
    ],
    ids=["soon over", "another log goes on", "each try takes long", "once", "once in two ways", "no retry", "none"],
)
def test_no_doubt(failures, ends, component):
    """A log that ends before the next try, or a failure that is not tried again, says nothing."""
    assert reasons(failures, ends, component) == []


def test_the_next_try_is_not_there():
    """Kubelet would have tried again a second later, and its log goes on for minutes."""
    (why,) = reasons(TWICE, 300)
    assert why == "log:1 is not repeated after 2024-07-03 12:00:01, although a retry was due in 1s and the log goes on"


def test_a_poll_that_stops():
    """What a poll says is over when it stops, unless the log ends or it came as rarely before."""
    polls = [failure(0), failure(50)]
    assert reasons(polls, 300, is_poll=True)
    assert not reasons(polls, 180, is_poll=True)
    assert not reasons([failure(0), failure(250)], 500, is_poll=True)
