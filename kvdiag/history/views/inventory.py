"""A history → the rows of `kvdiag pods` and `kvdiag volumes`: the state each reached, and what is worth a column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kvdiag.base.clock import SECOND
from kvdiag.history.lifecycles.build import LifecycleBuilder
from kvdiag.history.views.causes import causes
from kvdiag.history.views.phases import merge_phases, now, phases, pulls_in
from kvdiag.model.event import Event
from kvdiag.model.inventory import Failure, InventoryRow
from kvdiag.model.lifecycle import Lifecycle, Phase, Transition
from kvdiag.model.report import Finding
from kvdiag.model.timeline import Entity, History, Timeline
from kvdiag.model.values import Severity, State, SubjectKind

PATIENCE = 60 * SECOND  # who waits longer than this for the next step is stuck
FAILED = (".failed", "-failed", ".timeout")
ECHOES = frozenset({"pod.sync.failed"})  # repeats another failure, if there is one
NOT_OPERATIONS = frozenset(
    {"runtime.status.failed", "pod.probe.failed"}
)  # no operation: a container that is gone, a judgement

Key = tuple[SubjectKind, str]

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

    `order` is one of `ORDERS`.
    """

    kind: SubjectKind
    namespace: str = ""
    driver: str = ""
    node: str = ""
    stuck: bool = False
    everything: bool = False
    slow: bool = False
    order: str = "name"


def sort_rows(listed: Iterable[InventoryRow], order: str) -> list[InventoryRow]:
    """The rows in one of `ORDERS`, by name where they are equal in that."""
    by_name = sorted(listed, key=lambda row: (row.name, row.life.since, row.node))
    return sorted(by_name, key=ORDERS[order])


@dataclass(frozen=True, slots=True)
class KnownRows:
    """The rows that are known of the subject of a row, and whether an event has come since they were made."""

    before: Callable[[InventoryRow], Sequence[InventoryRow]]
    is_new: Callable[[Event], bool]


def rows(
    history: History, findings: Sequence[Finding], filters: InventoryFilter, known: KnownRows
) -> Iterator[InventoryRow]:
    """A row for each pod, or for each volume on each node, going on from those that are `known`."""
    lives, above = LifecycleBuilder(history), causes(findings)
    pulls = pulls_in(history) if filters.slow else ()
    about: dict[Key, list[Finding]] = defaultdict(list)
    for finding in findings:
        about[finding.subject.kind, finding.subject.key].append(finding)
    for key, timeline in history.timelines.items():
        if key[0] is filters.kind:
            for life in lives.on_nodes(timeline):
                parts = phases(life, history, pulls) if filters.slow else ()
                row = _row(life, timeline, history, about[key], filters, parts)
                row = replace(row, causes=_causes(row, about[key], above))
                yield with_stuck_state(_continued(row, life.transitions, known), history)


