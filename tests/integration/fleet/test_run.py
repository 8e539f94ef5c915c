"""A run over the bundles of nodes, with the real processes, Parquet files and DuckDB."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.base.errors import UsageError
from kvdiag.model.options import Options
from tests.conftest import ROOT, run_kvdiag
from tests.integration.fleet.nodes import ADDED, HANDLE, PV, merged, write_node, write_pair

pytest.importorskip("pyarrow", reason="kvdiag[fleet] is not installed: results are Parquet")
pytest.importorskip("duckdb", reason="kvdiag[fleet] is not installed: questions are asked of DuckDB")

import pyarrow as pa
import pyarrow.parquet as pq

from kvdiag.fleet.bundles import bundles
from kvdiag.fleet.fleetrun import Engine, join_clusters, merge_days, run_fleet
from kvdiag.fleet.local_engine import run_local
from kvdiag.fleet.overview import state
from kvdiag.fleet.places import Folder, place
from kvdiag.fleet.progress import FleetProgress
from kvdiag.fleet.questions import Questions
from kvdiag.fleet.results import put_results, stored
from kvdiag.fleet.values import Limits, Outcome

TALLY = partial(FleetProgress, io.StringIO())
POISON = """
import os, sys, time
name = sys.orig_argv[-1]
if name.endswith("crashes"):
    os.kill(os.getpid(), 11)
if name.endswith("hangs"):
    time.sleep(100)
if name.endswith("bursts"):
    import kvdiag.inputs.compressed
    kvdiag.inputs.compressed.FREE = 1 << 20
if name.endswith("eats"):
    import kvdiag.fleet.guard as guard
    limit = guard.limit_me
    guard.limit_me = lambda *known: (limit(*known), bytearray(64 << 30))
"""


def ran(source: Path, dest: Path, engine: Engine = run_local, limits: Limits = Limits()) -> FleetProgress:  # noqa: B008 (frozen)
    return run_fleet(list(bundles([str(source)], "")), str(dest), limits, engine, TALLY)


def compacted(dest: Path | str) -> None:
    """Merge the results of every day."""
    assert not [one.reason for one in merge_days(str(dest), Limits(), run_local, fewest=0) if one.reason]


def rows(dest: Path, sql: str) -> list[tuple]:
    return list(Questions(place(str(dest))).ask(sql).rows)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Give two bundles, and their results with what both show together."""
    folder = tmp_path_factory.mktemp("pair")
    source, dest = write_pair(folder / "logs"), folder / "out"
    tally = ran(source, dest)
    assert (tally.done, tally.failed, tally.partial) == (2, 0, 0)
    assert [outcome.reason for outcome in join_clusters(str(dest), Limits(), run_local)] == [""]
    return source, dest


def test_what_only_two_nodes_show_together_is_added(pair):
    """The findings of the nodes and the joined ones are those of all logs at once."""
    source, dest = pair
    together = {(f.rule.name, f.subject.name, str(f.verdict)) for f in analyze(Options(paths=(str(source),))).findings}
    alone = rows(dest, "SELECT rule, subject, verdict FROM findings")
    joined = rows(dest, "SELECT rule, subject, verdict FROM joined")
    assert "volume-staged-on-two-nodes" in {rule for rule, _, _ in joined}
    assert {*alone, *joined} == together
    assert not {*alone} & {*joined}
    assert rows(dest, "SELECT nodes FROM joined WHERE rule = 'volume-staged-on-two-nodes'") == [(["node-a", "node-b"],)]


def test_a_time_beyond_the_calendar(tmp_path):
    """What a pod prints of the year 10000 fails neither its node nor what all nodes show together."""
    source, dest = write_pair(tmp_path / "logs"), tmp_path / "out"
    log = source / "cluster=eu-1/node=node-a/pods/shop_db-0_2a0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01/app/0.log"
    log.parent.mkdir(parents=True)
    inner = ('{"ts":253402300800000,"level":"error","msg":"x"}', 'time="9999-12-31T23:59:59-23:59" level=error msg="x"')
    log.write_text("".join(f"2026-03-12T08:00:00.1Z stdout F {line}\n" for line in inner) + f"{inner[1]}\n")
    tally = ran(source, dest)
    assert (tally.done, tally.failed, tally.partial) == (2, 0, 0)
    assert [outcome.reason for outcome in join_clusters(str(dest), Limits(), run_local)] == [""]
    assert rows(dest, "SELECT count(*) FROM joined WHERE rule = 'volume-staged-on-two-nodes'") == [(1,)]


