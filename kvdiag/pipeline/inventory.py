"""What was seen: every pod or volume with the state it reached, what it waits for, and what was found about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kvdiag.clock import SECOND
from kvdiag.correlate.lives import Lives
from kvdiag.correlate.phases import now, percentiles, phases, pulls_in
from kvdiag.errors import InputError
from kvdiag.model.lifecycle import Life, Passage, Phase
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History, Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.pipeline.analyze import inputs, know, read_history
from kvdiag.pipeline.options import Options
from kvdiag.pipeline.read import Progress
from kvdiag.report.tables import Inventory, Row
from kvdiag.rules.findings import find
from kvdiag.rules.rank import rank

PATIENCE = 60 * SECOND  # who waits longer than this for the next step is stuck
FAILED = (".failed", "-failed", ".timeout")
ECHOES = frozenset({"pod.sync.failed"})  # repeats another failure, if there is one
NONE = frozenset({"runtime.status.failed", "pod.probe.failed"})  # no operation: a container that is gone, a judgement

Key = tuple[SubjectKind, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which rows: all pods or volumes, narrowed; `everything` has local volumes too, `slow` adds the breakdown."""

    kind: SubjectKind
    namespace: str = ""
    driver: str = ""
    node: str = ""
    stuck: bool = False
    everything: bool = False
    slow: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """An inventory with how its inputs were read."""

    inventory: Inventory
    problems: tuple[InputError, ...]
    understood: bool


def take(options: Options, wanted: Wanted, progress: Progress = lambda _source, _bytes: None) -> Taken:
    """Read all inputs, ask every rule, and list what is wanted. Problems with single inputs are told, not raised."""
    knowledge = know(options)
    problems: list[InputError] = []
    analysis = read_history(inputs(options, problems), knowledge, options, problems, progress)
    found = rank(list(find(knowledge.rules, analysis.history, knowledge.vocabulary.kinds)), analysis.history)
    rows = tuple(sorted(_rows(analysis.history, found, wanted), key=lambda row: (row.name, row.life.since, row.node)))
    inventory = Inventory(
        kind=wanted.kind,
        rows=rows,
        spreads=percentiles(phase for row in rows for phase in row.phases),
        slow=wanted.slow,
        begins=analysis.history.begins,
        ends=_ends(analysis.history, ""),
    )
    return Taken(inventory, tuple(problems), any(reading.records for reading in analysis.readings))


def _rows(history: History, findings: Sequence[Finding], wanted: Wanted) -> Iterator[Row]:
    lives = Lives(history)
    pulls = pulls_in(history) if wanted.slow else ()
    about: dict[Key, list[Finding]] = defaultdict(list)
    for finding in findings:
        about[finding.subject.kind, finding.subject.key].append(finding)
    for key, timeline in history.timelines.items():
        if key[0] is wanted.kind:
            for life in lives.on_nodes(timeline):
                parts = phases(life, history, pulls) if wanted.slow else ()
                row = _row(life, timeline, history, about[key], wanted, parts)
                if _is_wanted(row, wanted):
                    yield row


def _row(
    life: Life,
    timeline: Timeline,
    history: History,
    findings: Sequence[Finding],
    wanted: Wanted,
    parts: tuple[Phase, ...],
) -> Row:
    node = life.subject.ids.get("node", "")
    failures = _failures(life)
    waited = _ends(history, node) - life.since
    failing = any(passage.event.ends >= life.since for passage in failures)
    return Row(
        life=life,
        node=node,
        driver=_driver(life, timeline, history, wanted.driver),
        namespaces=tuple(sorted(_namespaces(timeline, history))),
        certain=not life.passages or life.passages[-1].certain,
        stuck=bool(life.waits_for) and (failing or waited > PATIENCE),
        retries=sum(passage.event.count for passage in failures),
        failure=failures[-1].step if failures else "",
        findings=tuple(dict.fromkeys(f.rule.name for f in findings if f.subject.ids.get("node", "") in {node, ""})),
        phases=parts,
        now=now(life, parts) if wanted.slow else None,
    )


def _is_wanted(row: Row, wanted: Wanted) -> bool:
    local = row.life.machine == "volume/local" and not wanted.everything
    empty = row.life.state == "ABSENT" and not row.retries and not row.findings  # a name without a story
    return not local and not empty and all(_matches(row, wanted))


def _matches(row: Row, wanted: Wanted) -> Iterator[bool]:
    yield not wanted.namespace or wanted.namespace in row.namespaces
    yield not wanted.driver or row.driver == wanted.driver
    yield not wanted.node or row.node == wanted.node
    yield not wanted.stuck or row.stuck


def _failures(life: Life) -> list[Passage]:
    """Failed operations as one side tells them: kubelet's failures, else those of driver, runtime and controllers."""
    failed = [p for p in life.passages if p.event.kind.endswith(FAILED) and p.event.kind not in NONE]
    told = [p for p in failed if p.event.kind not in ECHOES] or failed
    return [p for p in told if p.event.component == "kubelet"] or told


def _driver(life: Life, timeline: Timeline, history: History, wanted: str) -> str:
    """The volume's driver; for a pod the one that was asked for, if one of its volumes has it."""
    if life.subject.kind is SubjectKind.VOLUME:
        return life.subject.ids.get("driver", "")
    return wanted if wanted and any(ids.get("driver") == wanted for ids in _used(timeline, history)) else ""


def _namespaces(timeline: Timeline, history: History) -> set[str]:
    """The subject's own, or those of the pods that use a volume."""
    own = timeline.subject.ids.get("namespace", "")
    return ({own} if own else {ids.get("namespace", "") for ids in _used(timeline, history)}) - {""}


def _used(timeline: Timeline, history: History) -> Iterator[Mapping[str, str]]:
    for key in timeline.uses:
        if key in history.timelines:
            yield history.timelines[key].subject.ids


def _ends(history: History, node: str) -> int:
    """When the kubelet's log on the node ends; where there is none, when the last event was."""
    heard = [c.ends for c in history.coverage if c.component == "kubelet" and (not node or c.node in {node, ""})]
    return max(heard, default=history.ends)
