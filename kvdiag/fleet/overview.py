"""The overview of a fleet: root causes with their nodes, days and versions, and sick nodes without one."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from math import exp, lgamma
from typing import Any, NamedTuple

from kvdiag.fleet.places import place
from kvdiag.fleet.questions import EVER, Answer, MergedError, Questions
from kvdiag.fleet.results import TRIES

LARGEST_P = 0.01  # of a version that is named: one of a hundred is named by chance
MOST_VERSIONS = 3  # of one cause
_SMALLEST = 1e-9  # part of a sum: what is less does not change what is printed
MOST_CAUSES, MOST_ERRORS, MOST_FAILED, MOST_UNEXPLAINED = (
    50,
    10,
    50,
    50,
)  # rows; the report says how many more there are
# Each stored table is read once, into few columns. A month of 100,000 nodes has 2,000,000 findings: their nodes and
# causes are numbers, which are grouped in half the time of their names. Two of 100,000 nodes have the same hash once in
# 10^9 reports.
_TABLES = {
    "hit": """
  SELECT rule, cluster, node, hash(cluster, node) AS hashed, day,
    if(driver_version <> '', driver || ' ' || driver_version, '') AS with_driver, kubelet_version, begins, ends,
    severity_rank::TINYINT AS severity_rank, healed IS NULL AS is_open, verdict = 'confirmed' AS is_confirmed
  FROM hits WHERE ($since::TIMESTAMPTZ IS NULL OR ends >= $since::TIMESTAMPTZ) AND ($day = '' OR day = $day::DATE)""",
    "named": """
  SELECT (row_number() OVER (ORDER BY cluster || '/' || node))::INTEGER AS id, *, cluster || '/' || node AS name
  FROM (SELECT hashed, any_value(cluster) AS cluster, any_value(node) AS node FROM hit GROUP BY hashed)""",
    "cause": """
  SELECT (row_number() OVER (ORDER BY rule))::SMALLINT AS cause, rule, min(begins) AS begins, max(ends) AS ends,
    min(day) AS first_day, bool_or(is_confirmed) AS is_confirmed FROM hit GROUP BY rule""",
    "hit_day": """
  SELECT cause, hashed, day, max(severity_rank) AS severity_rank, bool_or(is_open) AS is_open
  FROM hit JOIN (SELECT cause, rule FROM cause) USING (rule) GROUP BY cause, hashed, day""",
    "hit_node": """
  SELECT cause, id, hashed, severity_rank, is_open
  FROM (SELECT cause, hashed, max(severity_rank) AS severity_rank, bool_or(is_open) AS is_open
    FROM hit_day GROUP BY cause, hashed) JOIN named USING (hashed)""",
    "judged": """
  SELECT cluster, node, day, kvdiag, min(begins) AS begins, max(ends) AS ends FROM inputs
  GROUP BY cluster, node, day, kvdiag""",
    "error": """
  SELECT cluster, node, component, says, sum(count) AS count FROM errors
  WHERE explained_by = '' AND benign = '' AND ($since::TIMESTAMPTZ IS NULL OR ends >= $since::TIMESTAMPTZ)
  GROUP BY cluster, node, component, says""",
}
# `ids` are in the order of the names. The first node is the one with the first hit, which is in the results of
# `read_day`: a bundle that ended on the first day with hits may have begun later than another one.
_CAUSES = f"""
  WITH counted AS (
    SELECT cause, max(severity_rank) AS severity_rank, max(severity_rank) FILTER (is_open) AS open_rank,
      count(*) AS nodes, count(*) FILTER (is_open) AS open_nodes, {{ids}} AS ids
    FROM hit_node GROUP BY cause),
  firsts AS (
    SELECT DISTINCT ON (cause) cause, id, day AS read_day FROM hit JOIN cause USING (rule) JOIN named USING (hashed)
    WHERE hit.begins IS NOT DISTINCT FROM cause.begins ORDER BY cause, id, day)
  SELECT rule, severity_rank, nodes, open_nodes, ids AS all_nodes, cluster AS first_cluster, node AS first_node, begins,
    ends, first_day, is_confirmed, count(*) OVER ()::BIGINT AS all_rows, read_day
  FROM counted JOIN cause USING (cause) JOIN firsts USING (cause) JOIN named USING (id)
  ORDER BY coalesce(open_rank, -1) DESC, severity_rank DESC, nodes DESC, rule LIMIT {MOST_CAUSES}"""  # noqa: S608 (constants of our own)
_NAMES = "SELECT id, name FROM named WHERE id IN (SELECT unnest($ids::INTEGER[]))"
_WITH = """
  SELECT rule, list_sort(list(DISTINCT kubelet_version) FILTER (kubelet_version <> '')) AS kubelet_versions,
    list_sort(list(DISTINCT with_driver) FILTER (with_driver <> '')) AS driver_versions
  FROM hit GROUP BY rule"""
_ACROSS = """
  SELECT rule, count(DISTINCT finding) AS across_nodes FROM joined
  WHERE role = 'cause' AND ($since::TIMESTAMPTZ IS NULL OR ends >= $since::TIMESTAMPTZ)
    AND ($day = '' OR ends::DATE = $day::DATE)
  GROUP BY rule"""
# Of the first hit of each cause; few files have the clusters, which are written into the text, so that the others are
# not opened.
_FIRST = """
  SELECT rule, min(title) AS title, min(severity) AS severity, min(says) AS says, min(first_step) AS first_step,
    min(first_command) AS first_command
  FROM hits SEMI JOIN (
    SELECT unnest($first::STRUCT(rule VARCHAR, cluster VARCHAR, node VARCHAR, begins TIMESTAMPTZ)[], recursive := true))
    USING (rule, cluster, node, begins)
  WHERE across OR day IN ({days}) GROUP BY rule"""
_DAYS = """
  SELECT day, count(DISTINCT (cluster, node)) AS nodes, list_sort(list(DISTINCT kvdiag)) AS kvdiag
  FROM judged GROUP BY day ORDER BY day"""
_TREND = "SELECT rule, day, count(*) AS nodes FROM hit_day JOIN cause USING (cause) GROUP BY rule, day"
# By rule and version of a component: hit nodes with it, nodes with it, hit nodes and nodes with another version.
_VERSIONS = """
  WITH has AS MATERIALIZED (SELECT hash(cluster, node) AS hashed, component, version FROM node_versions),
  sizes AS MATERIALIZED (
    SELECT row_number() OVER ()::INTEGER AS number, component, version, count(*) AS nodes_with,
      sum(count(*)) OVER (PARTITION BY component) AS all_nodes
    FROM has GROUP BY component, version),
  numbered AS (SELECT hashed, number FROM has JOIN sizes USING (component, version)),
  pairs AS (
    SELECT cause, number, count(*) AS hit_with FROM hit_node JOIN numbered USING (hashed) GROUP BY cause, number)
  SELECT rule, component, version, hit_with, nodes_with,
    (sum(hit_with) OVER (PARTITION BY rule, component) - hit_with)::BIGINT AS hit_without,
    (all_nodes - nodes_with)::BIGINT AS nodes_without
  FROM pairs JOIN sizes USING (number) JOIN cause USING (cause) ORDER BY rule, component, version"""
_ERRORS = f"""
  SELECT component, says, count(DISTINCT (cluster, node)) AS nodes, sum(count)::BIGINT AS lines,
    count(*) OVER ()::BIGINT AS all_rows
  FROM error GROUP BY component, says ORDER BY nodes DESC, lines DESC, says LIMIT {MOST_ERRORS}"""  # noqa: S608
_UNEXPLAINED = f"""
  SELECT cluster, node, sum(count)::BIGINT AS lines, arg_max(says, count) AS says, count(*) OVER ()::BIGINT AS all_rows
  FROM error WHERE hash(cluster, node) NOT IN (SELECT hashed FROM named)
  GROUP BY cluster, node ORDER BY lines DESC, cluster, node LIMIT {MOST_UNEXPLAINED}"""  # noqa: S608 (constants of our own)
_FAILED = f"""
  SELECT cluster, node, reason, next_step, is_partial, count(*) OVER ()::BIGINT AS all_rows FROM failed
  ORDER BY is_partial, cluster, node, reason LIMIT {MOST_FAILED}"""  # noqa: S608 (constants of our own)
_COUNTS = """
  SELECT count(DISTINCT (cluster, node)) AS nodes, count(DISTINCT cluster) AS clusters,
    (SELECT count(DISTINCT (cluster, node)) FROM failed WHERE NOT is_partial) AS failed,
    (SELECT count(DISTINCT (cluster, node)) FROM failed WHERE is_partial) AS partial,
    min(begins) AS begins, max(ends) AS ends
  FROM judged"""
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

    `unexplained` are nodes with errors that nothing explains and without a root cause; `days` are those with results,
    the nodes that were judged on each, and by which kvdiag.
    """

    counts: Row
    causes: Sequence[Row]
    errors: Sequence[Row]
    failed: Sequence[Row]
    unexplained: Sequence[Row] = ()
    days: Sequence[Row] = ()


