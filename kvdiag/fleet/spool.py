"""Pass rows from the analysis to the Parquet writer through a folder.

So the analysis and pyarrow are never in memory together, which saves 100 MB per bundle.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kvdiag.fleet.values import Outcome, read_outcome

_FOLDER = "rows"
_OUTCOME = "outcome.json"


class Spooled(NamedTuple):
    """The result of an analysis: outcome, destination, and the rows of each table, read lazily."""

    outcome: Outcome
    dest: str
    tables: Mapping[str, Iterator[Mapping[str, Any]]]


def spool(folder: Path, outcome: Outcome, dest: str, tables: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """Write the rows for `unspool` below a private folder."""
    below = folder / _FOLDER
    below.mkdir()
    for table, rows in tables.items():
        with (below / table).open("w", encoding="ascii") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    (below / _OUTCOME).write_text(json.dumps({"dest": dest, "outcome": outcome._asdict()}), "ascii")


def unspool(folder: Path) -> Spooled:
    """Read what `spool` wrote."""
    below = folder / _FOLDER
    data = json.loads((below / _OUTCOME).read_text("ascii"))
    tables = {path.name: _rows(path) for path in sorted(below.iterdir()) if path.name != _OUTCOME}
    return Spooled(read_outcome(data["outcome"]), data["dest"], tables)


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="ascii") as lines:
        yield from map(json.loads, lines)
