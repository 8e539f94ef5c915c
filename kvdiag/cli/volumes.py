"""`kvdiag volumes`: every volume with its last state on each node."""

from __future__ import annotations

from typing import Annotated

import typer

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
from kvdiag.cli.pods import AllNamespaces, Driver, Namespace, NodeOption, Output, Slow, Sort, Stuck, show
from kvdiag.history.views.inventory import InventoryFilter
from kvdiag.model.values import SubjectKind


def command(
    paths: Paths = None,
    output: Output = "text",
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    stuck: Stuck = False,
    driver: Driver = "",
    node: NodeOption = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Include Secrets, ConfigMaps and other local volumes.")
    ] = False,
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
    """List volumes: driver, last state, retries, findings."""
    options = options_of(paths, patterns, year, tz, since, until)
    filters = InventoryFilter(
        kind=SubjectKind.VOLUME,
        namespace="" if all_namespaces else namespace,
        stuck=stuck,
        driver=driver,
        node=node,
        everything=everything,
        slow=slow,
        order=sort,
    )
    raise typer.Exit(show(options, filters, output, redact=not no_redact, no_pager=no_pager))
