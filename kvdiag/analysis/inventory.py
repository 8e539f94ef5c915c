"""List every pod or volume with its last state, what it waits for, and its findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvdiag.analysis.case import Case
from kvdiag.analysis.retention import budget as limits
from kvdiag.analysis.retention.budget import RemainingHistory
from kvdiag.analysis.retention.findings import Judge
from kvdiag.base.errors import InputError
from kvdiag.history.ingest.log_reader import Progress
from kvdiag.history.views.inventory import (
    InventoryFilter,
    KnownRows,
    ends,
    is_listed,
    rows,
    sort_rows,
    with_stuck_state,
)
from kvdiag.history.views.phases import percentiles
from kvdiag.model.event import Event
from kvdiag.model.inventory import Inventory, InventoryRow
from kvdiag.model.options import Options
from kvdiag.model.timeline import Entity, History

STABLE = (
    "unique_name",
    "volume_handle",
    "staging_path",
    "attachment",
)  # stable names of a volume: its key may change when more names become known
IN_USE = frozenset({"RUNNING", "PUBLISHED", "ADDED"})  # in these states a subject waits for nothing and still exists


@dataclass(frozen=True, slots=True)
class InventoryResult:
    """An inventory, and how its inputs were read."""

    inventory: Inventory
    problems: tuple[InputError, ...]
    understood: bool
    notes: tuple[str, ...] = ()


def take_inventory(
    options: Options, filters: InventoryFilter, progress: Progress = lambda _source, _bytes: None
) -> InventoryResult:
    """Read all inputs, evaluate every rule, list the requested subjects. Problems with inputs are returned."""
    case = Case(options)
    retention = InventoryRetention(case, filters)
    analysis = case.read(retention, progress=progress)
    history, left_out = analysis.history, analysis.left_out
    listed = [row for row in retention.all(history) if row.stuck or not filters.stuck]
    inventory = Inventory(
        kind=filters.kind,
        rows=tuple(sort_rows(listed, filters.order)),
        spreads=percentiles(phase for row in listed for phase in row.phases),
        slow=filters.slow,
        begins=left_out.begins if left_out else history.begins,
        ends=ends(history, ""),
    )
    understood = any(reading.records for reading in analysis.readings)
    return InventoryResult(inventory, tuple(case.problems), understood, analysis.notes)


class InventoryRetention:
    """Keeps the rows of subjects whose events are evicted; `judge` provides the findings of a history."""

    notes: tuple[str, ...] = (
        f"subjects without events since {{until}} are listed in their state of then; retries may be low; {limits.NEXT}",
    )
    is_whole = False

    def __init__(self, judge: Judge, filters: InventoryFilter) -> None:
        """Start with no rows."""
        self._judge, self._filters = judge, filters
        self._rows: dict[tuple[str, str], InventoryRow] = {}  # key: a name of the subject, and the node
        self._read: dict[str, int] = {}  # last stored line of each log

    def retain(self, history: History, cut: int) -> Iterator[Event]:
        """Yield the first events of active subjects and of subjects that still wait, as far as there is room."""
        room = limits.MAX_EVENTS // 4
        yield from limits.active_events(history, cut)
        for row in sorted(self._note_rows(history), key=lambda row: row.until, reverse=True):
            timeline = history.timelines.get((self._filters.kind, row.life.subject.key))
            if timeline and row.until < cut and not _is_over(row) and room > 0:
                room -= len(timeline.events)
                yield from timeline.events[: limits.HEAD_EVENTS]
        for event in history.events:
            self._read[event.origin.source] = max(event.origin.line, self._read.get(event.origin.source, 0))

    def on_evicted(self, history: RemainingHistory) -> None:
        """Do nothing: `retain` stored the rows."""

    def all(self, history: History) -> list[InventoryRow]:
        """Return the stored rows and those of the remaining events."""
        self._note_rows(history)
        nodes = {event.node for event in history.events}
        only = nodes.pop() if len(nodes) == 1 else ""
        noted = {id(row): row for row in self._rows.values()}.values()
        return [with_stuck_state(replace(row, node=row.node or only), history) for row in noted]

    def _note_rows(self, history: History) -> list[InventoryRow]:
        """Store the rows of a history; they replace earlier rows of the same subjects."""
        built = rows(history, self._judge.findings(history), self._filters, KnownRows(self._before, self._is_new))
        listed = [row for row in built if is_listed(row, self._filters)]
        for row in listed:
            for before in self._before(row):
                for name in _names(before.life.subject):
                    self._rows.pop((name, before.node), None)
            self._rows.update(((name, row.node), row) for name in _names(row.life.subject))
        return listed

    def _is_new(self, event: Event) -> bool:
        return event.origin.line > self._read.get(event.origin.source, 0)

    def _before(self, row: InventoryRow) -> list[InventoryRow]:
        places = [(name, node) for name in _names(row.life.subject) for node in (row.node, "")]
        return list({id(self._rows[place]): self._rows[place] for place in places if place in self._rows}.values())


def _names(subject: Entity) -> Iterator[str]:
    yield subject.key
    yield from (subject.ids[name] for name in STABLE if name in subject.ids)


def _is_over(row: InventoryRow) -> bool:
    return not row.life.waits_for and row.life.state not in IN_USE
