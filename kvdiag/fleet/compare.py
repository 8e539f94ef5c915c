"""Compare two days of a fleet, or two runs: which root causes are new, and on which nodes; which are gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvdiag.base.errors import UsageError
from kvdiag.fleet.places import place
from kvdiag.fleet.questions import EVER, Answer, Questions

_HITS = """
  SELECT rule, cluster, node, max(severity_rank) AS severity_rank, arg_max(severity, severity_rank) AS severity
  FROM hits WHERE $day = '' OR day = $day::DATE GROUP BY rule, cluster, node"""
_JUDGED = "SELECT DISTINCT cluster, node, kvdiag FROM inputs"
# A node whose logs were not read on one of both sides is neither new there nor well again.
_CHANGES = """
  WITH every AS (
    SELECT rule, cluster || '/' || node AS name, coalesce(now.severity_rank, before.severity_rank) AS severity_rank,
      coalesce(now.severity, before.severity) AS severity, now.severity IS NOT NULL AS is_hit,
      before.severity IS NOT NULL AS was_hit, (cluster, node) IN (SELECT (cluster, node) FROM judged_now) AS is_judged,
      (cluster, node) IN (SELECT (cluster, node) FROM judged_before) AS was_judged
    FROM now FULL JOIN before USING (rule, cluster, node)),
  changes AS (
    SELECT CASE WHEN NOT bool_or(was_hit) THEN 'new' WHEN NOT bool_or(is_hit) AND NOT bool_or(is_judged) THEN 'unknown'
        WHEN NOT bool_or(is_hit) THEN 'gone' WHEN bool_or(is_hit <> was_hit) THEN 'changed' ELSE 'same' END AS change,
      arg_max(severity, severity_rank) AS severity, rule, count(*) FILTER (was_hit) AS before,
      count(*) FILTER (is_hit) AS now,
      coalesce(list_sort(list(name) FILTER (is_hit AND NOT was_hit AND was_judged)), []) AS new_nodes,
      coalesce(list_sort(list(name) FILTER (was_hit AND NOT is_hit AND is_judged)), []) AS gone_nodes,
      coalesce(list_sort(list(name) FILTER (is_hit AND NOT was_judged)), []) AS not_judged_before,
      coalesce(list_sort(list(name) FILTER (was_hit AND NOT is_judged)), []) AS not_judged_now,
      max(severity_rank) AS severity_rank
    FROM every GROUP BY rule)
  SELECT * EXCLUDE severity_rank FROM changes WHERE change <> 'same'
  ORDER BY list_position(['new', 'changed', 'unknown', 'gone'], change), severity_rank DESC, now DESC, rule"""


class Side(NamedTuple):
    """One of the two sides: the results, the day or all days, the judged nodes, and the kvdiag that judged them."""

    dest: str
    day: str
    nodes: int = 0
    kvdiag: tuple[str, ...] = ()


class RunComparison(NamedTuple):
    """The two sides, and a row for each root cause that changed."""

    before: Side
    now: Side
    changes: Answer


def compare(before: Side, now: Side, cluster: str = "") -> RunComparison:
    """Compare two sides; of one DEST the last two days with results if no days are given.

    Raise UsageError if it has results of one day only.
    """
    if before.dest == now.dest:
        before, now = _days(before, now, cluster)
    tables = ("hits", "inputs")
    was, there = (
        Questions(place(one.dest), cluster, tables, (one.day, one.day) if one.day else EVER) for one in (before, now)
    )
    for name, questions, day in (("before", was, before.day), ("now", there, now.day)):
        there.keep(name, questions.table(_HITS, day=day))
        there.keep(f"judged_{name}", questions.table(_JUDGED))
    return RunComparison(_counted(there, before, "before"), _counted(there, now, "now"), there.ask(_CHANGES))


def _days(before: Side, now: Side, cluster: str) -> tuple[Side, Side]:
    rows = Questions(place(now.dest), cluster, ("inputs",)).ask("SELECT DISTINCT day FROM inputs ORDER BY day").rows
    days = [str(day) for (day,) in rows]
    last = now.day or next(reversed(days), "")
    earlier = before.day or next((day for day in reversed(days) if day < last), "")
    if not earlier:
        raise UsageError(
            f"fleet compare {now.dest}: no results of a day before {last or 'today'}; give each day's bundles a path of"
            " their own, or give an earlier and a later DEST"
        )
    return before._replace(day=earlier), now._replace(day=last)


def _counted(questions: Questions, side: Side, name: str) -> Side:
    sql = f"SELECT count(DISTINCT (cluster, node)), list_sort(list(DISTINCT kvdiag)) FROM judged_{name}"  # noqa: S608
    ((nodes, judges),) = questions.ask(sql).rows
    return side._replace(nodes=nodes, kvdiag=tuple(one for one in judges or () if one))


def notes(found: RunComparison) -> Sequence[str]:
    """Return what to know of both sides."""
    lines = [
        f"{side.day or side.dest}: {side.nodes:,} nodes, judged by kvdiag {', '.join(side.kvdiag) or '?'}"
        for side in (found.before, found.now)
    ]
    differ = {*found.before.kvdiag} != {*found.now.kvdiag}
    return [*lines, *["the rules differ: what is new or gone may be so by another kvdiag, not on the nodes"] * differ]
