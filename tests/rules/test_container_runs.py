"""What the lines before a CrashLoopBackOff say of the container that ended."""

from __future__ import annotations

import pytest

from kvdiag.base.clock import SECOND
from kvdiag.model.event import Event, Ref
from kvdiag.model.record import Origin
from kvdiag.rules.absence import run_values, signal_of

ID = "24bee860a677b045e22fb764067cee0dbddeaeb2ac68ccd229b26418d24cf2e6"


def event(kind: str, time: int, container: str = "", **attrs: str) -> Event:
    """Give an event of a container."""
    refs = (Ref("container_id", container),) if container else ()
    return Event(time, kind, "kubelet", refs, attrs, Origin("kubelet.log", time), "worker-1", (b"",), time)


@pytest.mark.parametrize(
    ("exit_code", "signal"),
    [("137", "SIGKILL"), ("143", "SIGTERM"), ("139", "SIGSEGV"), ("1", ""), ("128", ""), ("255", ""), ("", "")],
)
def test_the_signal_of_an_exit_code(exit_code, signal):
    """Above 128 an exit code names the signal that ended the program, where there is one of that number."""
    assert signal_of(exit_code) == signal


def test_the_run_of_a_container():
    """The time between start and end of one container is how long it ran."""
    started = event("pod.pleg", 0, data=ID)
    assert run_values([started, event("container.finished", 5 * SECOND, ID, exit_code="137")]) == {
        "signal": "SIGKILL",
        "duration": "5s",
    }


def test_a_run_too_short_to_measure():
    """Kubelet looks once a second: a start and an end in one look are a second or less apart."""
    ended = event("container.finished", 20, ID, exit_code="1")
    assert run_values([event("cri.container.started", 0, ID), ended]) == {"signal": "", "duration": "1s or less"}


def test_the_start_of_another_container():
    """Where the start of the container that ended is not known, neither is how long it ran."""
    ended = event("container.finished", 5 * SECOND, ID, exit_code="1")
    assert run_values([event("pod.pleg", 0, data="3f2a"), ended]) == {"signal": ""}


def test_nothing_ended():
    """Without an end there is nothing to say."""
    assert run_values([event("pod.pleg", 0, data=ID)]) == {}
