"""Filters of a report: the time window, and which findings are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from kvdiag.base.clock import DAY, rfc3339
from kvdiag.base.errors import InputError, UsageError, WindowError, check_choice
from kvdiag.base.suggestions import nearest
from kvdiag.events.snapshots.fact import SNAPSHOT_KINDS
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.inputs.folders import SkippedError
from kvdiag.model.options import Options
from kvdiag.model.report import Finding, Reading
from kvdiag.model.timeline import History, SubjectKey, Timeline
from kvdiag.model.values import Severity, SubjectKind, Verdict
from kvdiag.safe.clean import clean


def at_last_day(options: Options, ends: int) -> Options:
    """Return the options with times of day set to the last time they were before the logs end (microseconds UTC)."""
    since, until = (
        given if clock is None else ends - (ends - clock) % DAY
        for given, clock in ((options.since, options.since_clock), (options.until, options.until_clock))
    )
    if options.until_clock is not None and since is not None and until is not None and until < since:
        until += DAY
    return options._replace(since=since, until=until)


def window_problems(readings: Sequence[Reading], history: History, options: Options) -> Iterator[InputError]:
    """Yield a problem if no log covers the time from `--since` to `--until`, or no event lies in it."""
    since, until = options.since, options.until
    spans = [(one.begins, one.ends) for one in readings if one.begins is not None and one.ends is not None]
    if (since is None and until is None) or not spans:
        return
    name = " ".join(
        f"{option} {_second(at)}" for option, at in (("--since", since), ("--until", until)) if at is not None
    )
    reach = f"these logs run from {_second(min(spans)[0])} to {_second(max(ends for _, ends in spans))}"
    if not any((since is None or ends >= since) and (until is None or begins <= until) for begins, ends in spans):
        yield WindowError(name, f"nothing was logged in that time; {reach}")
    elif all(event.kind in SNAPSHOT_KINDS for event in history.events):
        yield SkippedError(name, f"no recognized event in that time; {reach}")


def _second(stamp: int) -> str:
    return rfc3339(stamp, "seconds")


def severity_of(word: str, option: str) -> Severity:
    """Return the lowest requested severity. Raise UsageError, which names the option, for an unknown word."""
    check_choice(option, clean(word), [severity.label for severity in Severity], what="severity")
    return Severity.from_label(word)


def is_sure_and_grave(finding: Finding, options: Options) -> bool:
    """Return whether a finding has a verdict and a severity that the options request."""
    return (finding.verdict is not Verdict.POSSIBLE or options.show_possible) and finding.severity >= options.severity


def requested_findings(ranked: Sequence[Finding], options: Options, history: History) -> list[Finding]:
    """Return findings on the requested subjects, and the causes that explain them."""
    if not (options.namespace or options.pod or options.volume or options.node):
        return list(ranked)
    above = {finding.key: finding.explained_by for finding in ranked}
    shown_keys: set[str | None] = set()
    for finding in ranked:
        key: str | None = finding.key if _is_about(finding, options, history) else None
        while key is not None and key not in shown_keys:
            shown_keys.add(key)
            key = above.get(key)
    return [finding for finding in ranked if finding.key in shown_keys]


def _is_about(finding: Finding, options: Options, history: History) -> bool:
    names = set(_names(finding, history))
    checks: list[tuple[str, Callable[[str], bool]]] = [
        (options.namespace, lambda wanted: any(name.startswith(f"{wanted}/") for name in names)),
        (options.pod, lambda wanted: any(_is_pod(name, wanted) for name in names)),
        (options.volume, lambda wanted: wanted in names),
        (options.node, lambda wanted: finding.subject.ids.get("node", "") in {wanted, ""}),
    ]
    return all(check(wanted) for wanted, check in checks if wanted)


def check_pod(pod: str, logs: Iterable[LogEvents], history: History) -> None:
    """Raise UsageError if no line names such a pod."""
    lines = (ref for log in logs for raw_event in log.raw_events for ref in raw_event.match.refs)
    named = {ref.value for ref in lines if ref.kind in {"pod", "pod_uid"}}
    for timeline in history.timelines.values():
        if timeline.subject.kind is SubjectKind.POD:
            named |= {timeline.subject.name, *timeline.subject.ids.values()}
    if any(_is_pod(name, pod) for name in named):
        return
    pods = sorted(name for name in named if "/" in name)
    near = nearest(pod, pods) or next((name for name in pods if pod in name), "")
    similar = f"; did you mean {clean(near)}?" if near else ""
    raise UsageError(f"--pod {clean(pod)}: no pod of that name in these logs{similar}")


def requested_subjects(options: Options, history: History) -> frozenset[SubjectKey] | None:
    """Return the keys of the requested pods and volumes and of what they use; None if none is requested."""
    options_checked: list[tuple[str, Callable[[Timeline], bool]]] = [
        (options.namespace, lambda one: one.subject.ids.get("namespace") == options.namespace),
        (options.pod, lambda one: one.subject.kind is SubjectKind.POD and _is_called(one, options.pod)),
        (options.volume, lambda one: one.subject.kind is SubjectKind.VOLUME and _is_called(one, options.volume)),
    ]
    checks = [check for wanted, check in options_checked if wanted]
    if not checks:
        return None
    return frozenset.intersection(
        *(
            frozenset(
                other
                for key, one in history.timelines.items()
                if check(one)
                for other in (key, *history.timelines.linked_to(key))
            )
            for check in checks
        )
    )


def _is_called(timeline: Timeline, pod: str) -> bool:
    subject = timeline.subject
    return any(_is_pod(name, pod) for name in (subject.name, subject.key, *subject.ids.values()))


def _is_pod(name: str, pod: str) -> bool:
    return name == pod or name.endswith(f"/{pod}")


def _names(finding: Finding, history: History) -> Iterator[str]:
    """Yield every name of the subject and of the pods and volumes that it uses."""
    yield from finding.subject.ids.values()
    yield finding.subject.name
    for key in history.timelines.linked_to((finding.subject.kind, finding.subject.key)):
        if key[0] in {SubjectKind.POD, SubjectKind.VOLUME} and key in history.timelines:
            yield from history.timelines[key].subject.ids.values()