def test_what_was_judged_is_skipped(pair):
    """A second run starts no process, and joins nothing anew."""
    source, dest = pair
    tally = ran(source, dest, lambda jobs: iter([pytest.fail(str(job)) for job in jobs]))
    assert (tally.done, tally.skipped) == (0, 2)
    assert not list(join_clusters(str(dest), Limits(), run_local))


def test_the_driver_dies(tmp_path):
    """What was done when a run ended stays done; what was not is done by the next one."""
    source, dest = write_pair(tmp_path / "logs"), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        ran(source, dest, lambda jobs: _interrupted(run_local(jobs, workers=1)))
    assert ran(source, dest).skipped == 1
    assert rows(dest, "SELECT count(DISTINCT node) FROM inputs") == [(2,)]


def _interrupted(outcomes):
    yield next(outcomes)
    outcomes.close()
    raise KeyboardInterrupt


def test_a_bundle_that_changed_is_judged_anew(tmp_path):
    """Of what it held before nothing counts any more, compacted or not."""
    source, dest = tmp_path / "logs", tmp_path / "out"
    folder = write_node(source, "node-c", [("00:00", ADDED)])
    ran(source, dest)
    count = "SELECT count(*), any_value(lines) FROM inputs"
    assert rows(dest, count) == [(1, 1)]
    compacted(dest)
    assert not [one for one in place(str(dest)).files("v2/new") if one.size]
    assert rows(dest, count) == [(1, 1)]
    log = folder / "kubelet.log"
    log.write_text(log.read_text() * 2)
    assert ran(source, dest).done == 1
    assert rows(dest, count) == [(1, 2)]
    compacted(dest)
    assert rows(dest, count) == [(1, 2)]
    assert len(list(place(str(dest)).files("v2/inputs"))) == 1


def test_a_merge_that_was_interrupted_changes_nothing(tmp_path):
    """Wherever it ends, each row is there once; two merges of the same results at once count once too."""
    source, dest = write_pair(tmp_path / "logs"), tmp_path / "out"
    ran(source, dest)
    sql = "SELECT * FROM events ORDER BY ALL"
    before = rows(dest, sql)
    there = place(str(dest))
    for method in ("put", "remove_all"):  # the third file of a part, and the first that a merge deletes
        for end in range(1, 9):
            interrupted = _Interrupted(str(dest), method, end)
            with contextlib.suppress(KeyboardInterrupt):
                merged(interrupted)
            assert rows(dest, sql) == before
    new = [one.path for one in stored(there).results if one.path]
    assert not new
    log = source / "cluster=eu-1/node=node-b/kubelet.log"
    log.write_text(log.read_text() * 2)
    ran(source, dest)
    both = rows(dest, sql)
    new = [one for one in stored(there).results if one.path]
    kept = {one.path: (dest / one.path).read_bytes() for one in new}
    merged(there)
    for path, data in kept.items():  # as if another run had merged only these meanwhile
        there.put(path, data)
    merged(there, [one.key for one in new])
    assert rows(dest, sql) == both
    merged(there)
    assert rows(dest, sql) == both
    for method, end in (("remove_all", 1), ("remove_all", 2), ("put", 2)):  # a merge that replaces a part
        log.write_text(log.read_text().replace(" 08:", " 09:"))
        ran(source, dest)
        before = rows(dest, sql)
        with contextlib.suppress(KeyboardInterrupt):
            merged(_Interrupted(str(dest), method, end))
        assert rows(dest, sql) == before
    merged(there)
    assert rows(dest, sql) == before
    compacted(dest)
    assert rows(dest, sql) == before
    assert len([one for one in there.files("v2/parts") if one.size]) == 1


class _Interrupted(Folder):
    """A folder whose user presses Ctrl-C at the n-th call of a method."""

    def __init__(self, address: str, method: str, end: int) -> None:
        super().__init__(address)
        self._calls = 0
        real = getattr(self, method)

        def counted(*words: object) -> object:
            self._calls += 1
            if self._calls == end:
                raise KeyboardInterrupt
            return real(*words)

        setattr(self, method, counted)


