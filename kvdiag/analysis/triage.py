"""Find pods, volumes and nodes that wait for a step and that no finding is about, and the errors that may show why.

    pod shop/web-0 waits for RunPodSandbox since 08:01:02
      1. errors that name the pod, its volumes, sandboxes or containers    identity
      2. of these first those of the inner program: kernel, driver, runtime, then kubelet, then controllers
      3. of one program the one that began closest to the wait

Errors that name another object are not listed, whenever they began; those that name none are, if they began with the
wait and name a cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kvdiag.analysis.case import Analysis, Case
from kvdiag.analysis.error_lines.causes import anatomy_of
from kvdiag.analysis.error_lines.lines import body_of
from kvdiag.analysis.error_lines.wording import fold_message
from kvdiag.analysis.finding_filters import requested_subjects
from kvdiag.base.clock import MINUTE
from kvdiag.formats.authors import DRIVER, SIDECARS
from kvdiag.formats.carriers.carrier import KERNEL
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.history.views.inventory import InventoryFilter, ends, is_failed_operation, rows, without_namesakes
from kvdiag.model.error_groups import ErrorGroup, StuckSubject
from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History, SubjectKey
from kvdiag.model.values import Level, Severity, SubjectKind
from kvdiag.model.views import InventoryRow
from kvdiag.rules.distribution import Dialect, dialect_of
from kvdiag.rules.selection import selects

KINDS = (SubjectKind.NODE, SubjectKind.POD, SubjectKind.VOLUME)
SILENT = 10 * MINUTE  # without an error a step may take long: images of 10 GB, a file system check
NEAR = MINUTE  # between the begin of an error and that of the wait, if the error names no object
OFTEN = 3  # failures of what the logs contain only failures of: the first tries of a pod often fail
CONTROLLER = "Controller"  # the steps of controllers, whose logs may not be among those given
LONG_NAME = 12  # characters; shorter names of volumes and nodes stand in lines about other things too
MOST_EVENTS = 100_000  # of all logs; of more the second history would take longer than all else: 25 µs an event
MOST_STUCK = 20
MOST_GROUPS = 5
INNER_FIRST = (frozenset((KERNEL,)), frozenset((DRIVER, "containerd", "crio", "dockerd", "cri-dockerd")))
INNER_LAST = (frozenset(SIDECARS), frozenset(("kube-controller-manager", "cloud-controller-manager")))
ANCHORS = ("pod_uid", "sandbox_id", "container_id", "pv_name", "volume_handle", "unique_name", "attachment", "pod")


class _Candidate(NamedTuple):
    """A stuck subject, and the names of what belongs to it."""

    row: InventoryRow
    names: frozenset[str]


class _Explained:
    """The events that findings are about."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._lines = {evidence.event.origin for finding in findings for evidence in finding.evidence}
        rules = {finding.rule.name: finding.rule for finding in findings}.values()
        self._selectors = [selector for rule in rules for selector in rule.events.values()]

    def covers(self, event: Event) -> bool:
        """Return whether the event is evidence of a finding, or one that the rule of a finding selects."""
        return event.origin in self._lines or any(selects(selector, event) for selector in self._selectors)


def stuck_subjects(
    case: Case, analysis: Analysis, findings: Sequence[Finding], groups: Sequence[ErrorGroup]
) -> tuple[StuckSubject, ...]:
    """Return the subjects without a finding that wait for a step, those with errors first, then the longest wait.

    The history for the rules has only the events that they need. The one with all events is built only if that shows a
    candidate, or if a line that no finding explains is about an operation that failed; never for more events than
    `MOST_EVENTS`.
    """
    if case.options.rules or sum(len(log.raw_events) for log in analysis.logs) > MOST_EVENTS:
        return ()
    origins = {group.origin for group in groups}
    has_failures = bool(origins) and any(not origins.isdisjoint(_failures(log)) for log in analysis.logs)
    if not (has_failures or any(_candidates(one, findings, case) for one in _parts(analysis.history))):
        return ()
    whole = case.whole_history(analysis)
    found = [(history, one) for history in _parts(whole) for one in _candidates(history, findings, case)]
    found.sort(key=lambda pair: (not pair[1].row.failures, pair[1].row.life.since, pair[1].row.name))
    return tuple(_stuck_subject(one, groups, dialect_of(history, one.row.node)) for history, one in found[:MOST_STUCK])


def _failures(log: LogEvents) -> Iterator[Origin]:
    return (Origin(log.source, one.line) for one in log.raw_events if is_failed_operation(one.match.entry.kind))


def _parts(history: History) -> Sequence[History]:
    """Return the histories that rules are applied to: one of each incident."""
    return tuple(history.incidents.values()) or (history,)


