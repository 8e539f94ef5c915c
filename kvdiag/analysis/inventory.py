"""List every pod or volume with its last state, what it waits for, and its findings."""

from __future__ import annotations

from dataclasses import dataclass

from kvdiag.analysis.case import Case, undated_notes
from kvdiag.base.errors import InputError
from kvdiag.history.ingest.log_reader import Progress
from kvdiag.history.views.inventory import InventoryFilter, ends, rows, sort_rows, without_namesakes
from kvdiag.history.views.phases import percentiles
from kvdiag.model.options import Options
from kvdiag.model.views import Inventory


@dataclass(frozen=True, slots=True)
class InventoryResult:
    """An inventory, and how its inputs were read."""

    inventory: Inventory
    problems: tuple[InputError, ...]
    understood: bool


def take_inventory(
    options: Options, filters: InventoryFilter, progress: Progress = lambda _source, _bytes: None
) -> InventoryResult:
    """Read all inputs, evaluate every rule, list the requested subjects. Problems with inputs are returned."""
    case = Case(options)
    analysis = case.read(progress=progress)
    history = analysis.history
    found = list(rows(history, case.findings(history), filters))
    listed = [row for row in without_namesakes(found) if row.stuck or not filters.stuck]
    inventory = Inventory(
        kind=filters.kind,
        rows=tuple(sort_rows(listed, filters.order)),
        spreads=percentiles(phase for row in listed for phase in row.phases),
        slow=filters.slow,
        begins=history.begins,
        ends=ends(history, ""),
    )
    understood = any(reading.records for reading in analysis.readings)
    return InventoryResult(inventory, (*case.problems, *undated_notes(analysis.readings)), understood)
