"""Rewrite `kubectl describe` of pods and nodes: container states and node conditions become events.

    Name:             web-0
    Namespace:        shop
        Last State:     Terminated
          Reason:       OOMKilled
          Exit Code:    137

A container may have been copied without the name of the pod. Each state and each condition is replaced by an event in
JSON on the same line, which has the message of the state; that is left out below it. All other lines are unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.lines import Line, LineRewriter, Lines, json_line
from kvdiag.inputs.status_events import About, State, container_events, make_event, node_condition

_MOST_LINES = 60  # of one container up to its restart count, after which only its resources follow
_LONGEST_MESSAGE = 16 << 10  # bytes; kubelet cuts that of a container at 4 KiB
_NAME = lazy_regex(rb"^[ \t]*Name: {2,}([-a-z0-9.]{1,253})\s*$")
_FACT = lazy_regex(rb"^[ \t]*(Namespace|Node|Status|Reason|Message): {2,}(\S[^\n]*)$")
_HEAD = lazy_regex(rb"(?m)^[ \t]*Name: {2,}\S+\s+^[ \t]*(?:Namespace|Roles|Labels|Annotations): ")
_CONTAINER = lazy_regex(rb"^(  +)([-a-z0-9]{1,63}):\s*$")
_ID = lazy_regex(rb"^ +Container ID: +([a-z-]{1,30}://[0-9a-f]{64})\s*$")
_STATE = lazy_regex(rb"^( *)(State|Last State): +(Running|Waiting|Terminated)\s*$")
_ENDED = lazy_regex(
    rb"(?m)^ *Last State: +Terminated\s*^ *Reason: +\S+\s*(?:^ *Message: (?:[^\n]*\n){1,60}?)?^ *Exit Code: +\d"
)
_DETAIL = lazy_regex(rb"^ *(Reason|Message|Exit Code|Signal|Started|Finished): +(\S[^\n]*?)\s*$")
_RESTARTS = lazy_regex(rb"^ *Restart Count: +(\d+)")
_UNNAMED = About("Pod", "?")  # its name is not in the text
_DATE = rb"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"
_CONDITION = lazy_regex(
    rb"^ +([A-Z]\w{2,60}) +(True|False|Unknown) +(" + _DATE + rb") +(" + _DATE + rb") +([A-Z]\w{2,60}) +(\S[^\n]*?)\s*$"
)


def detect(head: bytes) -> LineRewriter | None:
    """Return the rewriter if the first bytes of an input contain such a description."""
    return _rewrite if _HEAD.search(head) or _ENDED.search(head) else None


def _rewrite(lines: Lines) -> Iterator[Line]:
    about = About("", "")
    held: list[Line] = []  # from the first state of a container on
    name = identity = b""
    while (line := lines.next()) is not None:
        number = lines.number
        if held:
            held.append((number, line))
            is_end = about == _UNNAMED and not line.strip() and not _is_in_message(held)
            if _RESTARTS.match(line) or len(held) >= _MOST_LINES or is_end:
                yield from _container(about, name.decode(), identity.decode(), held)
                held = []
            continue
        about = _about(about, line)
        if (about.kind == "Pod" or not about.name) and _STATE.match(line):
            about = about if about.name else _UNNAMED
            held = [(number, line)]
            continue
        named, identified = _CONTAINER.match(line), _ID.match(line)
        name, identity = (named[2], b"") if named else (name, identified[1] if identified else identity)
        yield number, _status(about, line) or line
    if held:
        yield from _container(about, name.decode(), identity.decode(), held)


def _about(about: About, line: bytes) -> About:
    """Return the object that is described, updated by this line."""
    named = _NAME.match(line)
    if named:
        return About("", named[1].decode())
    found = _FACT.match(line)
    if found is None:
        return about._replace(kind="Node", node=about.name) if line.startswith(b"Roles: ") and about.name else about
    value = found[2].decode("utf-8", "replace").strip()
    if found[1] == b"Namespace" and about.name:
        return about._replace(kind="Pod", namespace=value)
    if found[1] == b"Node" and about.kind == "Pod" and not value.startswith("<"):
        return about._replace(node=value.partition("/")[0])
    return about


def _status(about: About, line: bytes) -> bytes | None:
    """Return a node's condition, or the reason why a pod failed, as an event; None for other lines."""
    if about.kind == "Node" and (found := _CONDITION.match(line)):
        kind, status, seen, since, reason, message = (part.decode("utf-8", "replace") for part in found.groups())
        times = (_rfc3339(since), _rfc3339(seen))
        return json_line(node_condition(about, kind, status, reason, message, times))
    fact = _FACT.match(line) if about.kind == "Pod" and line.startswith(b"Message: ") else None
    return (
        json_line(
            make_event(about, "Failed", fact[2][:_LONGEST_MESSAGE].decode("utf-8", "replace").strip(), "", is_bad=True)
        )
        if fact
        else None
    )


def _is_in_message(held: Sequence[Line]) -> bool:
    """Return whether the last of these lines belongs to a message, which may have blank lines, as Go's panics do."""
    found = (detail[1] for _, line in reversed(held) if (detail := _DETAIL.match(line)))
    return next(found, b"") == b"Message"


def _container(about: About, name: str, identity: str, held: list[Line]) -> Iterator[Line]:
    """Yield the lines of a container from its first state on, with its states as events.

    Its ID is that of the running container; if none runs, that of the one that ended last.
    """
    found: dict[str, tuple[int, str, dict[str, str]]] = {}
    details: dict[str, str] = {}
    messages: set[int] = set()
    restarts = ""
    for number, line in held:
        if state := _STATE.match(line):
            details = {}
            found[state[2].decode()] = (number, state[3].decode(), details)
        elif detail := _DETAIL.match(line):
            details.setdefault(detail[1].decode(), detail[2][:_LONGEST_MESSAGE].decode("utf-8", "replace"))
            messages |= {number} if detail[1] == b"Message" else set()
        elif count := _RESTARTS.match(line):
            restarts = count[1].decode()
        elif messages and not line.startswith(b"    Ready: "):  # another line of the message, which may be any text
            messages.add(number)
    now, last = (_read(found.get(key)) for key in ("State", "Last State"))
    ended = now if now and now.kind == "Terminated" else last if now and now.kind == "Waiting" else None
    now, last = (state and state._replace(container_id=identity if state is ended else "") for state in (now, last))
    events = list(container_events(about, name, now, last, restarts))
    places = [found[key][0] for key in ("Last State", "State") if key in found]
    events_by_line = dict(zip(places[-len(events) :], map(json_line, events), strict=True)) if events else {}
    events_by_line |= dict.fromkeys(messages, b"") if events else {}
    yield from ((number, events_by_line.get(number, line)) for number, line in held)


def _read(found: tuple[int, str, dict[str, str]] | None) -> State | None:
    if found is None:
        return None
    _, kind, details = found
    words = (details.get(key, "") for key in ("Reason", "Message", "Exit Code", "Signal"))
    return State(kind, *words, *(_rfc3339(details.get(key, "")) for key in ("Started", "Finished")))


def _rfc3339(text: str) -> str:
    """Return `Thu, 27 Feb 2025 07:36:21 +0100` as RFC 3339; empty if it is not a time."""
    from email.utils import parsedate_to_datetime  # imports socket: 6 ms of each start

    try:
        return parsedate_to_datetime(text).isoformat() if text else ""
    except ValueError:
        return ""