def test_results_of_an_older_kvdiag_stay(tmp_path):
    """A file without a column that was added later is read, with NULL there, and merged with newer ones."""
    dest = tmp_path / "out"
    folder = dest / "v2/findings/cluster=eu-1/day=2026-03-01"
    folder.mkdir(parents=True)
    (dest / "v2/parts/cluster=eu-1/day=2026-03-01").mkdir(parents=True)
    old, digest = pa.table({"node": ["n1"], "rule": ["r1"], "result_key": ["a" * 36]}), "0" * 24
    pq.write_table(old, folder / f"{digest}.parquet")
    words = {"results": [["b1", "a" * 36, "done"]], "replaces": []}
    (dest / f"v2/parts/cluster=eu-1/day=2026-03-01/{digest}.json").write_text(json.dumps(words))
    assert rows(dest, "SELECT node, rule, title, kvdiag, day FROM findings") == [
        ("n1", "r1", None, None, date(2026, 3, 1))
    ]
    row = {"rule": "r1", "title": "newer"}
    outcome = Outcome("eu-1", "n2", "/n2", "b2", "b" * 36, day="2026-03-01", judge="9.9")
    put_results(place(str(dest)), outcome, {"findings": [row]})
    found = [("n1", None, None), ("n2", "newer", "9.9")]
    for _ in range(2):
        assert rows(dest, "SELECT node, title, kvdiag FROM findings ORDER BY node") == found
        compacted(dest)
    assert not folder.exists()
    put_results(
        place(str(dest)), outcome._replace(cluster="eu-2", node="n3", bundle="b3", key="c" * 36), {"findings": [row]}
    )
    compacted(dest)  # both clusters share a part now
    of_cluster = [
        Questions(place(str(dest)), name).ask("SELECT node FROM findings ORDER BY ALL").rows
        for name in ("eu-1", "eu-2")
    ]
    assert of_cluster == [[("n1",), ("n2",)], [("n3",)]]
    assert len([one for one in place(str(dest)).files("v2/parts") if one.size]) == 1


def test_a_join_judges_what_changed(tmp_path):
    """Of two shared volumes only that with a new log is judged again; what was found about the other stays."""
    source, dest = write_pair(tmp_path / "logs"), tmp_path / "out"

    def joined() -> tuple[list[tuple], set[str]]:
        ran(source, dest)
        assert not [one.reason for one in join_clusters(str(dest), Limits(), run_local) if one.reason]
        batches = {name for (name,) in rows(dest, "SELECT judged FROM judged")}
        return rows(dest, "SELECT rule, subject, nodes, begins, says FROM joined ORDER BY ALL"), batches

    first, one_batch = joined()
    other = {"node-a": "node-x", "node-b": "node-y", PV: PV.replace("5b1e", "6c2f"), HANDLE: "vol-6a6a6a6a"}
    other |= {"2a0c3a52": "4a0c3a52", "8b0c3a52": "9b0c3a52"}
    for node in ("node-a", "node-b"):
        text = (source / f"cluster=eu-1/node={node}/kubelet.log").read_text()
        for word, new in other.items():
            text = text.replace(word, new)
        (source / f"cluster=eu-1/node={other[node]}").mkdir()
        (source / f"cluster=eu-1/node={other[node]}/kubelet.log").write_text(text)
    both, two_batches = joined()
    assert all(row in both for row in first)
    assert len(both) == 2 * len(first)
    assert len(two_batches) == 2
    assert one_batch < two_batches
    with (source / "cluster=eu-1/node=node-y/kubelet.log").open("a") as log:
        log.write(text.splitlines()[-1] + "\n")
    again, batches = joined()
    assert again == both
    assert batches & two_batches == one_batch


def test_old_days_are_deleted(tmp_path):
    """With --keep, days before the last N go, and their logs are not read again."""
    source, dest = tmp_path / "logs", tmp_path / "out"
    write_node(source, "old", [("00:00", ADDED)])
    ran(source, dest)
    assert rows(dest, "SELECT node FROM inputs") == [("old",)]
    fresh = write_node(source, "fresh", [("00:00", ADDED)]) / "kubelet.log"
    today = datetime.now(UTC)
    fresh.write_text(
        fresh.read_text().replace("Mar 12", f"{today:%b} {today.day:2}").replace("I0312", f"I{today:%m%d}")
    )
    done = _started(["fleet", "run", source, "--out", dest, "--keep", "30"])
    assert done.returncode == 0, done.stderr
    assert "1 of 1 nodes done" in done.stderr
    assert rows(dest, "SELECT node FROM inputs") == [("fresh",)]