def _row(
    life: Lifecycle,
    timeline: Timeline,
    history: History,
    findings: Sequence[Finding],
    filters: InventoryFilter,
    parts: tuple[Phase, ...],
) -> InventoryRow:
    node = life.subject.ids.get("node", "")
    return InventoryRow(
        life=replace(life, transitions=()),
        node=node,
        driver=_driver(life, timeline, history, filters.driver),
        namespaces=tuple(sorted(_namespaces(timeline, history))),
        certain=not life.assumed and (not life.transitions or life.transitions[-1].certain),
        illegal=_illegal(life.transitions),
        is_doubtful=_only_fails(life.transitions) and not any(_lasts(one) for one in findings if _is_on(one, node)),
        findings=tuple(sorted({one.rule.name for one in findings if _is_on(one, node)})),
        phases=parts,
        now=now(life, parts) if filters.slow else None,
        until=max((event.ends for event in timeline.events), default=life.since),
        failures=_failures(life.transitions),
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


def with_stuck_state(row: InventoryRow, history: History) -> InventoryRow:
    """The row with its failures counted; stuck when one is not over, or when it has waited for too long by the end."""
    own_failures = _of_kubelet(row.failures)
    is_late = ends(history, row.node) - row.life.since > PATIENCE
    is_failing = any(failure.ends >= row.life.since for failure in own_failures)
    return replace(
        row,
        stuck=bool(row.life.waits_for) and not row.is_doubtful and (is_failing or is_late),
        retries=sum(failure.count for failure in own_failures),
        failure=max(own_failures, key=lambda failure: failure.ends).step if own_failures else "",
    )


def _continued(row: InventoryRow, transitions: Sequence[Transition], known: KnownRows) -> InventoryRow:
    """The row with what was known of it before; what was counted then is not counted again."""
    new = [transition for transition in transitions if known.is_new(transition.event)]
    for number, before in enumerate(known.before(row)):
        is_news = bool(new or number)
        both = row if is_news else before
        life = replace(both.life, subject=_subject(before.life.subject, row.life.subject))
        row = replace(
            both,
            life=life,
            namespaces=tuple(sorted({*before.namespaces, *row.namespaces})),
            driver=row.driver or before.driver,
            illegal=(*before.illegal, *(_illegal(new) if not number else row.illegal)),
            findings=tuple(dict.fromkeys((*before.findings, *row.findings))),
            causes=tuple(dict.fromkeys((*before.causes, *row.causes))) if is_news else before.causes or row.causes,
            phases=merge_phases(before.phases, row.phases, life),
            failures=_added(before.failures, row.failures if number else _failures(new)),
            until=max(before.until, row.until),
        )
    return row


def _subject(before: Entity, after: Entity) -> Entity:
    """The subject by its new key, with all names that are known of it."""
    known = after if after.name != after.key else before
    return Entity(kind=after.kind, key=after.key, name=known.name, ids={**before.ids, **after.ids})


def _illegal(transitions: Iterable[Transition]) -> tuple[str, ...]:
    return tuple(transition.violation for transition in transitions if not transition.legal)


def is_listed(row: InventoryRow, filters: InventoryFilter) -> bool:
    """Whether it is of what was asked for, stuck or not."""
    local = row.life.machine == "volume/local" and not filters.everything
    empty = row.life.state == "ABSENT" and not row.retries and not row.findings  # a name without a story
    return not local and not empty and all(_matches(row, filters))


def _matches(row: InventoryRow, filters: InventoryFilter) -> Iterator[bool]:
    yield not filters.namespace or filters.namespace in row.namespaces
    yield not filters.driver or row.driver == filters.driver
    yield not filters.node or row.node == filters.node


def _failures(transitions: Iterable[Transition]) -> tuple[Failure, ...]:
    """Failed operations, those of one kind and step as one."""
    failed = (p for p in transitions if p.event.kind.endswith(FAILED) and p.event.kind not in NOT_OPERATIONS)
    return _added((), (Failure(p.event.kind, p.event.component, p.step, p.event.ends, p.event.count) for p in failed))


def _added(before: Iterable[Failure], after: Iterable[Failure]) -> tuple[Failure, ...]:
    found: dict[tuple[str, str, str], Failure] = {}
    for one in (*before, *after):
        same = found.get(one[:3], one._replace(count=0))
        found[one[:3]] = one._replace(ends=max(same.ends, one.ends), count=same.count + one.count)
    return tuple(found.values())


def _of_kubelet(failures: Iterable[Failure]) -> list[Failure]:
    """Failed operations as one side tells them: kubelet's failures, else those of driver, runtime and controllers."""
    failed = list(failures)
    own_failures = [failure for failure in failed if failure.kind not in ECHOES] or failed
    return [failure for failure in own_failures if failure.component == "kubelet"] or own_failures


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
    for key in timeline.uses:
        if key in history.timelines:
            yield history.timelines[key].subject.ids


def ends(history: History, node: str) -> int:
    """When the kubelet's log on the node ends; where there is none, when the last event was."""
    kubelet_ends = [c.ends for c in history.coverage if c.component == "kubelet" and (not node or c.node in {node, ""})]
    return max(kubelet_ends, default=history.ends)
