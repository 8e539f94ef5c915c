"""The inventory as plain JSON values."""

from __future__ import annotations

from typing import Any

from kvdiag.base.clock import rfc3339
from kvdiag.history.views.phases import awaits
from kvdiag.model.lifecycle import Phase
from kvdiag.model.views import Inventory, InventoryRow

HEADS = (
    "name",
    "ids",
    "node",
    "driver",
    "machine",
    "state",
    "certain",
    "since",
    "stuck",
    "waits_for",
    "retries",
    "failure",
    "illegal",
    "findings",
    "causes",
    "phases",
    "now",
)


def document(inventory: Inventory) -> dict[str, Any]:
    """Return what `-o json` prints."""
    values: dict[str, Any] = {
        "schema": f"kvdiag.{inventory.kind}s/1",
        "begins": rfc3339(inventory.begins),
        "ends": rfc3339(inventory.ends),
        "items": map(plain_row, inventory.rows),
    }
    if inventory.slow:
        values["steps"] = [
            {"name": s.name, "count": s.times}
            | {name: value / 1_000_000 for name, value in zip(("p50", "p90", "p99", "max"), s[2:], strict=True)}
            for s in inventory.spreads
        ]
    return values


def plain_row(row: InventoryRow) -> dict[str, Any]:
    """Return one row, with the keys `HEADS`."""
    life = row.life
    values = (
        life.subject.name,
        {name.replace("volume_handle", "handle"): value for name, value in life.subject.ids.items()},
        row.node,
        row.driver,
        life.machine,
        life.state,
        row.certain,
        rfc3339(life.since),
        row.stuck,
        life.waits_for,
        row.retries,
        row.failure,
        list(row.illegal),
        list(row.findings),
        list(row.causes),
        [_phase(phase) for phase in row.phases],
        _phase(row.now) | {"waits_for": awaits(life, row.now)} if row.now else None,
    )
    return dict(zip(HEADS, values, strict=True))


def _phase(phase: Phase) -> dict[str, Any]:
    seconds = None if phase.ends is None else (phase.ends - phase.begins) / 1_000_000
    return {
        "name": phase.name,
        "begins": rfc3339(phase.begins),
        "ends": rfc3339(phase.ends),
        "seconds": seconds,
        "by": phase.by,
    }