def overview(dest: str, *, cluster: str = "", since: datetime | None = None, day: str = "", named: int = 0) -> Overview:
    """Query the stored results: of one cluster, from a time on, or of one day; `named` nodes of each cause, or all."""
    for _ in range(TRIES - 1):
        with contextlib.suppress(MergedError):
            return _overview(dest, cluster=cluster, since=since, day=day, named=named)
    return _overview(dest, cluster=cluster, since=since, day=day, named=named)


def _overview(dest: str, *, cluster: str, since: datetime | None, day: str, named: int) -> Overview:
    # What was seen after a time is in the results of its day or later ones: the day of a bundle is that of its end.
    days = (day, day) if day else (f"{since:%Y-%m-%d}" if since else EVER[0], EVER[1])
    questions = Questions(place(dest), cluster, ("hits", "node_versions", "inputs", "errors", "failed"), days)
    seen = {"since": since, "day": day}
    for name, sql in _TABLES.items():
        questions.keep(name, sql, **seen)
    ids = f"min(id, {named})" if named else "list_sort(list(id))"  # a tenth of the time of the whole list
    counts, failed, judged, trend = (_rows(questions, sql) for sql in (_COUNTS, _FAILED, _DAYS, _TREND))
    errors, unexplained, running = (_rows(questions, sql) for sql in (_ERRORS, _UNEXPLAINED, _WITH))
    causes, across = _rows(questions, _CAUSES.format(ids=ids)), _rows(questions, _ACROSS, **seen)
    names = dict(questions.ask(_NAMES, ids=sorted({one for row in causes for one in row["all_nodes"]})).rows)
    of_rule = {row["rule"]: row | {"across_nodes": 0} for row in running}
    for row in (*across, *_first(questions, causes)):
        of_rule[row["rule"]] |= row
    versions = suspicious_versions(_rows(questions, _VERSIONS))
    hit: dict[str, dict[date, int]] = defaultdict(dict)
    for row in trend:
        hit[row["rule"]][row["day"]] = row["nodes"]
    every = [
        {name: value for name, value in row.items() if name != "read_day"}
        | {"all_nodes": [names[one] for one in row["all_nodes"]]}
        | of_rule[row["rule"]]
        | {"suspicious_versions": versions.get(row["rule"], []), "days": _by_day(hit[row["rule"]], judged)}
        | {"newer_kvdiag": newer_kvdiag(row["first_day"], judged)}
        for row in causes
    ]
    return Overview(counts[0], every, errors, failed, unexplained, judged)


