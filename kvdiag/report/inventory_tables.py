"""Print the inventory of `kvdiag pods` and `kvdiag volumes` as a table, JSON, YAML, CSV or names.

NAME           STATE       SINCE     WAITS FOR        RETRIES  FINDINGS
default/web-0  TERMINATED  20:39:21  volumes to be…         7  pod-stuck-terminating-volumes
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from kvdiag.model.views import Inventory
from kvdiag.report import RenderOptions
from kvdiag.report.inventory_text import Cells, InventoryText
from kvdiag.report.inventory_values import document
from kvdiag.report.outputs import write_value

OUTPUTS = ("text", "wide", "json", "yaml", "csv", "name")
GAP = "  "
LEAST = 4  # columns are not cut below this


def write(inventory: Inventory, output: str, stream: TextIO, options: RenderOptions) -> None:
    """Print the inventory; `output` is one of `OUTPUTS`. Raise KeyError for another."""
    if output in {"json", "yaml"}:
        write_value(document(inventory), output, stream, redact=options.redact)
        return
    writers: Mapping[str, Callable[[InventoryText, TextIO, RenderOptions], None]] = {
        "text": _write_text,
        "wide": _write_wide,
        "csv": _write_csv,
        "name": _write_names,
    }
    writers[output](InventoryText(inventory, redact=options.redact), stream, options)


def _write_names(inventory: InventoryText, stream: TextIO, _options: RenderOptions) -> None:
    stream.writelines(f"{name}\n" for name in inventory.names)


def _write_text(inventory: InventoryText, stream: TextIO, options: RenderOptions) -> None:
    heads, rows = inventory.heads, inventory.rows
    if _fits(heads, rows, options):
        _table(heads, rows, stream, options.width)
    else:  # a finding's name on a line of its own is better than one cut in two
        _table(heads[: heads.index("FINDINGS")], rows, stream, options.width, below=inventory.findings)
    _slow(inventory, stream, options.width)
    if inventory.commands:
        stream.write("\n" + "".join(f"$ {command}\n" for command in inventory.commands))


def _write_wide(inventory: InventoryText, stream: TextIO, _options: RenderOptions) -> None:
    _table(inventory.wide_heads, inventory.rows, stream, 0)
    _slow(inventory, stream, 0)


def _write_csv(inventory: InventoryText, stream: TextIO, _options: RenderOptions) -> None:
    csv.writer(stream, lineterminator="\n").writerows(inventory.csv_rows)


def _slow(inventory: InventoryText, stream: TextIO, width: int) -> None:
    """If `--slow` is given, print the duration of each step of each subject, then percentiles of each step."""
    if inventory.is_slow:
        stream.write("\n")
        _table(["NAME", "STEP", "BEGAN", "TOOK", "NOW"], inventory.steps, stream, width)
        stream.write("\n")
        _table(["STEP", "COUNT", "P50", "P90", "P99", "MAX"], inventory.figures, stream, width)


def _fits(heads: Sequence[str], rows: Sequence[Cells], options: RenderOptions) -> bool:
    widths = (max(len(head), *(len(row[head]) for row in rows)) if rows else len(head) for head in heads)
    return sum(widths) + len(GAP) * (len(heads) - 1) <= options.width


def _table(
    heads: Sequence[str],
    rows: Sequence[Cells],
    stream: TextIO,
    width: int,
    *,
    below: Sequence[Sequence[str]] = (),
) -> None:
    """Print aligned columns and shorten the widest ones until a line fits. A `width` of 0 disables this.

    `below` are extra lines to print under each row.
    """
    table: list[list[str]] = [list(heads), *([str(row[head]) for head in heads] for row in rows)]
    widths = [max(len(line[n]) for line in table) for n in range(len(heads))]
    while width and sum(widths) + len(GAP) * (len(widths) - 1) > width and max(widths) > LEAST:
        widths[widths.index(max(widths))] -= 1
    for number, line in enumerate(table):
        cut = (_cut(cell, size).ljust(size) for cell, size in zip(line, widths, strict=True))
        stream.write(GAP.join(cut).rstrip() + "\n")
        if number and below:
            stream.writelines(f"{GAP}{text}\n" for text in below[number - 1])


def _cut(text: str, size: int) -> str:
    """Shorten a name in the middle: generated names often differ only at their end."""
    if len(text) <= size:
        return text
    tail = (size - 1) // 3
    return f"{text[: size - 1 - tail]}…{text[len(text) - tail :]}"
