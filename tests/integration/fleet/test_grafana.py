"""The dashboard of Grafana over a fleet's Parquet: each of its queries, run by DuckDB on the results of a real run.

Grafana itself is not run. What its DuckDB plug-in (motherduck-duckdb-datasource 0.4) does with a query is done here: the
data source's `initSql` is run first, `$__timeFilter` and variables are replaced, and a HUGEINT would be shown as text.
"""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

pytest.importorskip("duckdb", reason="kvdiag[fleet] is not installed: results are Parquet")

import duckdb

from tests.conftest import ROOT, run_kvdiag

GRAFANA = ROOT / "contrib/grafana"
DASHBOARD = json.loads((GRAFANA / "fleet.json").read_text("utf-8"))
PLUGIN = "motherduck-duckdb-datasource"
RESULTS = "/var/lib/kvdiag/results"
TIME_FILTER = re.compile(r"\$__timeFilter\((\w+)\)")
SAMPLES = ("kubelet-no-runtime-endpoint", "hostpath-driver-lost-state", "containerd-killed")  # the last two: worker-1
DAY = ("2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z")


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Give the merged results of two nodes of one cluster and one of another."""
    folder = tmp_path_factory.mktemp("fleet")
    for sample in SAMPLES:
        shutil.copytree(ROOT / "sample-logs" / sample, folder / f"bundles/cluster=eu-1/node={sample}")
    healthy = folder / "bundles/cluster=us-1/node=node-d"
    shutil.copytree(ROOT / "sample-logs/healthy-csi-volume", healthy)
    done = run_kvdiag("fleet", "run", folder / "bundles", "--out", folder / "results")
    assert done.returncode == 0, done.stderr
    assert run_kvdiag("fleet", "compact", folder / "results").returncode == 0
    return folder / "results"


@pytest.fixture(scope="module")
def grafana(results):
    """Give the function that answers a query as Grafana's plug-in does: columns, types and rows."""
    (source,) = yaml.safe_load((GRAFANA / "fleet-datasource.yaml").read_text("utf-8"))["datasources"]
    assert (source["type"], source["jsonData"]["path"]) == (PLUGIN, "")
    database = duckdb.connect()
    database.execute(source["jsonData"]["initSql"].replace(RESULTS, str(results)))

    def answer(sql: str, clusters: str = "'eu-1','us-1'", span: tuple[str, str] = DAY):
        filtered = TIME_FILTER.sub(rf"\1 >= '{span[0]}' AND \1 <= '{span[1]}'", sql)
        relation = database.sql(filtered.replace("$cluster", clusters))
        return relation.columns, list(map(str, relation.types)), relation.fetchall()

    return answer


def query(title: str) -> str:
    """Give the query of a panel."""
    (panel,) = [one for one in DASHBOARD["panels"] if one["title"] == title]
    return panel["targets"][0]["rawSql"]


@pytest.mark.parametrize("panel", DASHBOARD["panels"], ids=lambda panel: panel["title"])
def test_each_panel_has_rows(grafana, panel):
    """Of types that the plug-in shows as what they are; a timeseries is in the order of its time; no time, no rows."""
    (target,) = panel["targets"]
    columns, types, rows = grafana(target["rawSql"])
    assert rows
    assert "HUGEINT" not in types
    assert target["format"] == {"timeseries": 0}.get(panel["type"], 1)
    if panel["type"] == "timeseries":
        assert (columns[0], types[0], types[-1]) == ("time", "TIMESTAMP", "BIGINT")
        assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    elsewhere = grafana(target["rawSql"], span=("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z"))[2]
    assert elsewhere == ([(0,)] if panel["type"] == "stat" else [])


def test_the_numbers_are_those_of_the_report(grafana, results):
    """Root causes, their nodes and their first steps are those of `kvdiag fleet report`."""
    report = json.loads(run_kvdiag("fleet", "report", results, "-o", "json").stdout)
    columns, _, rows = grafana(query("Root causes"))
    shown = [dict(zip(columns, row, strict=True)) for row in rows]
    assert {(one["rule"], one["nodes"], one["severity"]) for one in shown} == {
        (one["rule"], one["nodes"], one["severity"]) for one in report["causes"]
    }
    assert len(shown) > 2
    assert grafana(query("Nodes judged"))[2] == [(report["counts"]["nodes"],)] == [(3,)]


def test_a_cluster_and_a_time_are_chosen(grafana):
    """The variable lists the clusters; a failure of another cluster or after the time is left out."""
    variable = DASHBOARD["templating"]["list"][1]
    assert grafana(variable["query"])[2] == [("eu-1",), ("us-1",)]
    for clusters, nodes in (("'eu-1','us-1'", 2), ("'eu-1'", 2), ("'us-1'", 0)):
        assert grafana(query("Nodes with a failure"), clusters)[2] == [(nodes,)]
    causes = {row[0] for row in grafana(query("Root causes"))[2]}
    ends = datetime(2026, 11, 20, 20, 45, tzinfo=UTC).isoformat()
    before = {row[0] for row in grafana(query("Root causes"), span=(DAY[0], ends))[2]}
    assert "csi-nodeunpublish-state-lost" in before
    assert before < causes
