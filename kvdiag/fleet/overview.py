"""The overview of a fleet as text: root causes by number of nodes."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from math import exp, lgamma
from typing import Any, NamedTuple, TextIO

from kvdiag.fleet.places import place
from kvdiag.fleet.questions import Answer, Questions
from kvdiag.report.jsontext import write_json
from kvdiag.safe.clean import clean, shortened

OUTPUTS = ("table", "csv", "json")
WIDEST = 60  # columns of one cell of a table
LARGEST_P = 0.01  # of a version that is named: one of a hundred is named by chance
MOST_VERSIONS = 3  # of one cause
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


MOST_CAUSES, MOST_ERRORS, MOST_FAILED, MOST_UNEXPLAINED = (
    50,
    10,
    50,
    50,
)  # rows; the report says how many more there are
# Findings from both tables with the nodes that they hit: a controller's finding hits the node that it is about.
_PLACED = """
  WITH every AS (SELECT *, false AS across FROM findings UNION ALL BY NAME SELECT *, true AS across FROM joined),
  placed AS (
    SELECT *, unnest(CASE WHEN across AND len(list_filter(nodes, lambda one: one <> '')) > 0
      THEN list_filter(nodes, lambda one: one <> '') ELSE [coalesce(nullif(subject_node, ''), node)] END) AS of_node
    FROM every WHERE role = 'cause' AND ($1::TIMESTAMPTZ IS NULL OR ends >= $1::TIMESTAMPTZ))"""
_CAUSES = f"""{_PLACED}
  SELECT rule, any_value(title) AS title, arg_max(severity, severity_rank) AS severity,
    count(DISTINCT (cluster, of_node)) AS nodes,
    count(DISTINCT (cluster, of_node)) FILTER (healed IS NULL) AS open_nodes,
    list_sort(list(DISTINCT cluster || '/' || of_node)) AS all_nodes,
    count(DISTINCT (cluster, node, bundle, finding)) AS findings,
    arg_min(cluster, begins) AS first_cluster, arg_min(of_node, begins) AS first_node, min(begins) AS begins,
    max(ends) AS ends, list_sort(list(DISTINCT kubelet_version) FILTER (kubelet_version <> '')) AS kubelet_versions,
    list_sort(list(DISTINCT driver || ' ' || driver_version) FILTER (driver_version <> '')) AS driver_versions,
    count(DISTINCT finding) FILTER (across) AS across_nodes, bool_or(verdict = 'confirmed') AS is_confirmed,
    arg_min(says, begins) AS says, arg_min(json, begins) AS json, count(*) OVER ()::BIGINT AS all_rows
  FROM placed GROUP BY rule
  ORDER BY coalesce(max(severity_rank) FILTER (healed IS NULL), -1) DESC, max(severity_rank) DESC, nodes DESC, rule
  LIMIT {MOST_CAUSES}"""  # noqa: S608 (constants of our own)
# By rule and version of a component: hit nodes with it, nodes with it, hit nodes and nodes with another version.
_VERSIONS = f"""{_PLACED},
  hit AS (SELECT DISTINCT rule, cluster, of_node AS node FROM placed),
  has AS (SELECT DISTINCT cluster, coalesce(nullif(log_node, ''), node) AS node, component, version
    FROM versions WHERE version <> ''),
  pairs AS (SELECT rule, component, version, count(*) AS hit_with FROM hit JOIN has USING (cluster, node) GROUP BY ALL),
  sizes AS (SELECT component, version, count(*) AS nodes_with FROM has GROUP BY ALL)
  SELECT rule, component, version, hit_with, nodes_with,
    (sum(hit_with) OVER (PARTITION BY rule, component) - hit_with)::BIGINT AS hit_without,
    ((SELECT count(*) FROM has WHERE has.component = pairs.component) - nodes_with)::BIGINT AS nodes_without
  FROM pairs JOIN sizes USING (component, version) ORDER BY rule, component, version"""  # noqa: S608 (constants of our own)
_ERRORS = f"""
  SELECT component, says, count(DISTINCT (cluster, node)) AS nodes, sum(count)::BIGINT AS lines,
    count(*) OVER ()::BIGINT AS all_rows
  FROM errors WHERE explained_by = '' AND benign = '' AND ($1::TIMESTAMPTZ IS NULL OR ends >= $1::TIMESTAMPTZ)
  GROUP BY component, says ORDER BY nodes DESC, lines DESC, says LIMIT {MOST_ERRORS}"""  # noqa: S608 (constants of our own)
_UNEXPLAINED = f"""{_PLACED}
  SELECT cluster, node, sum(count)::BIGINT AS lines, arg_max(says, count) AS says, count(*) OVER ()::BIGINT AS all_rows
  FROM errors WHERE explained_by = '' AND benign = '' AND ($1::TIMESTAMPTZ IS NULL OR ends >= $1::TIMESTAMPTZ)
    AND (cluster, node) NOT IN (SELECT (cluster, of_node) FROM placed)
  GROUP BY cluster, node ORDER BY lines DESC, cluster, node LIMIT {MOST_UNEXPLAINED}"""  # noqa: S608 (constants of our own)
_FAILED = f"""
  SELECT cluster, node, reason, next_step, is_partial, count(*) OVER ()::BIGINT AS all_rows FROM failed
  ORDER BY is_partial, cluster, node, reason LIMIT {MOST_FAILED}"""  # noqa: S608 (constants of our own)
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
    """The content of the fleet report; rows are in printed order, and `all_rows` counts those that there are.

    `unexplained` are nodes with errors that nothing explains and without a root cause.
    """

    counts: Row
    causes: Sequence[Row]
    errors: Sequence[Row]
    failed: Sequence[Row]
    unexplained: Sequence[Row] = ()


def overview(dest: str, *, cluster: str = "", since: datetime | None = None) -> Overview:
    """Query the stored results, of one cluster or from a time on if these are given."""
    tables = ("findings", "joined", "inputs", "errors", "failed", "versions")
    questions = Questions(place(dest), cluster, tables=tables)
    counts, failed = (_rows(questions, sql) for sql in (_COUNTS, _FAILED))
    causes, errors, unexplained = (_rows(questions, sql, since) for sql in (_CAUSES, _ERRORS, _UNEXPLAINED))
    versions = suspicious_versions(_rows(questions, _VERSIONS, since))
    causes = [_with_step(row) | {"suspicious_versions": versions.get(row["rule"], [])} for row in causes]
    return Overview(counts[0], causes, errors, failed, unexplained)


def _with_step(row: Row) -> Row:
    """Return a row with the first step of its first finding in place of the finding as JSON."""
    steps = json.loads(row["json"] or "{}").get("fix") or [{}]
    return {name: value for name, value in row.items() if name != "json"} | {"first_step": steps[0]}


def suspicious_versions(rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    """Return by rule the versions whose nodes are hit more often than by chance, with Fisher's exact p (one-sided)."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        p = fisher_p(row["hit_with"], row["nodes_with"], row["hit_without"], row["nodes_without"])
        if row["nodes_without"] and p <= LARGEST_P:
            found[row["rule"]].append(row | {"p": p})
    return {rule: sorted(versions, key=lambda one: one["p"])[:MOST_VERSIONS] for rule, versions in found.items()}


def fisher_p(hit: int, size: int, other_hit: int, other_size: int) -> float:
    """Return the probability of at least `hit` hits among `size` nodes, if all hits were spread by chance."""
    hits = hit + other_hit
    if hit <= max(0, hits - other_size):
        return 1.0
    ways = _log_ways(size, hit) + _log_ways(other_size, other_hit) - _log_ways(size + other_size, hits)
    term = total = exp(ways)
    for one in range(hit, min(size, hits)):  # each term from the one before it: a fleet has 100,000 nodes
        term *= (size - one) * (hits - one) / ((one + 1) * (other_size - hits + one + 1))
        total += term
    return min(total, 1.0)


def _log_ways(size: int, taken: int) -> float:
    """Return the logarithm of the number of ways to take some of a number of nodes."""
    return lgamma(size + 1) - lgamma(taken + 1) - lgamma(size - taken + 1)


def state(dest: str) -> Answer:
    """Return by cluster the number of nodes that are done, failed or read in part, and of findings."""
    return Questions(place(dest), tables=("findings", "joined", "inputs", "failed")).ask(_STATE)


def _rows(questions: Questions, sql: str, *values: object) -> list[Row]:
    answer = questions.ask(sql, values)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