def test_each_poison_is_one_row(tmp_path):
    """A bundle that crashes, hangs, eats memory or holds a bomb is told of with the next step; the others are judged."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(POISON)
    source, dest = tmp_path / "logs", tmp_path / "out"
    for node in ("crashes", "hangs", "eats", "fine"):
        write_node(source, node, [("00:00", ADDED)])
    bomb = write_node(source, "bursts", [("00:00", ADDED)]) / "containerd.log.gz"
    bomb.write_bytes(gzip.compress(b"a" * (8 << 20)))
    words = ("fleet", "run", source, "--out", dest, "--limit-seconds", 8)
    path = os.pathsep.join((str(tmp_path / "site"), str(ROOT)))
    done = _started(words, PYTHONPATH=path)
    assert done.returncode == 3, done.stderr
    assert "2 of 5 nodes done · 3 failed" in done.stderr
    said = dict(rows(dest, "SELECT node, reason || '; ' || next_step FROM failed"))
    assert said["crashes"].startswith("crashed: SIGSEGV; run kvdiag analyze")
    assert said["hangs"].startswith("took more than 8 s; raise --limit-seconds")
    assert said["eats"].startswith("needed more than 2 GiB of memory; raise --limit-memory")
    assert "it decompresses to more than 250 times its size" in said["bursts"]
    assert len(said) == 4
    assert rows(dest, "SELECT DISTINCT node FROM inputs ORDER BY node") == [("bursts",), ("fine",)]
    tally = ran(source, dest)
    assert (tally.done, tally.partial, tally.skipped) == (4, 0, 1)
    assert rows(dest, "SELECT node, is_partial FROM failed") == []  # without the poison it is read whole


def test_what_was_read_in_part_is_tried_again(tmp_path):
    """Until all of it can be read, although neither size nor time of a file changed; its rows are there once."""
    source, dest = tmp_path / "logs", tmp_path / "out"
    write_node(source, "whole", [("00:00", ADDED)])
    log = write_node(source, "torn", [("00:00", ADDED)]) / "containerd.log.gz"
    whole = gzip.compress(b'time="2026-03-12T08:00:00.000000000Z" level=error msg="odd failure"\n' * 50, mtime=0)
    log.write_bytes(whole[:-12] + bytes(12))
    os.utime(log, (1_700_000_000, 1_700_000_000))
    for done, skipped in ((2, 0), (1, 1), (1, 1)):
        tally = ran(source, dest)
        assert (tally.done, tally.partial, tally.failed, tally.skipped) == (done, 1, 0, skipped)
        assert rows(dest, "SELECT node, is_partial FROM failed") == [("torn", True)]
        inputs = rows(dest, "SELECT node, count(*) FROM inputs GROUP BY ALL ORDER BY ALL")
        assert inputs == [("torn", 2), ("whole", 1)]
        compacted(dest)
    log.write_bytes(whole)
    os.utime(log, (1_700_000_000, 1_700_000_000))
    tally = ran(source, dest)
    assert (tally.done, tally.partial, tally.skipped) == (1, 0, 1)
    assert rows(dest, "SELECT * FROM failed") == []
    assert rows(dest, "SELECT node, count(*) FROM inputs GROUP BY ALL ORDER BY ALL") == inputs
    assert ran(source, dest).skipped == 2


def test_nothing_readable_is_a_failure(tmp_path):
    """A node of which no line could be read has failed, not been done; all states add up to the number of nodes."""
    source, dest = tmp_path / "logs", tmp_path / "out"
    write_node(source, "fine", [("00:00", ADDED)])
    for name, data in (("zeros", gzip.compress(bytes(1000))), ("noise", os.urandom(1000)), ("empty", b"")):
        folder = source / f"cluster=eu-1/node={name}"
        folder.mkdir(parents=True)
        (folder / "kubelet.log.gz").write_bytes(data)
    tally = ran(source, dest)
    assert (tally.done, tally.failed, tally.partial) == (1, 3, 0)
    assert rows(dest, "SELECT node, is_partial FROM failed ORDER BY node") == [
        ("empty", False), ("noise", False), ("zeros", False)
    ]  # fmt: skip
    answer = state(str(dest))
    assert [dict(zip(answer.columns, row, strict=True)) for row in answer.rows] == [
        {"cluster": "eu-1", "done": 1, "failed": 3, "in_part": 0, "findings": 0, "joined": 0, "worst": ""}
    ]


def test_every_node_folder_is_counted(tmp_path):
    """A node folder that is empty, a link, or holds only links has failed; what matches no layout is counted and named."""
    source, dest = tmp_path / "logs", tmp_path / "out"
    fine = write_node(source, "fine", [("00:00", ADDED)])
    (outside := tmp_path / "outside").mkdir()
    (outside / "kubelet.log").write_text((fine / "kubelet.log").read_text())
    (fine.parent / "node=empty").mkdir()
    (fine.parent / "node=linkdir").symlink_to(outside)
    (fine.parent / "node=linkonly").mkdir()
    (fine.parent / "node=linkonly" / "kubelet.log").symlink_to(outside / "kubelet.log")
    (fine / "containerd.log").symlink_to(outside / "kubelet.log")
    (source / "stray-node-7").mkdir()
    (source / "stray-node-8.tar.gz").symlink_to(outside)
    done = _started(["fleet", "run", source, "--out", dest])
    assert done.returncode == 3
    assert "2 entries match no layout and are not read, such as stray-node-7/" in done.stderr
    assert "1 of 4 nodes done · 3 failed" in done.stderr
    failed = dict(rows(dest, "SELECT node, reason FROM failed WHERE NOT is_partial"))
    assert failed.keys() == {"empty", "linkdir", "linkonly"}
    assert "no logs in this folder" in failed["empty"]
    assert "symbolic link" in failed["linkdir"]
    (reason,) = rows(dest, "SELECT reason FROM failed WHERE is_partial")
    assert "a symlink leads out of this folder and was skipped" in reason[0]
    assert "a symlink leads out" in done.stderr
    assert rows(dest, "SELECT node, source FROM inputs") == [("fine", "kubelet.log")]


def test_a_row_of_a_manifest_costs_one_node(tmp_path):
    """A path that is gone is a failed node, one that is given twice is read once; the others are judged."""
    folder = write_node(tmp_path / "logs", "fine", [("00:00", ADDED)])
    listing = tmp_path / "nodes.csv"
    listing.write_text(f"path,node,cluster\n{folder},fine,eu-1\n{tmp_path}/gone,lost,eu-1\n{folder},fine,eu-1\n")
    done = _started(["fleet", "run", "--manifest", listing, "--out", tmp_path / "out"])
    assert done.returncode == 3
    assert "given twice" in done.stderr
    assert "1 of 2 nodes done" in done.stderr
    assert rows(tmp_path / "out", "SELECT node FROM failed") == [("lost",)]
    assert rows(tmp_path / "out", "SELECT DISTINCT node FROM inputs") == [("fine",)]


def test_folders_above_and_beside_the_layout(tmp_path):
    """The layout is found below other folders, and what belongs to no node is counted; without any node it is usage."""
    source = tmp_path / "logs"
    for day in ("2026-03-11", "2026-03-12"):
        write_node(source / day, "node-a", [("00:00", ADDED)])
    (source / "stray.log").write_text("lost\n")
    notes: list[str] = []
    found = list(bundles([str(source)], "", notes.append))
    assert [(one.cluster, one.node, Path(one.place).parts[-3]) for one in found] == [
        ("eu-1", "node-a", "2026-03-11"), ("eu-1", "node-a", "2026-03-12")
    ]  # fmt: skip
    assert notes == [f"{source}: 1 entries match no layout and are not read, such as stray.log"]
    done = _started(["fleet", "run", tmp_path / "nothing", "--out", tmp_path / "out"])
    assert done.returncode == 2
    assert "there is nothing" in done.stderr


def test_folders_above_the_nodes(tmp_path):
    """Without cluster= and node= a folder is a node, unless its folders have the same kubelet log: they are the nodes."""
    source = tmp_path / "logs"
    paths = ("2026-03-11/a/kubelet.log", "2026-03-11/b/kubelet.log", "eu/2026-03-12/c/var/log/kubelet.log")
    paths += ("eu/2026-03-12/d/var/log/kubelet.log", "eu/2026-03-13/c/var/log/kubelet.log", "alone/kubelet.log")
    for path in (*paths, "sos/var/log/kubelet.log", "sos/sos_commands/kubelet", "lost.tar.gz"):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text("x\n")
    notes: list[str] = []
    found = {
        Path(one.place).relative_to(source).as_posix(): one.node for one in bundles([str(source)], "", notes.append)
    }
    assert found == {
        "2026-03-11/a": "a", "2026-03-11/b": "b", "alone": "alone", "lost.tar.gz": "lost", "sos": "sos",
        "eu/2026-03-12/c": "c", "eu/2026-03-12/d": "d", "eu/2026-03-13": "2026-03-13",
    }  # fmt: skip
    assert sorted(note.partition(":")[0] for note in notes) == ["2026-03-11", "eu", "eu/2026-03-12"]


def test_a_merge_while_a_question_is_asked(tmp_path):
    """A file that was listed and is gone is said to have been merged, not a fault of kvdiag."""
    write_node(tmp_path / "logs", "node-a", [("00:00", ADDED)])
    ran(tmp_path / "logs", tmp_path / "out")
    compacted(tmp_path / "out")
    asked = Questions(place(str(tmp_path / "out")))
    (file,) = (tmp_path / "out/v2/inputs").rglob("*.parquet")
    file.unlink()
    for ask in (asked.ask, asked.ask_user, partial(asked.keep, "kept")):
        with pytest.raises(UsageError, match="merged the results meanwhile"):
            ask("SELECT node FROM inputs")


def test_the_node_that_is_hit_is_counted(tmp_path):
    """A finding of a controller hits the node that it is about; what several nodes show hits each; a symptom hits none."""
    finding = {"title": "t", "severity": "high", "severity_rank": 3, "verdict": "possible", "role": "cause"}
    finding |= {"begins": 10**15, "ends": 10**15, "finding": "f", "says": "s", "subject_node": "", "nodes": []}
    found = [
        finding | {"rule": "multi-attach", "subject_node": "worker-4"},
        finding | {"rule": "etcd-slow"},
        finding | {"rule": "pod-waits", "role": "symptom"},
    ]
    there = place(str(tmp_path / "out"))
    put_results(there, Outcome("eu", "control", "/c", "b1", "a" * 36, day="2026-03-01"), {"findings": found})
    across = finding | {"rule": "volume-staged-on-two-nodes", "nodes": ["worker-3", "worker-4"]}
    put_results(there, Outcome("eu", "", "", "joined", "b" * 36, day="2026-03-02"), {"joined": [across]})
    hits = [("etcd-slow", "control"), ("multi-attach", "worker-4")]
    hits += [("volume-staged-on-two-nodes", "worker-3"), ("volume-staged-on-two-nodes", "worker-4")]
    assert rows(tmp_path / "out", "SELECT rule, node FROM hits ORDER BY ALL") == hits


def test_node_objects_are_held_against_failures(tmp_path):
    """Kernel, OS image and instance type of each node, from the node objects of any bundle of the cluster."""
    source, dest = write_pair(tmp_path / "logs"), tmp_path / "out"
    control = write_node(source, "control", [("00:00", ADDED)])
    items = [
        {
            "kind": "Node",
            "metadata": {"name": name, "labels": {"node.kubernetes.io/instance-type": "m6i.large"}},
            "status": {
                "nodeInfo": {"kernelVersion": kernel, "osImage": "Debian GNU/Linux 12", "kubeletVersion": "v1.31.2"}
            },
        }
        for name, kernel in (("node-a", "6.1.0-18"), ("node-b", "6.1.0-21"))
    ]
    (control / "nodes.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    assert ran(source, dest).done == 3
    found = rows(dest, "SELECT node, component, version FROM node_versions WHERE node <> 'control' ORDER BY ALL")
    kernels = [("node-a", "kernel", "6.1.0-18"), ("node-b", "kernel", "6.1.0-21")]
    assert [row for row in found if row[1] == "kernel"] == kernels
    assert {row[1:] for row in found if row[1] in {"os-image", "instance-type"}} == {
        ("os-image", "Debian GNU/Linux 12"), ("instance-type", "m6i.large")
    }  # fmt: skip


def test_results_below_the_source(tmp_path):
    """They are no bundle; and a folder without results is no empty report but a mistake, which is said."""
    source = tmp_path / "logs"
    write_node(tmp_path / "x", "node-a", [("00:00", ADDED)]).rename(source)
    (source / "node-a").mkdir()
    (source / "kubelet.log").rename(source / "node-a/kubelet.log")
    for done, skipped in ((1, 0), (0, 1)):
        shown = _started(["fleet", "run", source, "--out", source / "results"])
        assert (shown.returncode, f"{done} of {done} nodes done · 0 failed · {skipped} skipped" in shown.stderr) == (
            0,
            True,
        )
    for words in (["report"], ["status"], ["sql", "SELECT 1 FROM findings"], ["compare"]):
        shown = _started(["fleet", words[0], tmp_path / "mistyped", *words[1:]])
        assert shown.returncode == 2, words
        assert "no results" in shown.stderr


def test_a_node_has_the_name_of_its_lines(tmp_path):
    """A bundle with another name than its node is not a second node: all its rows have the name in its lines."""
    source, dest = write_pair(tmp_path / "logs"), tmp_path / "out"
    (source / "cluster=eu-1/node=node-a").rename(source / "cluster=eu-1/node=collected-from-a")
    ran(source, dest)
    list(join_clusters(str(dest), Limits(), run_local))
    for table in ("inputs", "events", "versions", "coverage"):
        assert {node for (node,) in rows(dest, f"SELECT DISTINCT node FROM {table}")} <= {"node-a", "node-b"}  # noqa: S608
    assert rows(dest, "SELECT DISTINCT nodes FROM joined WHERE rule = 'volume-staged-on-two-nodes'") == [
        (["node-a", "node-b"],)
    ]
    report = json.loads(run_kvdiag("fleet", "report", dest, "-o", "json").stdout)
    assert report["counts"]["nodes"] == 2
    assert {name for cause in report["causes"] for name in cause["all_nodes"]} == {"eu-1/node-a", "eu-1/node-b"}


def _started(words, **environment):
    command = [sys.executable, "-m", "kvdiag", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)


def test_a_child_dies_with_its_parent():
    """Whoever kills the run with -9 leaves no process behind."""
    if sys.platform != "linux":
        pytest.skip("only Linux ends a child with its parent")
    code = "import os, sys, time; from kvdiag.fleet.guard import limit_me; from kvdiag.fleet.values import Limits\n"
    child = code + "limit_me(Limits(), os.getppid()); print(os.getpid(), flush=True); time.sleep(100)"
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}]).wait()"
    started = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True)
    number = int(started.stdout.readline())
    started.send_signal(signal.SIGKILL)
    started.wait()
    started.stdout.close()
    for _ in range(500):
        state = Path(f"/proc/{number}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.01)
    pytest.fail("it is alive")


def test_what_a_killed_run_left_is_deleted(tmp_path, monkeypatch):
    """The copies of a process that was killed -9 go with the next run; those of a living one stay."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    code = "import time; from kvdiag.fleet.places import scratch\nwith scratch() as folder: "
    code += "(folder / 'copy').write_bytes(bytes(9)); print(folder, flush=True); time.sleep(100)"
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    dead, alive = (Path(one.stdout.readline().strip()) for one in started)
    try:
        started[0].kill()
        started[0].wait()
        assert (dead / "copy").exists()
        write_node(tmp_path / "logs", "node-1", [("00:00", ADDED)])
        assert ran(tmp_path / "logs", tmp_path / "out").done == 1
        assert [path for path in tmp_path.glob("kvdiag-*") if path.is_dir()] == [alive]
        assert (alive / "copy").exists()
    finally:
        for one in started:
            one.kill()
            one.wait()
            one.stdout.close()


