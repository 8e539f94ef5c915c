"""The options of an analysis."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kvdiag.model.values import EMPTY, Severity


class Options(NamedTuple):
    """Inputs, narrowing and hints; times are microseconds UTC, `zone` microseconds east of UTC.

    `since_clock` and `until_clock` are times of day (microseconds UTC) on the last day of the logs, which is known once
    these are read; `since` and `until` follow from them then. Reading stops after `limit` seconds. `jobs`
    processes read the logs, 0 means as many as there are cores. Findings below
    `severity` are left out. None and empty mean no restriction.
    """

    paths: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    since_clock: int | None = None
    until_clock: int | None = None
    namespace: str = ""
    pod: str = ""
    volume: str = ""
    node: str = ""
    rules: tuple[str, ...] = ()
    patterns: tuple[Path, ...] = ()
    year: int | None = None
    zone: int | None = None
    components: Mapping[str, str] = EMPTY
    show_possible: bool = True
    limit: float | None = None
    jobs: int = 1
    severity: Severity = Severity.INFO
