"""What a lead asks of a month of 100 nodes, answered by the report and by the SQL of docs/fleet.md."""

from __future__ import annotations

import csv
import io
import json
from datetime import date
from pathlib import Path

import pytest

from kvdiag.fleet.values import Job, Limits
from tests.conftest import ROOT, run_kvdiag
from tests.integration.fleet.nodes import JUDGES, merged, synthetic, synthetic_engine

pytest.importorskip("duckdb", reason="kvdiag[fleet] is not installed")

from kvdiag.fleet.places import place
from kvdiag.fleet.questions import Questions, tables_of

CLUSTERS, NODES, DAYS = 2, 100, 30
OLD_CONTAINERD = [f"c01/n{number:04}" for number in range(1, NODES, 20)]
OLD, OTHERS = len(OLD_CONTAINERD), NODES - len(OLD_CONTAINERD)


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the results of a month, merged by day as a nightly run does."""
    dest = tmp_path_factory.mktemp("month") / "out"
    bundles = synthetic(NODES, days=DAYS, clusters=CLUSTERS)
    for day in range(DAYS):
        jobs = [Job(one, f"{one.id}{1:012x}", str(dest), Limits()) for one in bundles[day * NODES : (day + 1) * NODES]]
        assert sum(1 for _ in synthetic_engine(jobs)) == NODES
        merged(place(str(dest)))
    return dest


@pytest.fixture(scope="module")
def report(month: Path) -> dict:
    """Give the report as JSON, with its causes by rule."""
    data = json.loads(run_kvdiag("fleet", "report", month, "-o", "json").stdout)
    return data | {"by_rule": {cause["rule"]: cause for cause in data["causes"]}}


def answered(month: Path, heading: str) -> list[dict]:
    """Return the rows of a documented question."""
    page = (ROOT / "docs" / "fleet.md").read_text("utf-8")
    sql = page.partition(f"\n{heading}\n")[2].partition("```sql\n")[2].partition("```")[0]
    assert sql, heading
    answer = Questions(place(str(month)), tables=tables_of(sql)).ask_user(sql)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


def test_which_failures_hit_most_nodes(month, report):
    """The most severe that last come first, with all their nodes and the first step; what is over stands apart."""
    assert [cause["rule"] for cause in report["causes"]] == ["cni-missing", "disk-full", "link-lost", "clock-wrong"]
    worst, full = report["by_rule"]["cni-missing"], report["by_rule"]["disk-full"]
    assert (worst["nodes"], worst["open_nodes"], worst["all_nodes"]) == (OLD, OLD, OLD_CONTAINERD)
    assert (full["nodes"], full["open_nodes"]) == (NODES // 10, 2)
    assert worst["first_step"]["text"] == "Fix cni-missing."
    rows = answered(month, "Which failures last on most nodes, on which, and what is the first step?")
    assert [(row["rule"], row["nodes"]) for row in rows[:2]] == [("cni-missing", OLD), ("disk-full", 2)]
    assert rows[0]["names"] == OLD_CONTAINERD
    assert rows[0]["first_step"] == "Fix cni-missing."


def test_which_version_fails(month, report):
    """All nodes with containerd 1.6.15 and no others have `cni-missing`."""
    (version,) = report["by_rule"]["cni-missing"]["suspicious_versions"]
    named = {name: version[name] for name in ("version", "hit_with", "nodes_with", "hit_without", "nodes_without")}
    assert named == {"version": "1.6.15", "hit_with": OLD, "nodes_with": OLD, "hit_without": 0, "nodes_without": OTHERS}
    rows = answered(month, "Which versions do the nodes of a failure have, and how many nodes without it?")
    of_rule = {row["version"]: (row["hit_nodes"], row["nodes"]) for row in rows if row["rule"] == "cni-missing"}
    assert of_rule == {"1.6.15": (OLD, OLD)}
    text = run_kvdiag("fleet", "report", month).stdout
    assert f"suspicious: {OLD} of {OLD} nodes with containerd 1.6.15, 0 of {OTHERS} others" in text


def test_since_when_and_is_it_the_nodes_or_kvdiag(month, report):
    """`cni-missing` began on the 8th on the nodes; `clock-wrong` began with another kvdiag, and the report says so."""
    days = {day["day"]: day["nodes"] for day in report["by_rule"]["cni-missing"]["days"]}
    assert len(days) == 23
    assert set(days.values()) == {OLD}
    assert report["by_rule"]["cni-missing"]["first_day"] == "2026-03-08"
    assert report["by_rule"]["cni-missing"]["newer_kvdiag"] == []
    assert report["by_rule"]["clock-wrong"]["newer_kvdiag"] == [JUDGES[1]]
    rows = answered(month, "On how many nodes was each failure seen, day by day, and which kvdiag judged?")
    first = {row["rule"]: row for row in reversed(rows)}
    assert (first["cni-missing"]["day"], first["cni-missing"]["judged_by"]) == (date(2026, 3, 8), [JUDGES[0]])
    assert (first["clock-wrong"]["day"], first["clock-wrong"]["judged_by"]) == (date(2026, 3, 15), [JUDGES[1]])
    text = run_kvdiag("fleet", "report", month).stdout
    assert text.count("the rule may be new, not the fault") == 1
    assert "by day: " + ", ".join(f"03-{day}: {OLD}" for day in range(24, 31)) in text


def test_which_nodes_are_sick_without_a_cause(month, report):
    """Node 3 alone has errors that nothing explains."""
    assert [(row["node"], row["lines"]) for row in report["unexplained"]] == [("n0003", DAYS)]
    rows = answered(month, "Which nodes have errors that nothing explains, and no root cause?")
    assert [(row["cluster"], row["node"], row["lines"]) for row in rows] == [("c01", "n0003", DAYS)]


def test_what_is_new_since_yesterday(month):
    """Node 7 lost its link on the last day; a week before, another rule was new on every twentieth."""
    done = run_kvdiag("fleet", "compare", month, "-o", "json")
    (change,) = json.loads(done.stdout)
    assert (change["change"], change["rule"], change["new_nodes"]) == ("new", "link-lost", ["c01/n0007"])
    assert f"2026-03-30: {NODES} nodes, judged by kvdiag {JUDGES[1]}" in done.stderr
    rows = answered(month, "What is new since the day before?")
    assert [(row["rule"], row["cluster"], row["node"]) for row in rows] == [("link-lost", "c01", "n0007")]
    done = run_kvdiag("fleet", "compare", month, "--day", "2026-03-16", "--before", "2026-03-07", "-o", "csv")
    assert [(row["change"], row["rule"]) for row in csv.DictReader(io.StringIO(done.stdout))] == [
        ("new", "cni-missing"), ("new", "clock-wrong")
    ]  # fmt: skip
    assert "the rules differ" in done.stderr


def test_a_report_of_one_day_and_cluster(month):
    """With --day nothing of other days counts, with --cluster nothing of other clusters."""

    def reported(*words: str) -> dict:
        return json.loads(run_kvdiag("fleet", "report", month, *words, "-o", "json").stdout)

    one = reported("--day", "2026-03-07")
    assert [(cause["rule"], cause["nodes"]) for cause in one["causes"]] == [("disk-full", NODES // 10)]
    assert [day["day"] for day in one["days"]] == ["2026-03-07"]
    assert one["unexplained"][0]["lines"] == 1
    last = reported("--since", "2026-03-29T00:00:00Z")
    assert [day["day"] for day in last["days"]] == ["2026-03-29", "2026-03-30"]
    assert {cause["rule"]: cause["first_day"] for cause in last["causes"]}["cni-missing"] == "2026-03-29"
    assert reported("--cluster", "c00")["counts"]["nodes"] == NODES // CLUSTERS
    wrong = run_kvdiag("fleet", "report", month, "--day", "yesterday")
    assert wrong.returncode == 2
    assert "write a day such as 2026-03-12" in wrong.stderr


def test_two_runs_are_compared(month, tmp_path):
    """What a later run found on the same nodes is new or gone; a node that it did not judge is neither."""
    later = tmp_path / "later"
    jobs = [Job(one, f"{one.id}{1:012x}", str(later), Limits()) for one in synthetic(30, clusters=CLUSTERS)]
    list(synthetic_engine(jobs))
    done = run_kvdiag("fleet", "compare", month, later, "-o", "json")
    changes = {change["rule"]: change for change in json.loads(done.stdout)}
    gone = changes["cni-missing"]
    assert (gone["change"], gone["gone_nodes"]) == ("gone", ["c01/n0001", "c01/n0021"])
    assert gone["not_judged_now"] == OLD_CONTAINERD[2:]
    assert changes["disk-full"]["change"] == "changed"
    assert changes["disk-full"]["gone_nodes"] == []


def test_one_day_cannot_be_compared(tmp_path):
    """The message says what to do."""
    list(synthetic_engine([Job(one, f"{one.id}{1:012x}", str(tmp_path), Limits()) for one in synthetic(3)]))
    done = run_kvdiag("fleet", "compare", tmp_path)
    assert done.returncode == 2
    assert "no results of a day before 2026-03-01" in done.stderr
