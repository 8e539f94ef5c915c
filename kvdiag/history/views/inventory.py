"""A history → the rows of `kvdiag pods` and `kvdiag volumes`: the state each reached, and what is worth a column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kvdiag.base.clock import SECOND
from kvdiag.history.lifecycles.build import LifecycleBuilder
from kvdiag.history.views.causes import causes
from kvdiag.history.views.phases import now, phases, pulls_in
from kvdiag.model.event import Event
from kvdiag.model.lifecycle import Lifecycle, Phase, Transition
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History, SubjectKey, Timeline
from kvdiag.model.values import Severity, State, SubjectKind
from kvdiag.model.views import InventoryRow

PATIENCE = 60 * SECOND  # who waits longer than this for the next step is stuck
FAILED = (".failed", "-failed", ".timeout")
SUCCEEDED = ".succeeded"
ECHOES = frozenset({"pod.sync.failed"})  # repeats another failure, if there is one
STABLE = ("unique_name", "volume_handle", "staging_path", "attachment")  # names of a volume that do not change
# No operation: a container that is gone, a judgement.
NOT_OPERATIONS = frozenset({"runtime.status.failed", "pod.probe.failed"})


ORDERS: Mapping[str, Callable[[InventoryRow], int | str]] = {
    "name": lambda _row: 0,
    "retries": lambda row: -row.retries,
    "since": lambda row: row.life.since,
    "state": lambda row: row.life.state,
    "node": lambda row: row.node,
}
"""By what rows are sorted: the most retries first, the oldest state first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryFilter:
    """Which rows: all pods or volumes, narrowed; `everything` has local volumes too, `slow` adds the breakdown.

    `order` is one of `ORDERS`; `without` are keys of subjects to leave out.
    """

    kind: SubjectKind
    namespace: str = ""
    driver: str = ""
    node: str = ""
    stuck: bool = False
    everything: bool = False
    slow: bool = False
    order: str = "name"
    without: frozenset[SubjectKey] = frozenset()


def is_failed_operation(kind: str) -> bool:
    """Whether an event of the kind says that an operation failed."""
    return kind.endswith(FAILED) and kind not in NOT_OPERATIONS


def without_namesakes(listed: Sequence[InventoryRow]) -> Iterator[InventoryRow]:
    """The rows without those of a volume that a later row has by another key: some events name only its attachment."""
    later: set[tuple[str, str]] = set()
    for row in reversed(listed):
        ids = row.life.subject.ids
        names = [row.life.subject.key, *(ids[name] for name in STABLE if name in ids)]
        if later.isdisjoint((name, row.node) for name in names):
            yield row
        later.update((name, node) for name in names for node in (row.node, ""))


def sort_rows(listed: Iterable[InventoryRow], order: str) -> list[InventoryRow]:
    """The rows in one of `ORDERS`, by name where they are equal in that."""
    by_name = sorted(listed, key=lambda row: (row.name, row.life.since, row.node))
    return sorted(by_name, key=ORDERS[order])


def rows(history: History, findings: Sequence[Finding], filters: InventoryFilter) -> Iterator[InventoryRow]:
    """A row for each requested pod, or for each volume on each node, stuck or not."""
    lives, above = LifecycleBuilder(history), causes(findings)
    nodes = {event.node for event in history.events}
    only = nodes.pop() if len(nodes) == 1 else ""
    pulls = pulls_in(history) if filters.slow else ()
    about: dict[SubjectKey, list[Finding]] = defaultdict(list)
    for finding in findings:
        about[finding.subject.kind, finding.subject.key].append(finding)
    for key in history.timelines:
        if key[0] is filters.kind and key not in filters.without:
            timeline = history.timelines[key]
            for life in lives.on_nodes(timeline):
                parts = phases(life, history, pulls) if filters.slow else ()
                row = _row(life, timeline, history, about[key], filters, parts)
                if _is_listed(row, filters):
                    yield replace(row, node=row.node or only, causes=_causes(row, about[key], above))