def test_names_in_paths_do_nothing(tmp_path):
    """A cluster or node that is called like SQL, a path or a formula is a name and nothing else."""
    cluster, node = "e'u; DROP VIEW x--", "=1+1'||\"%2F.."
    write_node(tmp_path / "logs", node, [("00:00", ADDED)], cluster)
    dest = tmp_path / "out"
    assert ran(tmp_path / "logs", dest).done == 1
    assert rows(dest, "SELECT cluster, node FROM inputs") == [(cluster, node)]
    shown = run_kvdiag("fleet", "sql", dest, "-o", "csv", "SELECT node FROM inputs").stdout
    assert shown.splitlines()[1].strip('"').startswith("'=1+1")
    compacted(dest)
    assert rows(dest, "SELECT cluster, node FROM inputs") == [(cluster, node)]


def test_secrets_are_not_stored(tmp_path):
    """What a driver prints of its secrets stays out of every file."""
    words = (
        'csi_plugin.go:1] "SyncLoop ADD" source="api" pods=["shop/x"] password="hunter2-Zx81kQ" '
        "E0312 08:00:00.000000 2201 x.go:1] token=hunter2-Zx81kQ failed"
    )
    write_node(tmp_path / "logs", "node-e", [("00:00", words), ("00:01", f"kubelet.go:1] {words}")])
    ran(tmp_path / "logs", tmp_path / "out")
    asked = Questions(place(str(tmp_path / "out")))
    told = [str(asked.ask(f"FROM {table}").rows) for table in ("events", "errors", "findings", "inputs")]
    assert not [text for text in told if "hunter2" in text]


