"""Find pods that kubelet retries again and again, and whose failures no finding explains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from kvdiag.analysis.error_lines.error_index import ErrorIndex
from kvdiag.analysis.error_lines.groups import end_of, is_ongoing
from kvdiag.base.clock import is_unanchored
from kvdiag.events.raw_events import RawEvent
from kvdiag.history.correlate.clocks import SourceClock
from kvdiag.history.correlate.event_filter import Scope
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.model.error_groups import RetriedPod
from kvdiag.model.report import Finding

KINDS = frozenset(("container.backoff", "container.start.failed", "container.image.failed", "pod.sync.failed"))
LEAST = 3  # failures of a pod that is listed: the first tries of a pod often fail
MOST_NAMED = 100


def retried_pods(
    logs: Iterable[LogEvents],
    clocks: Mapping[str, SourceClock],
    known: AbstractSet[str],
    scope: Scope,
    error_index: ErrorIndex,
) -> tuple[RetriedPod, ...]:
    """Return retried pods without one of the `known` names, ongoing ones first, then by number of failures.

    Only failures are counted that no finding explains.
    """
    pods: dict[str, RetriedPod] = {}
    for log in logs:
        clock = clocks[log.source]
        unexplained = [
            one
            for one in log.raw_events
            if one.match.entry.kind in KINDS and not error_index.is_explained(log.source, one.line)
        ]
        for name, failures in _by_pod(unexplained, known).items():
            times = [(clock.utc(one.stamp, one.line), one) for one in failures]
            inside = [(time, one) for time, one in times if scope.covers(time, time) and not is_unanchored(time)]
            if inside:
                pods[name] = _merged(pods.get(name), name, inside, log.source, end_of(log, clock, scope))
    often = [pod for pod in pods.values() if pod.count >= LEAST]
    return tuple(sorted(often, key=lambda pod: (not pod.is_ongoing, -pod.count, pod.pod))[:MOST_NAMED])


def names_of(finding: Finding) -> tuple[str, ...]:
    """Return all names of a finding's subject: pods with these names are explained."""
    return (finding.subject.name, *finding.subject.ids.values())


def _by_pod(failures: Iterable[RawEvent], known: AbstractSet[str]) -> dict[str, list[RawEvent]]:
    """Return the failures of each pod; several lines of one failed call count once."""
    pods: dict[str, dict[tuple[str, int], RawEvent]] = {}
    for raw_event in failures:
        names = dict(_names(raw_event))
        name = names.get("pod") or names.get("pod_uid", "")
        if name and not known & set(names.values()):
            pods.setdefault(name, {})[raw_event.match.entry.kind, raw_event.line] = raw_event
    return {name: _commonest(list(told.values())) for name, told in pods.items()}


def _names(raw_event: RawEvent) -> Iterator[tuple[str, str]]:
    return ((ref.kind, ref.value) for ref in raw_event.match.refs)


def _commonest(failures: list[RawEvent]) -> list[RawEvent]:
    """Return the failures of the most frequent kind: kubelet, the runtime and the pod worker log the same failure."""
    kinds: dict[str, list[RawEvent]] = {}
    for one in failures:
        kinds.setdefault(one.match.entry.kind, []).append(one)
    return max(kinds.values(), key=_count)


def _count(failures: Iterable[RawEvent]) -> int:
    return sum(one.more[0] if one.more else 1 for one in failures)


def _merged(
    before: RetriedPod | None, name: str, failures: Sequence[tuple[int, RawEvent]], source: str, end: int | None
) -> RetriedPod:
    times, count = [time for time, _ in failures], _count(one for _, one in failures)
    begins, ends = min(times), max(times)
    now = RetriedPod(name, count, begins, ends, (source,), is_ongoing=is_ongoing(count, begins, ends, end))
    if before is None:
        return now
    return RetriedPod(
        name,
        max(before.count, count),  # two logs contain the same failures
        min(before.begins, begins),
        max(before.ends, ends),
        (*before.sources, source),
        is_ongoing=before.is_ongoing or now.is_ongoing,
    )