def _row(
    life: Lifecycle,
    timeline: Timeline,
    history: History,
    findings: Sequence[Finding],
    filters: InventoryFilter,
    parts: tuple[Phase, ...],
) -> InventoryRow:
    node = life.subject.ids.get("node", "")
    failed = _failed(life.transitions)
    is_doubtful = _only_fails(life.transitions) and not any(_lasts(one) for one in findings if _is_on(one, node))
    is_late = ends(history, node) - life.since > PATIENCE
    is_failing = any(event.ends >= life.since for event in (transition.event for transition in failed))
    return InventoryRow(
        life=replace(life, transitions=()),
        node=node,
        driver=_driver(life, timeline, history, filters.driver),
        namespaces=tuple(sorted(_namespaces(timeline, history))),
        certain=not life.assumed and (not life.transitions or life.transitions[-1].certain),
        stuck=bool(life.waits_for) and not is_doubtful and (is_failing or is_late),
        retries=sum({one.event.origin: one.event.count for one in failed}.values()),  # a line may report two events
        failure=max(failed, key=lambda transition: transition.event.ends).step if failed else "",
        failures=tuple(_not_repaired(failed, life.transitions)),
        illegal=tuple(transition.violation for transition in life.transitions if not transition.legal),
        is_doubtful=is_doubtful,
        findings=tuple(sorted({one.rule.name for one in findings if _is_on(one, node)})),
        phases=parts,
        now=now(life, parts) if filters.slow else None,
    )


def _only_fails(transitions: Iterable[Transition]) -> bool:
    """Whether all that is known of it are failures, as in rows of kubectl's events, which do not tell of a success."""
    return all(transition.event.kind.endswith(FAILED) for transition in transitions)


def _lasts(finding: Finding) -> bool:
    return finding.severity is not Severity.INFO and finding.state not in {State.OVER, State.DELETED}


def _is_on(finding: Finding, node: str) -> bool:
    return finding.subject.ids.get("node", "") in {node, ""}


def _causes(row: InventoryRow, findings: Sequence[Finding], above: Mapping[str, Finding]) -> tuple[str, ...]:
    here = [above[one.key].rule.name for one in findings if one.key in above and _is_on(one, row.node)]
    return tuple(dict.fromkeys(here))


def _is_listed(row: InventoryRow, filters: InventoryFilter) -> bool:
    """Whether it is of what was asked for, stuck or not."""
    local = row.life.machine == "volume/local" and not filters.everything
    empty = row.life.state == "ABSENT" and not row.retries and not row.findings  # a name without a story
    return not local and not empty and all(_matches(row, filters))


def _matches(row: InventoryRow, filters: InventoryFilter) -> Iterator[bool]:
    yield not filters.namespace or filters.namespace in row.namespaces
    yield not filters.driver or row.driver == filters.driver
    yield not filters.node or row.node == filters.node


def _failed(transitions: Iterable[Transition]) -> list[Transition]:
    """Failed operations as one side tells them: kubelet's failures, else those of driver, runtime and controllers."""
    failed = [p for p in transitions if is_failed_operation(p.event.kind)]
    failed = [p for p in failed if p.event.kind not in ECHOES] or failed
    return [p for p in failed if p.event.component == "kubelet"] or failed


def _not_repaired(failed: Iterable[Transition], transitions: Iterable[Transition]) -> Iterator[Event]:
    """Yield the last failure of each step without a later success of it."""
    last = {transition.event.kind: transition.event for transition in failed}
    succeeded = {p.event.kind.rpartition(".")[0]: p.event.time for p in transitions if p.event.kind.endswith(SUCCEEDED)}
    yield from (e for e in last.values() if succeeded.get(e.kind.rpartition(".")[0], e.time) <= e.time)


def _driver(life: Lifecycle, timeline: Timeline, history: History, driver: str) -> str:
    """The volume's driver; for a pod the one that was asked for, if one of its volumes has it."""
    if life.subject.kind is SubjectKind.VOLUME:
        return life.subject.ids.get("driver", "")
    return driver if driver and any(ids.get("driver") == driver for ids in _used(timeline, history)) else ""


def _namespaces(timeline: Timeline, history: History) -> set[str]:
    """The subject's own, or those of the pods that use a volume."""
    namespace = timeline.subject.ids.get("namespace", "")
    return ({namespace} if namespace else {ids.get("namespace", "") for ids in _used(timeline, history)}) - {""}


def _used(timeline: Timeline, history: History) -> Iterator[Mapping[str, str]]:
    subject = timeline.subject
    for key in history.timelines.linked_to((subject.kind, subject.key)):
        if key in history.timelines:
            yield history.timelines[key].subject.ids


def ends(history: History, node: str) -> int:
    """When the kubelet's log on the node ends; where there is none, when the last event was."""
    return max((coverage.ends for coverage in history.coverage_of("kubelet", node)), default=history.ends)