@pytest.mark.parametrize(
    "sql",
    ["DROP VIEW findings", "COPY findings TO 'x'", "SELECT 1; SELECT 2", "ATTACH 'x'", "EXPLAIN ANALYZE SELECT 1"],
)
def test_questions_only_read(pair, sql):
    """Anything but one SELECT is refused."""
    with pytest.raises(UsageError, match="one SELECT"):
        Questions(place(str(pair[1]))).ask_user(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM '../../../../etc/passwd'",
    ],
)
def test_questions_stay_below_the_results(pair, sql):
    """No file outside of DEST is read."""
    with pytest.raises(UsageError, match="fleet sql"):
        Questions(place(str(pair[1]))).ask_user(sql)


def test_the_commands_answer(pair):
    """Report, status, sql and compact tell of the same findings."""
    dest = pair[1]
    report = json.loads(run_kvdiag("fleet", "report", dest, "-o", "json").stdout)
    assert report["counts"]["nodes"] == 2
    cause = next(one for one in report["causes"] if one["rule"] == "volume-staged-on-two-nodes")
    assert (cause["nodes"], cause["across_nodes"], cause["severity"]) == (2, 1, "critical")
    assert cause["all_nodes"] == ["eu-1/node-a", "eu-1/node-b"]
    assert cause["first_step"]["text"]
    text = run_kvdiag("fleet", "report", dest).stdout
    assert text.startswith("2 nodes of 1 cluster, ")
    assert "CRITICAL 2 nodes: volume-staged-on-two-nodes" in text
    assert "| 2 | critical | volume-staged-on-two-nodes" in run_kvdiag("fleet", "report", dest, "-o", "markdown").stdout
    assert run_kvdiag("fleet", "status", dest).stdout.splitlines()[1].split()[:2] == ["eu-1", "2"]
    wrong = run_kvdiag("fleet", "sql", dest, "SELECT nothing FROM findings")
    assert wrong.returncode == 2
    assert "nothing" in wrong.stderr


