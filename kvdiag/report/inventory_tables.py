"""Print the inventory of `kvdiag pods` and `kvdiag volumes` as a table, JSON, YAML, CSV or names.

NAME           STATE       SINCE     WAITS FOR        RETRIES  FINDINGS
default/web-0  TERMINATED  20:39:21  volumes to be…         7  pod-stuck-terminating-volumes
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from kvdiag.base.clock import DAY, format_duration, to_datetime
from kvdiag.history.views.phases import awaits
from kvdiag.model.inventory import Inventory, InventoryRow
from kvdiag.model.lifecycle import Phase
from kvdiag.model.values import SubjectKind
from kvdiag.report import RenderOptions
from kvdiag.report.jsontext import write_json
from kvdiag.report.phrases import explain_command
from kvdiag.safe.clean import clean

OUTPUTS = ("text", "wide", "json", "yaml", "csv", "name")
GAP = "  "
_FORMULAS = frozenset("=+-@＝＋－＠")  # with their full-width forms
LEAST = 4  # columns are not cut below this


def write(inventory: Inventory, stream: TextIO, output: str, options: RenderOptions) -> None:
    """Print the inventory; `output` is one of `OUTPUTS`. Raise KeyError for another."""
    writers: Mapping[str, Callable[[Inventory, TextIO, RenderOptions], None]] = {
        "text": _write_text,
        "wide": _write_wide,
        "json": _write_json,
        "yaml": _write_yaml,
        "csv": _write_csv,
        "name": _write_names,
    }
    writers[output](inventory, stream, options)


def _write_names(inventory: Inventory, stream: TextIO, options: RenderOptions) -> None:
    stream.writelines(clean(f"{inventory.kind}/{row.name}", redact=options.redact) + "\n" for row in inventory.rows)


def _write_text(inventory: Inventory, stream: TextIO, options: RenderOptions) -> None:
    heads = ["NAME", "STATE", "SINCE", "STUCK", "RETRIES", "FINDINGS"]
    cells = [_cells(row, inventory) for row in inventory.rows]
    if inventory.kind is SubjectKind.VOLUME:
        heads.insert(1, "DRIVER")
    if len({row.node for row in inventory.rows}) > 1:
        heads.insert(1, "NODE")
    if len({(row.name, row.node) for row in inventory.rows}) < len(inventory.rows):
        heads.insert(1, "UID" if inventory.kind is SubjectKind.POD else "HANDLE")  # of several with one name
    if any(row.causes for row in inventory.rows):
        heads.append("BECAUSE OF")
    if _fits(heads, cells, options):
        _table(heads, cells, stream, options)
    else:  # a finding's name on a line of its own is better than one cut in two
        first_heads = heads[: heads.index("FINDINGS")]
        _table(first_heads, cells, stream, options, below=[_found(row) for row in inventory.rows])
    if inventory.slow:
        _slow(inventory, stream, options)
    _explain(inventory, stream)


def _found(row: InventoryRow) -> list[str]:
    return [*row.findings, *(f"because of {cause}" for cause in row.causes)]


def _explain(inventory: Inventory, stream: TextIO) -> None:
    """Print the commands that explain the causes of the findings."""
    named = dict.fromkeys(cause for row in inventory.rows for cause in row.causes)
    stream.writelines(
        f"{line}\n" for line in (["", *(f"$ {explain_command(cause)}" for cause in named)] if named else ())
    )


def _fits(heads: Sequence[str], cells: Sequence[Mapping[str, str]], options: RenderOptions) -> bool:
    widths = (max(len(head), *(len(row[head]) for row in cells)) if cells else len(head) for head in heads)
    return sum(widths) + len(GAP) * (len(heads) - 1) <= options.width


def _write_wide(inventory: Inventory, stream: TextIO, options: RenderOptions) -> None:
    heads = ["NAME", "UID" if inventory.kind is SubjectKind.POD else "HANDLE", "NODE", "DRIVER", "MACHINE", "STATE"]
    heads += ["SINCE", "STUCK", "WAITS FOR", "RETRIES", "LAST FAILURE", "FINDINGS", "BECAUSE OF"]
    if inventory.kind is SubjectKind.POD:
        heads.remove("DRIVER")
    _table(heads, [_cells(row, inventory) for row in inventory.rows], stream, options, width=0)
    if inventory.slow:
        _slow(inventory, stream, options, width=0)


def _cells(row: InventoryRow, inventory: Inventory) -> dict[str, str]:
    ids = row.life.subject.ids
    return {
        "NAME": row.name,
        "UID": ids.get("pod_uid", "-"),
        "HANDLE": ids.get("volume_handle", "-"),
        "NODE": row.node or "-",
        "DRIVER": row.driver or "-",
        "MACHINE": row.life.machine,
        "STATE": row.life.state + ("" if row.certain else "?"),
        "SINCE": _when(row.life.since, inventory),
        "STUCK": format_duration(max(0, inventory.ends - row.life.since)) if row.stuck else "-",
        "WAITS FOR": row.life.waits_for or "-",
        "RETRIES": str(row.retries),
        "LAST FAILURE": row.failure or "-",
        "FINDINGS": ",".join(row.findings) or "-",
        "BECAUSE OF": ",".join(row.causes) or "-",
    }


def _slow(inventory: Inventory, stream: TextIO, options: RenderOptions, width: int | None = None) -> None:
    """Print the duration of each step of each subject, then percentiles of each step."""
    parts = [
        {
            "NAME": row.name,
            "STEP": phase.name,
            "BEGAN": _when(phase.begins, inventory),
            "TOOK": _took(phase.ends - phase.begins) if phase.ends is not None else "-",
            "NOW": _now(row, phase, inventory) if phase is row.now else "",
        }
        for row in inventory.rows
        for phase in _parts(row)
    ]
    stream.write("\n")
    _table(["NAME", "STEP", "BEGAN", "TOOK", "NOW"], parts, stream, options, width=width)
    stream.write("\n")
    figures = [
        {"STEP": s.name, "COUNT": str(s.times)}
        | {head: _took(value) for head, value in zip(("P50", "P90", "P99", "MAX"), s[2:], strict=True)}
        for s in inventory.spreads
    ]
    _table(["STEP", "COUNT", "P50", "P90", "P99", "MAX"], figures, stream, options, width=width)


def _parts(row: InventoryRow) -> tuple[Phase, ...]:
    """Return the phases of a subject, and its current state if that is not one of them."""
    return row.phases if row.now is None or row.now in row.phases else (*row.phases, row.now)


def _now(row: InventoryRow, phase: Phase, inventory: Inventory) -> str:
    return f"waits {_took(inventory.ends - phase.begins)} for {awaits(row.life, phase)}"


def _table(
    heads: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    stream: TextIO,
    options: RenderOptions,
    *,
    width: int | None = None,
    below: Sequence[Sequence[str]] = (),
) -> None:
    """Print aligned columns and shorten the widest ones until a line fits. A `width` of 0 disables this.

    `below` are extra lines to print under each row.
    """
    width = options.width if width is None else width
    table: list[list[str]] = [
        list(heads),
        *([str(clean(row[head], redact=options.redact)) for head in heads] for row in rows),
    ]
    widths = [max(len(line[n]) for line in table) for n in range(len(heads))]
    while width and sum(widths) + len(GAP) * (len(widths) - 1) > width and max(widths) > LEAST:
        widths[widths.index(max(widths))] -= 1
    for number, line in enumerate(table):
        cut = (_cut(cell, size).ljust(size) for cell, size in zip(line, widths, strict=True))
        stream.write(GAP.join(cut).rstrip() + "\n")
        if number and below:
            stream.writelines(f"{GAP}{clean(word)}\n" for word in below[number - 1])


def _cut(text: str, size: int) -> str:
    """Shorten a name in the middle: generated names often differ only at their end."""
    if len(text) <= size:
        return text
    tail = (size - 1) // 3
    return f"{text[: size - 1 - tail]}…{text[len(text) - tail :]}"


def _when(stamp: int, inventory: Inventory) -> str:
    """Return the time of day; with the date if the logs cover more than a day."""
    shape = "%H:%M:%S" if inventory.ends - inventory.begins < DAY else "%m-%d %H:%M:%S"
    return to_datetime(stamp).strftime(shape)


def _took(microseconds: int) -> str:
    return f"{microseconds / 1000:.1f}ms" if microseconds < 10_000 else _tenths(microseconds)


def _tenths(microseconds: int) -> str:
    return (
        f"{microseconds / 1_000_000:.1f}s" if 1_000_000 <= microseconds < 60_000_000 else format_duration(microseconds)
    )


def _write_csv(inventory: Inventory, stream: TextIO, options: RenderOptions) -> None:
    """Print the values of the JSON rows as CSV, lists joined by spaces; with `--slow` a column of seconds per step."""
    steps = [spread.name for spread in inventory.spreads] if inventory.slow else []
    heads = [head for head in _HEADS if head not in {"phases", "now", "ids"}]
    out = csv.writer(stream, lineterminator="\n")
    out.writerow([*heads, *steps])
    for row in inventory.rows:
        values = _plain(row)
        took = {phase.name: phase.ends - phase.begins for phase in row.phases if phase.ends is not None}
        seconds = [f"{took[step] / 1_000_000:.6f}" if step in took else "" for step in steps]
        out.writerow([_csv_cell(values[head], options) for head in heads] + seconds)


def _csv_cell(value: Any, options: RenderOptions) -> str:  # noqa: ANN401  # JSON's own types
    """Return one cell. A value that a spreadsheet would run as a formula is prefixed with an apostrophe."""
    text = " ".join(value) if isinstance(value, list) else "" if value is None else str(value)
    text = clean(text, redact=options.redact)
    return f"'{text}" if text.lstrip()[:1] in _FORMULAS else text


def _write_json(inventory: Inventory, stream: TextIO, options: RenderOptions) -> None:
    write_json(_document(inventory), stream, redact=options.redact)


def _write_yaml(inventory: Inventory, stream: TextIO, options: RenderOptions) -> None:
    from kvdiag.report.yamltext import write_yaml  # 10 ms that the other outputs need not wait for

    write_yaml(_document(inventory), stream, redact=options.redact)


def _document(inventory: Inventory) -> dict[str, Any]:
    document: dict[str, Any] = {
        "schema": f"kvdiag.{inventory.kind}s/1",
        "begins": _time(inventory.begins),
        "ends": _time(inventory.ends),
        "items": map(_plain, inventory.rows),
    }
    if inventory.slow:
        document["steps"] = [
            {"name": s.name, "count": s.times}
            | {name: value / 1_000_000 for name, value in zip(("p50", "p90", "p99", "max"), s[2:], strict=True)}
            for s in inventory.spreads
        ]
    return document


_HEADS = (
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


def _plain(row: InventoryRow) -> dict[str, Any]:
    life = row.life
    values = (
        life.subject.name,
        {name.replace("volume_handle", "handle"): value for name, value in life.subject.ids.items()},
        row.node,
        row.driver,
        life.machine,
        life.state,
        row.certain,
        _time(life.since),
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
    return dict(zip(_HEADS, values, strict=True))


def _phase(phase: Phase) -> dict[str, Any]:
    ends = None if phase.ends is None else _time(phase.ends)
    seconds = None if phase.ends is None else (phase.ends - phase.begins) / 1_000_000
    return {"name": phase.name, "begins": _time(phase.begins), "ends": ends, "seconds": seconds, "by": phase.by}


def _time(stamp: int) -> str:
    return to_datetime(stamp).isoformat(timespec="microseconds").replace("+00:00", "Z")
