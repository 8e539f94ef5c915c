"""Print the result of a query as a table, CSV or JSON, safe for terminals and spreadsheets."""

from __future__ import annotations

import csv
from datetime import date, datetime
from typing import Any, TextIO

from kvdiag.fleet.questions import Answer
from kvdiag.report.jsontext import write_json
from kvdiag.safe.clean import clean, shortened

OUTPUTS = ("table", "csv", "json")
WIDEST = 60  # columns of one cell of a table
_FORMULAS = frozenset("=+-@＝＋－＠")


def write_answer(answer: Answer, stream: TextIO, output: str, *, redact: bool = True) -> None:
    """Print the result; `output` is one of OUTPUTS."""
    if output == "json":
        rows = ({name: plain(value) for name, value in zip(answer.columns, row, strict=True)} for row in answer.rows)
        write_json(rows, stream, redact=redact)
    elif output == "csv":
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([clean(name) for name in answer.columns])
        writer.writerows([_cell(value, redact=redact) for value in row] for row in answer.rows)
    else:
        _write_table(answer, stream, redact=redact)


def _write_table(answer: Answer, stream: TextIO, *, redact: bool) -> None:
    heads = [clean(name) for name in answer.columns]
    rows = [[shortened(clean(_text(value), redact=redact), WIDEST) for value in row] for row in answer.rows]
    widths = [max([len(head), *(len(row[at]) for row in rows)]) for at, head in enumerate(heads)]
    stream.writelines(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
        for row in (heads, *rows)
    )


def _cell(value: object, *, redact: bool) -> str:
    """Return a CSV cell that a spreadsheet does not run as a formula."""
    text = clean(_text(value), redact=redact)
    return f"'{text}" if text[:1] in _FORMULAS and not isinstance(value, int | float) else text


def _text(value: object) -> str:
    plain_value = plain(value)
    if isinstance(plain_value, list):
        return ", ".join(map(str, plain_value))
    return "" if plain_value is None else str(plain_value)


def plain(value: Any) -> Any:  # noqa: ANN401  # whatever DuckDB gives
    """Return a value as plain JSON values."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)