def test_local_engine_gives_each_outcome_once(tmp_path):
    """However few workers there are."""
    write_pair(tmp_path / "logs")
    ran(tmp_path / "logs", tmp_path / "one", partial(run_local, workers=1))
    ran(tmp_path / "logs", tmp_path / "two", partial(run_local, workers=2))
    told = [sorted(rows(tmp_path / name, "SELECT node, kind, time FROM events"), key=str) for name in ("one", "two")]
    assert told[0] == told[1]
    assert {node for node, _, _ in told[0]} == {"node-a", "node-b"}


def test_every_documented_question_is_answered(pair):
    """The questions of docs/fleet.md are SQL that DuckDB takes, and its columns are those of the tables."""
    page = (ROOT / "docs" / "fleet.md").read_text("utf-8")
    questions = page.split("```sql\n")[1:]
    asked = Questions(place(str(pair[1])))
    for question in questions:
        asked.ask_user(question.partition("```")[0])
    assert len(questions) >= 5
    from kvdiag.fleet.schema import TABLES

    for table, columns in TABLES.items():
        line = next(line for line in page.splitlines() if line.startswith(f"| `{table}` |"))
        missing = [name for name in columns.names[4:] if f"`{name}`" not in line and table != "joined"]
        assert not missing, f"docs/fleet.md, {table}: {missing}"