def _candidates(history: History, findings: Sequence[Finding], case: Case) -> list[_Candidate]:
    requested = requested_subjects(case.options, history)
    known = {name for finding in findings for name in _names(finding.subject.ids, finding.subject.name)}
    if any(_explains_node(finding) for finding in findings):
        return []
    of_kinds = [key for key in history.timelines if key[0] in KINDS] if known else ()
    with_finding = frozenset(key for key in of_kinds if not known.isdisjoint(_all_names(history, key)))
    subjects = (history.timelines[key].subject for key in with_finding)
    namesakes = {name for one in subjects for name in _names(one.ids, one.name)}  # other keys of the same volume
    explained = _Explained(findings)
    others = [one for one in findings if (one.subject.kind, one.subject.key) not in with_finding]
    found = []
    for kind in KINDS:
        filters = InventoryFilter(kind=kind, without=with_finding)  # a row takes 50 µs
        for row in without_namesakes([*rows(history, others, filters)]):
            subject = row.life.subject
            key = (kind, subject.key)
            if (requested is not None and key not in requested) or not _waits(row, history):
                continue
            own = {*_names(subject.ids, subject.name)}
            names = own | _all_names(history, key)
            is_known = not (known.isdisjoint(names) and namesakes.isdisjoint(own))
            if not is_known and not any(map(explained.covers, row.failures)):
                found.append(_Candidate(row, frozenset(names)))
    return found


def _explains_node(finding: Finding) -> bool:
    """Return whether a finding about a node or driver may be why its pods and volumes wait."""
    is_wide = finding.subject.kind in {SubjectKind.NODE, SubjectKind.DRIVER}
    return is_wide and finding.severity >= Severity.MEDIUM


def _waits(row: InventoryRow, history: History) -> bool:
    """Return whether a subject waits since an error, or without one for longer than any step takes."""
    life, machine = row.life, lifecycles().machine(row.life.machine)
    if life.subject.kind is SubjectKind.NODE:
        return machine.has(life.state, "trouble")
    if any(event.ends >= life.since for event in row.failures):
        return bool(life.waits_for) and (row.stuck or (row.is_doubtful and row.retries >= OFTEN))
    has_begun = machine.has(life.state, "passing") or life.waits_for not in {"", machine.states[life.state].waits}
    is_here = not life.waits_for.startswith(CONTROLLER)
    return row.stuck and has_begun and is_here and ends(history, row.node) - life.since > SILENT


def _names(ids: object, name: str) -> Iterator[str]:
    values = ids.items() if isinstance(ids, dict) else ()
    yield from (value for kind, value in values if kind in ANCHORS)
    if "/" in name or len(name) >= LONG_NAME:
        yield name


def _all_names(history: History, key: SubjectKey) -> AbstractSet[str]:
    """Return the names of a subject and of what is linked to it."""
    subject = history.timelines[key].subject
    return {*_names(subject.ids, subject.name), *_related(history, key)}


def _related(history: History, key: SubjectKey) -> Iterator[str]:
    """Yield the names of what is linked to a subject: the volumes of a pod, the pods of a volume."""
    for other in history.timelines.linked_to(key):
        if other[0] is not SubjectKind.NODE and other in history.timelines:
            subject = history.timelines[other].subject
            yield from _names(subject.ids, subject.name)


def _stuck_subject(candidate: _Candidate, groups: Sequence[ErrorGroup], dialect: Dialect) -> StuckSubject:
    row, names = candidate
    life = row.life
    own = {event.origin for event in row.failures}
    ranks = ((_rank(group, names, life.since, is_own=group.origin in own), at) for at, group in enumerate(groups))
    ranked = sorted((place, at) for place, at in ranks if place is not None)
    chosen = [groups[at] for _, at in ranked[:MOST_GROUPS]]
    origins = {group.origin for group in groups}
    chosen += [_as_group(event, dialect) for event in row.failures if event.origin not in origins and not chosen]
    return StuckSubject(
        kind=str(life.subject.kind),
        name=row.name,
        node=row.node if row.node != row.name else "",
        state=life.state,
        waits_for=life.waits_for,
        since=life.since,
        failure=row.failure,
        retries=row.retries,
        groups=tuple(chosen),
    )


def _rank(
    group: ErrorGroup, names: AbstractSet[str], since: int, *, is_own: bool
) -> tuple[bool, bool, int, int] | None:
    """Return the place of a group among the errors of a subject; None if it is about something else.

    `is_own` if its first line is a failure of the subject, which may have no name there.
    """
    names_it = is_own or not names.isdisjoint(group.subjects) or any(name in group.sample for name in names)
    away = abs(group.begins - since) if group.begins is not None else NEAR
    says_cause = group.anatomy is not None and group.anatomy.names_cause
    if not names_it and (group.subjects or away > NEAR or not says_cause):
        return None
    return not names_it, not says_cause, _depth(group.component), away


def _depth(component: str) -> int:
    """Return the place of a program in the chain of calls, the innermost first."""
    inner = next((at for at, names in enumerate(INNER_FIRST) if component in names), None)
    if inner is not None:
        return inner
    outer = next((at for at, names in enumerate(INNER_LAST) if component in names), -1)
    return len(INNER_FIRST) + 1 + outer


def _as_group(event: Event, dialect: Dialect) -> ErrorGroup:
    """Return a failure that no line of level warning or worse reports."""
    group = ErrorGroup(
        component=event.component,
        where="",
        level=Level.WARNING,
        message=fold_message(body_of(event.logged)).text,
        count=event.count,
        begins=event.time,
        ends=event.ends,
        is_ongoing=False,
        subjects=(),
        origin=event.origin,
        sample=event.text,
    )
    return group._replace(anatomy=anatomy_of(group, dialect))
