"""How long a container ran, and which signal its exit code means.

    "Generic (PLEG): container finished" podID="5b0c7a1e-…" containerID="3f2a9c…" exitCode=137

An exit code above 128 means that a signal ended the program: 137 is 128 + 9, SIGKILL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from signal import Signals

from kvdiag.base.clock import SECOND, format_duration
from kvdiag.model.event import Event

FINISHED = "container.finished"
RELIST = SECOND
"""kubelet polls the runtime once a second, so its lines cannot measure a shorter run."""
FROM_SIGNALS = 128
"""A program that a signal ended has this exit code plus the number of the signal."""


def run_values(events: Iterable[Event]) -> Mapping[str, str]:
    """Return the `signal` and the `duration` of the last container that ended, as far as these events show them."""
    started: dict[str, int] = {}
    values: dict[str, str] = {}
    for event in events:
        container = event.ref("container_id") or event.attrs.get("data", "")
        if event.kind != FINISHED:
            started[container] = event.time
            continue
        values = {"signal": signal_of(event.attrs.get("exit_code", ""))}
        if container in started:
            ran = event.time - started[container]
            values["duration"] = format_duration(ran) if ran > RELIST else "1s or less"
    return values


def signal_of(exit_code: str) -> str:
    """Return the name of the signal that an exit code means; empty if none."""
    number = int(exit_code) - FROM_SIGNALS if exit_code.isdigit() and len(exit_code) < 4 else 0
    return Signals(number).name if number in set(Signals) else ""
