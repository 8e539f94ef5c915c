"""Determine the state of a fault at the end of the logs: over, ongoing, or ended by the removal of its pod."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvdiag.base.clock import MINUTE, SECOND, parse_duration
from kvdiag.events.names import UNNAMED, unnamed_pod
from kvdiag.model.event import Event
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import History
from kvdiag.model.values import State, SubjectKind
from kvdiag.rules.chain_steps import count_occurrences
from kvdiag.rules.selection import Selected
from kvdiag.rules.stretches import BEFORE_MOUNT, MOUNT, ends_fault, operation

_GONE = frozenset({"pod.removed", "pod.orphan.removed", "pod.orphan.volume-cleaned"})
"""Kinds of events after which the pod is deleted from the API, or its folder from the node."""
REMOVED = _GONE | {"pod.worker.finished", "pod.worker.history-removed", "pod.volumes.unmounted"}
"""Kinds of events after which a pod is no longer started, so that its start cannot fail again."""
STARTED = frozenset({"container.started.recorded", "pod.startup.observed"})
"""kubelet starts a container once the pod's volumes are mounted and its sandbox runs."""
BEFORE_START = MOUNT | BEFORE_MOUNT | {"sandbox.create"}
"""Operations that have succeeded when a container of the pod starts."""
NEXT_TRY = 5 * MINUTE + 30 * SECOND  # kubelet's longest backoff of 5m, and 30s for a busy node
_ENDS = frozenset({"pod.end", "pod.cleanup", "container.stop", "sandbox.stop", "volume.unpublish", "volume.unstage",
                   "volume.detach"})  # fmt: skip
"""Capabilities for the removal of a pod: if the pod was removed, they work again."""


class End(NamedTuple):
    """The state at the end of the logs, and when the fault ended or its pod was removed (microseconds UTC).

    `source` is the log that shows it.
    """

    state: State
    at: int | None = None
    source: str = ""


def end_of(rule: Rule, selected: Selected, lines: Sequence[Event], ends: int, history: History) -> End:
    """Return the state of a fault whose last line was at `ends`.

    `lines` are its evidence, `selected` all events of the rule's names.
    """
    success = _first_success(rule, selected, lines, ends) or _first_start(rule, lines, ends, history)
    is_of_end = not _ENDS.isdisjoint((*rule.breaks, *rule.suffers))
    if success is not None and (success.kind not in REMOVED or is_of_end):
        return End(State.OVER, success.time, success.origin.source)
    removed = success if success is not None else None if is_of_end else _removed(rule, lines, ends, history)
    if removed is not None:
        return End(State.DELETED, removed.time, removed.origin.source)
    is_due = _log_ends(lines, history) - ends > _next_try(lines)
    return End(State.ONGOING if _is_tried_again(lines) and not is_due else State.UNKNOWN)


def _first_success(rule: Rule, selected: Selected, lines: Sequence[Event], ends: int) -> Event | None:
    """Return the first event after the last failure that heals the fault by the rule."""
    since = ends + (rule.healed.after if rule.healed else 0)
    last = max(lines, key=lambda event: event.ends) if lines else None
    successes = (
        event
        for event in selected.of_names(rule.healed.by if rule.healed else ())
        if event.time > since and (last is None or ends_fault(event, last))
    )
    return min(successes, key=lambda event: event.time, default=None)


def _first_start(rule: Rule, lines: Sequence[Event], ends: int, history: History) -> Event | None:
    """Return the first start of a container in the pod, which proves that an earlier step no longer fails."""
    last = max(lines, key=lambda event: event.ends, default=None)
    if rule.healed is None or last is None or not _is_before_start(last):
        return None
    pod = last.ref("pod_uid") or last.ref("pod") or last.ref("pod_name")
    pod = unnamed_pod(last.origin.source) if pod == UNNAMED else pod
    timeline = history.timelines.get((SubjectKind.POD, pod))
    starts = (one for one in (timeline.events if timeline else ()) if one.kind in STARTED and one.time > ends)
    return min(starts, key=lambda event: event.time, default=None)


def _is_before_start(event: Event) -> bool:
    return operation(event) in BEFORE_START or event.kind == "volume.multi-attach"


def _removed(rule: Rule, lines: Iterable[Event], ends: int, history: History) -> Event | None:
    """Return the removal of the last of the pods in the lines; None if one of them may still exist."""
    if rule.per is SubjectKind.NODE:
        return None
    pods = {uid for event in lines if (uid := event.ref("pod_uid"))}
    removals = [_removal(uid, ends, history) for uid in pods]
    known = [removal for removal in removals if removal is not None]
    return max(known, key=lambda one: one.time, default=None) if len(known) == len(removals) else None


def _removal(uid: str, since: int, history: History) -> Event | None:
    timeline = history.timelines.get((SubjectKind.POD, uid))
    events = timeline.events if timeline else ()
    gone = (one for one in events if one.time > since and one.kind in _GONE)
    return min(gone, key=lambda one: one.time, default=None)


def _is_tried_again(lines: Sequence[Event]) -> bool:
    """Return whether the failed operation is retried, so that silence afterwards means something."""
    return count_occurrences(lines) > 1 or any(event.kind.endswith((".failed", ".refused")) for event in lines)


def _log_ends(lines: Sequence[Event], history: History) -> int:
    """Return when the logs end of the programs that printed these lines, or a table with them was printed."""
    printed = {(event.component, event.node) for event in lines}
    ends = [one.ends for one in history.coverage if (one.component, one.node) in printed] or [history.ends]
    return max([*ends, *(history.listed.get(event.origin.source, 0) for event in lines)])


def _next_try(lines: Iterable[Event]) -> int:
    waits = (parse_duration(event.attrs.get("backoff", "")) or 0 for event in lines)
    return max(NEXT_TRY, max(waits, default=0) + 30 * SECOND)