def _first(questions: Questions, causes: Sequence[Row]) -> Sequence[Row]:
    """Return what the first finding of each cause says, and its first step."""
    first = [
        {"rule": row["rule"], "cluster": row["first_cluster"], "node": row["first_node"], "begins": row["begins"]}
        for row in causes
    ]
    days = ", ".join(sorted({f"DATE '{row['read_day']}'" for row in causes})) or "NULL"
    rows = _rows(questions, _FIRST.format(days=days), first=first)
    return [row | {"first_step": {"text": row["first_step"] or "", "run": row["first_command"] or ""}} for row in rows]


def _by_day(hit: Mapping[date, int], days: Sequence[Row]) -> Sequence[Row]:
    """Return the number of nodes that are hit on each day with results, from the first on which one is."""
    every = sorted({*hit, *(row["day"] for row in days)})
    return [{"day": day, "nodes": hit.get(day, 0)} for day in every if day >= min(hit)]


def newer_kvdiag(first_day: date, days: Sequence[Row]) -> Sequence[str]:
    """Return the kvdiag of the first day of a cause if another one judged the day before: its rules may be new."""
    judges = {row["day"]: row["kvdiag"] for row in days}
    before = [judges[day] for day in sorted(judges) if day < first_day]
    here = judges.get(first_day, [])
    return here if before and not {*here} & {*before[-1]} else []


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
    if hit * other_size < other_hit * size:  # less often than others; the sum would be long
        return 1.0
    for one in range(hit, min(size, hits)):  # each term from the one before it: a fleet has 100,000 nodes
        term *= (size - one) * (hits - one) / ((one + 1) * (other_size - hits + one + 1))
        total += term
        if term < total * _SMALLEST:  # the terms fall ever faster from here on
            break
    return min(total, 1.0)


def _log_ways(size: int, taken: int) -> float:
    """Return the logarithm of the number of ways to take some of a number of nodes."""
    return lgamma(size + 1) - lgamma(taken + 1) - lgamma(size - taken + 1)


def state(dest: str) -> Answer:
    """Return by cluster the number of nodes that are done, failed or read in part, and of findings."""
    return Questions(place(dest), tables=("findings", "joined", "inputs", "failed")).ask(_STATE)


def _rows(questions: Questions, sql: str, **values: object) -> list[Row]:
    answer = questions.ask(sql, **values)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
