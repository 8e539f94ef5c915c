"""Which containers of a pod run, so that the end of the last one and of its sandbox are told as what they are.

    time="…" level=info msg="shim disconnected" id=e0f1…        one of two containers, or the only one?

A pod has one sandbox at a time, and all its containers are in that. Where its making was not seen, containers may run
that no line names: then only the end of the sandbox says that none does.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from kvdiag.history.lifecycles.machine import NONE, Machine
from kvdiag.model.event import Event

LAST, GONE, SEEN = "last", "gone", "seen"  # details: no container runs; nor the sandbox; told after its end


class Containers:
    """The containers of one pod, as its events are gone through in order of time."""

    def __init__(self, machine: Machine, sandboxes: AbstractSet[str]) -> None:
        """`machine` tells what each kind does; `sandboxes` are the ids of all sandboxes of the history."""
        self._steps = machine.steps
        self._sandboxes = sandboxes
        self._sandbox = ""  # the sandbox made last; empty where no line named it
        self._is_whole = False  # whether that was made before our eyes, so that all its containers are known
        self._running: set[str] = set()
        self._over: set[str] = set()

    def refined(self, kind: str, event: Event) -> str:
        """The kind, with what the event means to the pod where that is more than the kind says."""
        flags = self._steps[kind].flags if kind in self._steps else NONE
        if "makes-sandbox" in flags:
            self._start_sandbox(event.ref("sandbox_id"))
        elif "starts-container" in flags:
            return self._start(kind, _id(event))
        elif "ends-sandbox" in flags or ("ends-container" in flags and self._is_sandbox(_id(event))):
            return self._end_sandbox(kind, event.ref("sandbox_id") or _id(event))
        elif "ends-container" in flags:
            return self._end(kind, _id(event))
        return kind

    def _is_sandbox(self, one: str) -> bool:
        return bool(one) and (one in self._sandboxes or one == self._sandbox)

    def _start_sandbox(self, sandbox: str) -> None:
        if not sandbox or sandbox != self._sandbox:
            self._running.clear()
            self._is_whole = True
        self._sandbox = sandbox or self._sandbox

    def _start(self, kind: str, one: str) -> str:
        if one in self._over:
            return f"{kind}:{SEEN}"
        self._running.add(one)
        return kind

    def _end(self, kind: str, one: str) -> str:
        was_running = one in self._running
        self._running.discard(one)
        self._over.add(one)
        return f"{kind}:{LAST}" if was_running and self._is_whole and not self._running else kind

    def _end_sandbox(self, kind: str, sandbox: str) -> str:
        """An older sandbox that is removed later says nothing."""
        if self._sandbox and sandbox and sandbox != self._sandbox:
            return kind
        self._over |= self._running
        self._running.clear()
        return f"{kind}:{GONE}"


def _id(event: Event) -> str:
    """The id of a container, without `containerd://`; of the PLEG's events that of container or sandbox."""
    named = event.ref("container_id").rpartition("/")[2]
    return named or event.attrs.get("data", "") or event.ref("sandbox_id")
