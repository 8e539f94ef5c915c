"""Convert the status of a pod or node to events like those of Kubernetes.

    state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {reason: OOMKilled, exitCode: 137, …}}

Events are deleted after an hour; the status remains. Source: the types of Kubernetes' API, core/v1, and kubectl's
describe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

Plain = Mapping[str, object]
_LONG = timedelta(minutes=5)  # that a node may take to become Ready
_BEGINNING = frozenset(("ContainerCreating", "PodInitializing"))
# Reasons of containers that ended with their node.
_RESTARTED = frozenset(("Unknown", "ContainerStatusUnknown", "Completed"))
_CONTAINERS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


class About(NamedTuple):
    """The object of the status, and its node."""

    kind: str
    name: str
    namespace: str = ""
    node: str = ""


class State(NamedTuple):
    """A state of a container: `Running`, `Waiting` or `Terminated`, with its details; times are RFC 3339."""

    kind: str
    reason: str = ""
    message: str = ""
    exit_code: str = ""
    signal: str = ""
    began: str = ""
    ended: str = ""
    container_id: str = ""


def is_pod(item: Plain) -> bool:
    """Return whether an object is a pod; in a list it may have no kind."""
    status = _inner(item, "status")
    return (
        item.get("kind", "Pod") == "Pod"
        and "phase" in status
        and ("containers" in _inner(item, "spec") or "kind" in item)
    )


def events_of(pod: Plain) -> Iterator[Plain]:
    """Yield an event with the phase of a pod, and events for the rest of its status."""
    metadata, status = _inner(pod, "metadata"), _inner(pod, "status")
    name, namespace = _word(metadata, "name"), _word(metadata, "namespace")
    about = About("Pod", name, namespace, _word(_inner(pod, "spec"), "nodeName"))
    phase = _word(status, "phase")
    yield make_event(about, phase, f"The pod is {phase}", _word(status, "startTime"), is_bad=phase == "Failed")
    yield from _of_pod(about, status)


def _of_pod(about: About, status: Plain) -> Iterator[Plain]:
    if reason := _word(status, "reason"):
        yield make_event(about, reason, _word(status, "message") or reason, _word(status, "startTime"), is_bad=True)
    for one in _list(status, "conditions"):
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            reason, message = (
                _word(one, "reason") or "PodScheduled",
                _word(one, "message") or "the pod is not scheduled",
            )
            pod_event = make_event(about, reason, message, _word(one, "lastTransitionTime"), is_bad=True)
            yield {**pod_event, "source": {"component": "scheduler"}}
    for key in _CONTAINERS:
        for one in _list(status, key):
            yield from container_events(
                about,
                _word(one, "name"),
                _state(_inner(one, "state")),
                _state(_inner(one, "lastState")),
                str(one.get("restartCount", 0)),
            )


def container_events(about: About, name: str, now: State | None, last: State | None, restarts: str) -> Iterator[Plain]:
    """Yield the events of one container: its last termination, and its current state.

    `name` and `restarts` are empty if they are unknown.
    """
    for state in (last, now):
        if state is None:
            continue
        before = f", last state {last.reason}, exit code {last.exit_code}" if last and last.exit_code else ""
        is_bad = True
        match state.kind:
            case "Terminated":
                description = f"terminated: {state.reason or 'Error'}, exit code {state.exit_code or '?'}"
                is_over = state is last and now is not None and now.kind == "Running" and state.reason in _RESTARTED
                is_bad = state.exit_code != "0" and not is_over
            case "Waiting" if state is now:
                description = f"is waiting: {state.reason or 'no reason'}{before}"
                is_bad = state.reason not in _BEGINNING
            case "Running" if state is now:
                description, is_bad = "is running", False
            case _:
                continue
        signal = f", signal {state.signal}" if state.signal not in {"", "0"} else ""
        identity = f", id {state.container_id}" if state.container_id and state.kind == "Terminated" else ""
        again = ", now Running" if state is last and now is not None and now.kind == "Running" else ""
        count = f", restart count {restarts}" if restarts else ""
        message = f"Container{name and f' {name}'} {description}{signal}{count}{identity}{again}"
        message += f": {state.message}" if state.message else ""
        yield make_event(about, state.reason or state.kind, message, state.ended or state.began, is_bad=is_bad)


def node_condition(about: About, kind: str, status: str, reason: str, message: str, times: tuple[str, str]) -> Plain:
    """Return the event of a node's condition; a Warning if Ready is false, or if another condition is true.

    The times, of RFC 3339, are those of its last change and of kubelet's last report. If a node has not been Ready for
    longer than a start takes, the event counts at both.
    """
    since, seen = times
    is_bad = status == "Unknown" or (status == "True") is (kind != "Ready")
    condition = f"Condition {kind} is {status}"
    if (kind, status) == ("Ready", "False") and since and seen and _is_long(since, seen):
        event = make_event(about, reason or kind, f"{condition} since {since}: {message}", seen, is_bad=True)
        return {**event, "firstTimestamp": since, "count": 2}
    return make_event(about, reason or kind, f"{condition}: {message}", since, is_bad=is_bad)


def _is_long(since: str, seen: str) -> bool:
    began, ended = (datetime.fromisoformat(time).astimezone(UTC) for time in (since, seen))
    return ended - began >= _LONG


def make_event(about: About, reason: str, message: str, time: str, *, is_bad: bool) -> Plain:
    """Return an event as in the API."""
    involved = {"kind": about.kind, "namespace": about.namespace, "name": about.name}
    return {
        "kind": "Event",
        "involvedObject": {key: value for key, value in involved.items() if value},
        "type": "Warning" if is_bad else "Normal",
        "reason": reason,
        "message": message,
        "source": {"component": "kubelet", "host": about.node} if about.node else {"component": "kubelet"},
        **({"lastTimestamp": time} if time else {}),
    }


def _state(item: Plain) -> State | None:
    for key in ("terminated", "waiting", "running"):
        if key in item:
            inner = _inner(item, key)
            return State(
                key.capitalize(),
                reason=_word(inner, "reason"),
                message=_word(inner, "message"),
                exit_code=str(inner["exitCode"]) if "exitCode" in inner else "",
                signal=str(inner["signal"]) if "signal" in inner else "",
                began=_word(inner, "startedAt"),
                ended=_word(inner, "finishedAt"),
                container_id=_word(inner, "containerID"),
            )
    return None


def _inner(item: Plain, key: str) -> Plain:
    value = item.get(key)
    return value if isinstance(value, dict) else {}


def _list(item: Plain, key: str) -> list[Plain]:
    value = item.get(key)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _word(item: Plain, key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""