WITHOUT = {
    "the command line": "kvdiag.cli.app",
    "an analysis": "kvdiag.analysis.analyze, kvdiag.fleet.child, kvdiag.fleet.rows, kvdiag.fleet.results, kvdiag.fleet.unit",
}


@pytest.mark.parametrize("modules", WITHOUT.values(), ids=WITHOUT)
def test_plain_kvdiag_brings_no_guest(modules):
    """No command and no analysis has pyarrow, duckdb, fsspec or Dask in memory beside it."""
    code = f"import sys, {modules}; print([n for n in ('pyarrow', 'duckdb', 'fsspec', 'dask') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_shards_are_all_and_share_nothing(tmp_path):
    """Every bundle is in one part, and in the same one each time."""
    from kvdiag.fleet.fleetrun import read_shard

    for number in range(9):
        write_node(tmp_path, f"node-{number}", [("00:00", ADDED)])
    found = list(bundles([str(tmp_path)], ""))
    parts = [{one.id for one in found if read_shard(f"{i}/3", "").has(one)} for i in range(3)]
    assert set().union(*parts) == {one.id for one in found}
    assert not any(one & other for one, other in itertools.combinations(parts, 2))
    assert read_shard("/3", "1") == read_shard("1/3", "")
    for wrong in ("3/3", "x", "1", "/3"):
        with pytest.raises(UsageError, match="--shard"):
            read_shard(wrong, "")
