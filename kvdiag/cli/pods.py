"""`kvdiag pods`: every pod with its last state; code shared with `kvdiag volumes`."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

from kvdiag.analysis.inventory import take_inventory
from kvdiag.base.errors import check_choice
from kvdiag.cli.arguments import LogOptions, Paths, PrintOptions, grouped
from kvdiag.cli.outlet import print_note, reading_code
from kvdiag.cli.pager import open_output
from kvdiag.cli.progress import progress
from kvdiag.history.views.inventory import ORDERS, InventoryFilter
from kvdiag.model.options import Options
from kvdiag.model.values import SubjectKind
from kvdiag.report.inventory_tables import OUTPUTS, write


class InventoryOptions(NamedTuple):
    """Which pods or volumes are listed, and how."""

    output: Annotated[str, typer.Option("-o", "--output", help=f"{', '.join(OUTPUTS)}.")] = "text"
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="Only this namespace.")] = ""
    all_namespaces: Annotated[bool, typer.Option("-A", "--all-namespaces", help="All namespaces (default).")] = False
    stuck: Annotated[
        bool, typer.Option("--stuck", help="Only what failed, or has been waiting for a minute or more.")
    ] = False
    driver: Annotated[str, typer.Option(help="Only volumes of this CSI driver, or pods that use one.")] = ""
    node: Annotated[str, typer.Option(help="Only this node.")] = ""
    everything: Annotated[bool, typer.Option("--all", help="Include Secrets, ConfigMaps and other local volumes.")] = (
        False
    )
    slow: Annotated[bool, typer.Option("--slow", help="Also show how long each step took, and percentiles.")] = False
    sort: Annotated[str, typer.Option(help=f"Sort by {', '.join(ORDERS)}.")] = "name"

    def filters(self, kind: SubjectKind) -> InventoryFilter:
        """Return the filters for an inventory of this kind. Raise UsageError for an unknown output or order."""
        check_choice("-o", self.output, OUTPUTS)
        check_choice("--sort", self.sort, ORDERS, what="order")
        return InventoryFilter(
            kind=kind,
            namespace="" if self.all_namespaces else self.namespace,
            stuck=self.stuck,
            driver=self.driver,
            node=self.node,
            everything=self.everything,
            slow=self.slow,
            order=self.sort,
        )


@grouped("everything", "verbose", "no_color")
def command(*, paths: Paths = None, inventory: InventoryOptions, logs: LogOptions, printing: PrintOptions) -> None:
    """List pods: last state, since when, retries, findings."""
    raise typer.Exit(show(SubjectKind.POD, logs.of(paths), inventory, printing))


def show(kind: SubjectKind, options: Options, inventory: InventoryOptions, printing: PrintOptions) -> int:
    """Build and print the inventory, return the exit code. Raise UsageError for an unknown output or order."""
    filters = inventory.filters(kind)
    with progress(quiet=False) as on_read:
        result = take_inventory(options, filters, on_read)
    for note in map(str, result.problems):
        print_note(note)
    with open_output(None, inventory.output, **printing.switches) as (stream, style):
        write(result.inventory, inventory.output, stream, style)
    return reading_code(result.problems, understood=result.understood)
