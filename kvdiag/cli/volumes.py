"""`kvdiag volumes`: every volume with its last state on each node."""

from __future__ import annotations

import typer

from kvdiag.cli.arguments import LogOptions, Paths, PrintOptions, grouped
from kvdiag.cli.pods import InventoryOptions, show
from kvdiag.model.values import SubjectKind


@grouped("verbose", "no_color")
def command(*, paths: Paths = None, inventory: InventoryOptions, logs: LogOptions, printing: PrintOptions) -> None:
    """List volumes: driver, last state, retries, findings."""
    raise typer.Exit(show(SubjectKind.VOLUME, logs.of(paths), inventory, printing))
