"""The overview of a fleet as text: root causes by number of nodes."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, NamedTuple, TextIO

from kvdiag.fleet.places import place
from kvdiag.fleet.questions import Answer, Questions
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


_CAUSES = """
  WITH every AS (SELECT *, false AS across FROM findings UNION ALL BY NAME SELECT *, true AS across FROM joined),
  placed AS (
    SELECT *, unnest(CASE WHEN across AND len(list_filter(nodes, lambda one: one <> '')) > 0
      THEN list_filter(nodes, lambda one: one <> '') ELSE [coalesce(nullif(subject_node, ''), node)] END) AS of_node
    FROM every WHERE role = 'cause')
  SELECT rule, any_value(title) AS title, arg_max(severity, severity_rank) AS severity,
    count(DISTINCT (cluster, of_node)) AS nodes, count(DISTINCT (cluster, node, bundle, finding)) AS findings,
    arg_min(cluster, begins) AS first_cluster, arg_min(of_node, begins) AS first_node, min(begins) AS begins,
    max(ends) AS ends, list_sort(list(DISTINCT kubelet_version) FILTER (kubelet_version <> '')) AS kubelet_versions,
    list_sort(list(DISTINCT driver || ' ' || driver_version) FILTER (driver_version <> '')) AS driver_versions,
    bool_or(across) AS across_nodes, bool_or(verdict = 'confirmed') AS is_confirmed, arg_min(says, begins) AS says
  FROM placed GROUP BY rule ORDER BY max(severity_rank) DESC, nodes DESC, rule LIMIT 50"""
_ERRORS = """
  SELECT component, says, count(DISTINCT (cluster, node)) AS nodes, sum(count)::BIGINT AS lines
  FROM errors WHERE explained_by = '' AND benign = '' GROUP BY ALL ORDER BY nodes DESC, lines DESC, says LIMIT 10"""
_FAILED = """
  SELECT cluster, node, reason, next_step, is_partial FROM failed ORDER BY is_partial, cluster, node, reason
  LIMIT 50"""
_COUNTS = """
  SELECT (SELECT count(DISTINCT (cluster, node)) FROM inputs) AS nodes,
    (SELECT count(DISTINCT cluster) FROM inputs) AS clusters,
    (SELECT count(DISTINCT (cluster, node)) FROM failed WHERE NOT is_partial) AS failed,
    (SELECT count(DISTINCT (cluster, node)) FROM failed WHERE is_partial) AS partial,
    (SELECT min(begins) FROM inputs) AS begins, (SELECT max(ends) FROM inputs) AS ends"""
_STATE = """
  WITH one AS (
    SELECT cluster, node, 'done' AS is_a, '' AS worst, 0 AS rank FROM inputs
    WHERE (cluster, node) NOT IN (SELECT (cluster, node) FROM failed) GROUP BY ALL
    UNION ALL SELECT cluster, node, if(is_partial, 'partial', 'failed'), '', 0 FROM failed GROUP BY ALL
    UNION ALL SELECT cluster, node, 'finding', rule, severity_rank FROM findings
    UNION ALL SELECT cluster, '', 'joined', rule, severity_rank FROM joined)
  SELECT cluster, count(*) FILTER (is_a = 'done') AS done, count(*) FILTER (is_a = 'failed') AS failed,
    count(*) FILTER (is_a = 'partial') AS in_part, count(*) FILTER (is_a = 'finding') AS findings,
    count(*) FILTER (is_a = 'joined') AS joined, coalesce(arg_max(worst, rank) FILTER (worst <> ''), '') AS worst
  FROM one GROUP BY cluster ORDER BY cluster"""

Row = dict[str, Any]


class Overview(NamedTuple):
    """The content of the fleet report; rows are in printed order."""

    counts: Row
    causes: Sequence[Row]
    errors: Sequence[Row]
    failed: Sequence[Row]


def overview(dest: str) -> Overview:
    """Query the stored results."""
    questions = Questions(place(dest), tables=("findings", "joined", "inputs", "errors", "failed"))
    counts, causes, errors, failed = (_rows(questions, sql) for sql in (_COUNTS, _CAUSES, _ERRORS, _FAILED))
    return Overview(counts[0], causes, errors, failed)


def state(dest: str) -> Answer:
    """Return by cluster the number of nodes that are done, failed or read in part, and of findings."""
    return Questions(place(dest), tables=("findings", "joined", "inputs", "failed")).ask(_STATE)


def _rows(questions: Questions, sql: str) -> list[Row]:
    answer = questions.ask(sql)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
