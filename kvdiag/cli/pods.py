"""`kvdiag pods`: every pod with its last state; code shared with `kvdiag volumes`."""

from __future__ import annotations

from typing import Annotated

import typer

from kvdiag.analysis.inventory import take_inventory
from kvdiag.base.errors import UsageError
from kvdiag.cli.arguments import (
    NoPager,
    NoRedact,
    Paths,
    PatternFolders,
    Since,
    Until,
    YearOption,
    ZoneOption,
    options_of,
)
from kvdiag.cli.outlet import print_note, reading_code
from kvdiag.cli.pager import open_output
from kvdiag.cli.progress import progress
from kvdiag.history.views.inventory import ORDERS, InventoryFilter
from kvdiag.model.options import Options
from kvdiag.model.values import SubjectKind
from kvdiag.report.inventory_tables import OUTPUTS, write

Output = Annotated[str, typer.Option("-o", "--output", help=f"{', '.join(OUTPUTS)}.")]
Namespace = Annotated[str, typer.Option("-n", "--namespace", help="Only this namespace.")]
Stuck = Annotated[bool, typer.Option("--stuck", help="Only what failed, or has been waiting for a minute or more.")]
Driver = Annotated[str, typer.Option(help="Only volumes of this CSI driver, or pods that use one.")]
NodeOption = Annotated[str, typer.Option(help="Only this node.")]
AllNamespaces = Annotated[bool, typer.Option("-A", "--all-namespaces", help="All namespaces (default).")]
Sort = Annotated[str, typer.Option(help=f"Sort by {', '.join(ORDERS)}.")]
Slow = Annotated[bool, typer.Option("--slow", help="Also show how long each step took, and percentiles.")]


def command(
    paths: Paths = None,
    output: Output = "text",
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    stuck: Stuck = False,
    driver: Driver = "",
    node: NodeOption = "",
    slow: Slow = False,
    sort: Sort = "name",
    since: Since = "",
    until: Until = "",
    patterns: PatternFolders = None,
    year: YearOption = None,
    tz: ZoneOption = "",
    no_pager: NoPager = False,
    no_redact: NoRedact = False,
) -> None:
    """List pods: last state, since when, retries, findings."""
    options = options_of(paths, patterns, year, tz, since, until)
    filters = InventoryFilter(
        kind=SubjectKind.POD,
        namespace="" if all_namespaces else namespace,
        stuck=stuck,
        driver=driver,
        node=node,
        slow=slow,
        order=sort,
    )
    raise typer.Exit(show(options, filters, output, redact=not no_redact, no_pager=no_pager))


def show(options: Options, filters: InventoryFilter, output: str, *, redact: bool, no_pager: bool = False) -> int:
    """Build and print the inventory, return the exit code. Raise UsageError for an unknown output."""
    if output not in OUTPUTS:
        raise UsageError(f"-o {output}: unknown output; choose from {', '.join(OUTPUTS)}")
    if filters.order not in ORDERS:
        raise UsageError(f"--sort {filters.order}: unknown order; choose from {', '.join(ORDERS)}")
    with progress(quiet=False) as on_read:
        result = take_inventory(options, filters, on_read)
    for note in map(str, result.problems):
        print_note(note)
    with open_output(text=output in {"text", "wide"}, no_pager=no_pager) as (stream, style):
        write(result.inventory, stream, output, style._replace(redact=redact))
    return reading_code(result.problems, understood=result.understood)
