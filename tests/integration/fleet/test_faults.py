"""Faults of a run and of its numbers that an operator met: full disks, small limits, faults of one node in `joined`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import run_kvdiag
from tests.integration.fleet.nodes import ADDED, PUBLISHED, UIDS, merged, write_node, write_pair

pytest.importorskip("duckdb", reason="kvdiag[fleet] is not installed")

from kvdiag.fleet.compact import MIXED, PART, Merge, plan
from kvdiag.fleet.fleetrun import join_clusters
from kvdiag.fleet.local_engine import run_local
from kvdiag.fleet.places import place
from kvdiag.fleet.results import Part, Result, Stored, put_results
from kvdiag.fleet.values import Limits, Outcome
from tests.integration.fleet.test_run import ran, rows

UNMEASURED = (
    'kubelet.go:1296] "Image garbage collection failed multiple times in a row" '
    'err="invalid capacity 0 on image filesystem"'
)
FINDING = {"title": "t", "severity": "high", "severity_rank": 3, "verdict": "confirmed", "role": "cause", "says": "s"}
FINDING |= {"rule": "csi-nodeunstage-missing", "begins": 10**15, "ends": 10**15, "count": 1, "nodes": []}


def started(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a command of fleet in a process of its own."""
    command = [sys.executable, "-m", "kvdiag", "fleet", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_a_fault_of_one_node_is_not_joined(tmp_path):
    """Nodes that share a volume are judged together about volumes alone; each row names the nodes.

    Two bundles of node-a have one line each that only together is a certain fault of the node, and not of a volume.
    """
    source, dest = write_pair(tmp_path / "logs"), tmp_path / "out"
    later = write_node(source, "node-a-later", [("25:00", PUBLISHED), ("26:00", UNMEASURED)]) / "kubelet.log"
    later.write_text(later.read_text().replace("node-a-later", "node-a").replace(UIDS["other"], UIDS["node-a"]))
    with (source / "cluster=eu-1/node=node-a/kubelet.log").open("a") as log:
        log.write(later.read_text().splitlines()[-1].replace("08:26", "08:20") + "\n")
    assert ran(source, dest).done == 3
    assert [one.reason for one in join_clusters(str(dest), Limits(), run_local)] == [""]
    alone = rows(dest, "SELECT DISTINCT verdict FROM findings WHERE rule = 'imagefs-invalid-capacity'")
    assert alone == [("possible",)]
    joined = rows(dest, "SELECT rule, subject_kind, nodes FROM joined")
    assert joined
    assert {kind for _, kind, _ in joined} == {"volume"}
    assert all("" not in nodes for _, _, nodes in joined)


def test_what_a_node_also_shows_alone(tmp_path):
    """A rule that one node shows alone and others only together is not called invisible on single nodes."""
    there = place(str(tmp_path))
    outcome = Outcome("eu", "worker-1", "/1", "b1", "a" * 36, day="2026-03-01")
    put_results(there, outcome, {"findings": [FINDING | {"finding": "f1"}], "inputs": [{"source": "kubelet.log"}]})
    across = FINDING | {"finding": "f2", "nodes": ["worker-2", "worker-3"]}
    put_results(there, Outcome("eu", "", "", "joined", "b" * 36, day="2026-03-01"), {"joined": [across]})
    text = run_kvdiag("fleet", "report", tmp_path).stdout
    assert "HIGH 3 nodes: csi-nodeunstage-missing" in text
    assert "across nodes: 1 found by joining the logs of several nodes" in text
    assert "alone" not in text


def test_a_node_from_two_sources(tmp_path):
    """It is one node, with the rows of both its bundles, in the report and in the states."""
    for name in ("monday", "tuesday"):
        write_node(tmp_path / name, "node-a", [("00:00", ADDED)])
        ran(tmp_path / name, tmp_path / "out")
    assert rows(tmp_path / "out", "SELECT count(*), count(DISTINCT bundle), count(DISTINCT node) FROM inputs") == [
        (2, 2, 1)
    ]
    assert json.loads(run_kvdiag("fleet", "report", tmp_path / "out", "-o", "json").stdout)["counts"]["nodes"] == 1
    assert run_kvdiag("fleet", "status", tmp_path / "out").stdout.splitlines()[1].split()[:2] == ["eu-1", "1"]


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of 20 KB, which may grow by `mount -o remount`."""
    (folder := tmp_path / "full").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=20k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(tmp_path, full):
    """The disk is named and no bundle blamed, no job takes it for success, and the next run does the rest."""
    for number in range(8):
        write_node(tmp_path / "logs", f"node-{number}", [("00:00", ADDED)])
    done = started("run", tmp_path / "logs", "--out", full)
    assert done.returncode == 4, done.stderr
    assert "No space left on device" in done.stderr
    assert "kvdiag analyze" not in done.stderr
    assert "Traceback" not in done.stderr
    ((stored,),) = rows(full, "SELECT count(DISTINCT node) FROM inputs")
    subprocess.run(["mount", "-o", "remount,size=20m", str(full)], check=True)
    done = started("run", tmp_path / "logs", "--out", full)
    assert done.returncode == 0, done.stderr
    assert f"{8 - stored} of {8 - stored} nodes done · 0 failed · {stored} skipped" in done.stderr
    assert rows(full, "SELECT count(*), count(DISTINCT node) FROM inputs") == [(8, 8)]


def test_a_limit_of_compact_can_be_raised(tmp_path):
    """A merge that takes too long says which option to raise, compact has it, and nothing is lost meanwhile."""
    ran(write_pair(tmp_path / "logs"), tmp_path / "out")
    before = rows(tmp_path / "out", "SELECT * FROM inputs ORDER BY ALL")
    done = started("compact", tmp_path / "out", "--limit-seconds", "0.1")
    assert "took more than 0.1 s; raise --limit-seconds" in done.stderr
    assert rows(tmp_path / "out", "SELECT * FROM inputs ORDER BY ALL") == before
    assert started("compact", tmp_path / "out").returncode == 0
    assert rows(tmp_path / "out", "SELECT * FROM inputs ORDER BY ALL") == before
    assert not [one for one in place(str(tmp_path / "out")).files("v2/new") if one.size]


@pytest.mark.parametrize(
    ("pattern", "run_ends_with"), [("v2/parts/*/*.json", 4), ("v2/inputs/*/*.parquet", 0), ("v2/new/*/*/*.gz", 3)]
)
def test_damaged_results(tmp_path, pattern, run_ends_with):
    """A file that is cut is named, with what to do; a run that cannot know what is done does not take place."""
    source, dest = write_pair(tmp_path / "logs"), tmp_path / "out"
    ran(source, dest)
    if "new" not in pattern:
        merged(place(str(dest)))
    for file in dest.glob(pattern):
        file.write_bytes(file.read_bytes()[:30])
    done = started("report", dest)
    assert done.returncode == 3, done.stderr
    assert "damaged" in done.stderr
    assert "the next run analyzes its bundles again" in done.stderr
    assert "bug in kvdiag" not in done.stderr
    assert started("run", source, "--out", dest, "--shard", "0/1").returncode == run_ends_with
    for file in dest.glob(pattern.replace("inputs", "parts").replace("parquet", "json")):
        file.unlink()
    done = started("run", source, "--out", dest)
    assert "2 of 2 nodes done · 0 failed · 0 skipped" in done.stderr
    assert rows(dest, "SELECT count(*), count(DISTINCT node) FROM inputs") == [(2, 2)]


def test_what_cannot_be_read_is_not_old(tmp_path):
    """With --keep, a bundle without a time of modification is a failure of today: nobody knows that it is old."""
    write_node(tmp_path / "logs", "old", [("00:00", ADDED)])
    (tmp_path / "logs/cluster=eu-1/node=empty").mkdir()
    done = started("run", tmp_path / "logs", "--out", tmp_path / "out", "--keep", 2)
    assert done.returncode == 3, done.stderr
    assert "0 of 1 nodes done · 1 failed" in done.stderr
    assert rows(tmp_path / "out", "SELECT node, day = current_date FROM failed") == [("empty", True)]


@pytest.mark.parametrize("words", [["report"], ["sql"], ["compare"]])
def test_no_option_promises_what_is_not_stored(tmp_path, words):
    """Secrets are redacted before they are stored: an option that shows them is wrong usage."""
    done = started(*words, tmp_path, *["SELECT 1"] * (words == ["sql"]), "--no-redact")
    assert done.returncode == 2
    assert "--no-redact" in done.stderr


def test_small_clusters_share_a_part(tmp_path):
    """A part holds the results of one day: of one large cluster, or of several small ones; a large part is left alone."""
    there = place(str(tmp_path))
    large, small, days = "1" * 24, "2" * 24, ("2026-03-01", "2026-03-02")
    parts = {digest: Part(digest, days[1], tables=("findings",)) for digest in (large, small)}
    for part, size in ((parts[large], PART), (parts[small], 1)):
        there.put(part.path("findings"), bytes(size))
    sizes = {"a1": MIXED, "a2": MIXED, "b1": 1, "c1": 1}
    new = [
        Result(name[0], day, name, day + name, "done", f"{day}/{name}", size)
        for name, size in sizes.items()
        for day in days
    ]
    merged_before = Result("a", days[1], "a0", "k", "done", part=small)
    found = Stored([*new, merged_before], parts)
    assert list(plan(there, found)) == [
        Merge(days[0], (f"{days[0]}/a1", f"{days[0]}/a2")),
        Merge(days[0], (f"{days[0]}/b1", f"{days[0]}/c1")),
        Merge(days[1], (f"{days[1]}/a1", f"{days[1]}/a2", small)),
        Merge(days[1], (f"{days[1]}/b1", f"{days[1]}/c1")),
    ]
    assert list(plan(there, found, only=[days[1] + "b1"])) == [Merge(days[1], (f"{days[1]}/b1",))]
