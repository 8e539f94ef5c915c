"""Twenty-one bundles of which one is good: each is done, read in part, failed, or counted as no bundle."""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.integration.fleet.nodes import ADDED, write_node

pytest.importorskip("duckdb", reason="kvdiag[fleet] is not installed")

from tests.integration.fleet.test_run import POISON, rows

# root without the right to read what its permissions forbid, as a user who is not root
CONFINED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")
can_be_confined = pytest.mark.skipif(
    os.geteuid() == 0 and not shutil.which("setpriv"), reason="root reads everything here: no setpriv"
)


def run(source: Path, dest: Path, *words: str, site: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command as a user who may not read everything."""
    before = CONFINED if os.geteuid() == 0 else ()
    path = os.pathsep.join(str(one) for one in (site, ROOT) if one)
    command = [*before, sys.executable, "-m", "kvdiag", "fleet", "run", str(source), "--out", str(dest), *words]
    environment = os.environ | {"PYTHONPATH": path}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)


def poisons(source: Path) -> None:
    """Write the bundles."""
    for node in ("crashes", "hangs", "eats", "bursts", "fine", "unreadable-folder", "unreadable-log", "fifo", "loop"):
        write_node(source, node, [("00:00", ADDED)])
    cluster = source / "cluster=eu-1"
    (cluster / "node=bursts/containerd.log.gz").write_bytes(gzip.compress(bytes(8 << 20)))
    (cluster / "node=unreadable-log/kubelet.log").chmod(0)
    (cluster / "node=unreadable-folder").chmod(0)
    os.mkfifo(cluster / "node=fifo/containerd.log")
    (cluster / "node=loop/a").symlink_to("a")
    contents = {
        "zeros": gzip.compress(bytes(1000)),
        "noise": bytes(range(1, 256)) * 9,
        "jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(range(255)) * 20,
        "empty": b"",
        "broken": gzip.compress(b"I0312 08:00:00.000000 1 x.go:1] x\n" * 99)[:20],
        "long": b"x" * (32 << 20),
    }
    for node, data in contents.items():
        (cluster / f"node={node}").mkdir()
        (cluster / f"node={node}/kubelet.log").write_bytes(data)
    slip = io.BytesIO()
    with tarfile.open(fileobj=slip, mode="w:gz") as tar:
        (info := tarfile.TarInfo("../../SLIP.log")).size = 4
        tar.addfile(info, io.BytesIO(b"slip"))
    (cluster / "node=slip.tar.gz").write_bytes(slip.getvalue())
    (cluster / "node=nothing").mkdir()
    (cluster / "node=linkonly").mkdir()
    (cluster / "node=linkonly/kubelet.log").symlink_to("/etc/hostname")
    (cluster / "node=linkdir").symlink_to("/etc")
    (source / "stray-node-7").mkdir()
    (source / "stray-node-8.tar.gz").write_bytes(b"x")


@can_be_confined
def test_each_of_twenty_one_is_accounted_for(tmp_path):
    """Nothing is lost, nothing hangs, nothing is written outside; what is told apart by its reason has a row."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(POISON)
    source, dest = tmp_path / "logs", tmp_path / "out"
    poisons(source)
    done = run(source, dest, "--limit-seconds", "12", site=tmp_path / "site")
    assert done.returncode == 3, done.stderr
    good, every, failed = map(int, re.findall(r"(\d+) of (\d+) nodes done · (\d+) failed", done.stderr)[-1])
    strays = int(re.search(r": (\d+) entries match no layout", done.stderr)[1])
    assert (every + strays, good + failed) == (21, every)
    by_node = dict(rows(dest, "SELECT node, bool_and(is_partial) FROM failed GROUP BY node"))
    assert sum(not is_partial for is_partial in by_node.values()) == failed
    assert {node for node, is_partial in by_node.items() if is_partial} >= {"bursts"}
    silent = {node for (node,) in rows(dest, "SELECT DISTINCT node FROM inputs")} - by_node.keys()
    assert silent <= {"fine", "fifo", "loop"}
    assert {
        "unreadable-log",
        "unreadable-folder",
        "crashes",
        "hangs",
        "eats",
        "zeros",
        "empty",
        "slip",
    } <= by_node.keys()
    assert not list(tmp_path.rglob("SLIP*"))


@can_be_confined
def test_what_may_be_read_again_is_judged(tmp_path):
    """A log and a folder without permission fail alone, and are judged when they can be read, with unchanged times."""
    source, dest = tmp_path / "logs", tmp_path / "out"
    folders = [write_node(source, node, [("00:00", ADDED)]) for node in ("fine", "log", "folder")]
    (folders[1] / "kubelet.log").chmod(0)
    folders[2].chmod(0)
    done = run(source, dest)
    assert done.returncode == 3
    assert "1 of 3 nodes done · 2 failed" in done.stderr
    assert {node for (node,) in rows(dest, "SELECT node FROM failed WHERE NOT is_partial")} == {"log", "folder"}
    (folders[1] / "kubelet.log").chmod(0o644)
    folders[2].chmod(0o755)
    done = run(source, dest)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 nodes done · 0 failed · 1 skipped" in done.stderr
    assert rows(dest, "SELECT * FROM failed") == []


@can_be_confined
def test_a_source_that_cannot_be_listed_is_no_run(tmp_path):
    """It ends with another code than a run of which some bundles failed, which jobs take for success."""
    source = tmp_path / "logs"
    write_node(source, "fine", [("00:00", ADDED)])
    source.chmod(0)
    done = run(source, tmp_path / "out")
    source.chmod(0o755)
    assert done.returncode == 4
    assert "permission denied" in done.stderr
