"""The engine of many machines, with a scheduler and two workers as processes of their own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from kvdiag.base.errors import UsageError
from kvdiag.fleet.bundles import bundles
from kvdiag.fleet.judge import judge_version
from kvdiag.fleet.unit import work
from kvdiag.fleet.values import Job
from tests.conftest import ROOT
from tests.integration.fleet.nodes import ADDED, write_node, write_pair
from tests.integration.fleet.test_run import ran, rows

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="kvdiag[dask] is not installed")


class Cluster(NamedTuple):
    """The scheduler's address, its process, and those of the workers."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


@contextlib.contextmanager
def dask(folder: Path, *sites: str) -> Iterator[Cluster]:
    """Start a scheduler, and a worker for each `sitecustomize` module."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address, started = f"tcp://127.0.0.1:{port}", []
    commands = [("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")]
    for number in range(len(sites)):
        local = str(folder / f"local{number}")
        commands.append(
            ("worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--local-directory", local)
        )
    for number, (words, site) in enumerate(zip(commands, ("", *sites), strict=True)):
        (folder / f"site{number}").mkdir()
        (folder / f"site{number}" / "sitecustomize.py").write_text(site)
        settings = {
            "PYTHONPATH": os.pathsep.join((str(folder / f"site{number}"), str(ROOT))),
            "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "False",
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION": "1.0",  # as in deploy/dask.yaml
            "TMPDIR": str(folder),  # a worker that is killed takes nothing away
        }
        with (folder / f"{number}.log").open("wb") as log:
            command = [sys.executable, "-m", "dask", *words]
            started.append(subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | settings))
    try:
        yield Cluster(address, started[0], started[1:])
    finally:
        for one in reversed(started):
            one.send_signal(signal.SIGKILL)
            one.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Give a scheduler with two workers."""
    (tmp_path / "dask-cluster").mkdir()
    with dask(tmp_path / "dask-cluster", "", "") as started:
        yield started


def nodes(root: Path, count: int) -> Path:
    for number in range(count):
        write_node(root, f"node-{number}", [("00:00", ADDED)])
    return root


def test_dask_gives_what_the_local_engine_gives(cluster, tmp_path):
    """Both engines store equal tables; a worker that is killed -9 meanwhile loses nothing."""
    from kvdiag.fleet.dask_engine import run_dask

    source = write_pair(tmp_path / "logs")
    for number in range(4):
        write_node(source, f"node-{number}", [("00:00", ADDED)])
    ran(source, tmp_path / "local")
    engine = partial(run_dask, scheduler=cluster.address)
    assert ran(source, tmp_path / "dask", lambda jobs: _with_a_murder(engine(jobs), cluster.workers[0])).done == 6
    for table in ("events", "findings", "volumes", "coverage", "versions", "inputs"):
        sql = f"SELECT * EXCLUDE result_key FROM {table}"  # noqa: S608 (our own names)
        told = [sorted(map(str, rows(tmp_path / name, sql))) for name in ("local", "dask")]
        assert told[0] == told[1], table


def _with_a_murder(outcomes, worker):
    for number, outcome in enumerate(outcomes):
        if number == 1:
            worker.kill()
        yield outcome


def test_the_scheduler_dies(cluster, tmp_path):
    """Every bundle without a result has a row with the reason; the next run does them.

    A worker may store a result when nobody can hear of it any more: that bundle is done, and has no row.
    """
    from kvdiag.fleet.dask_engine import run_dask

    source, dest = nodes(tmp_path / "logs", 40), tmp_path / "out"
    engine = partial(run_dask, scheduler=cluster.address)
    tally = ran(source, dest, lambda jobs: _with_a_murder(engine(jobs), cluster.scheduler))
    assert tally.failed > 20
    assert tally.done + tally.failed == 40
    ((count, reason),) = rows(dest, "SELECT count(*), reason FROM failed GROUP BY reason")
    assert 20 < count <= tally.failed
    assert "the Dask scheduler tcp://127.0.0.1:" in reason
    assert "is gone" in reason
    again = ran(source, dest)
    assert again.done + again.skipped == 40
    assert tally.done <= 40 - count <= again.skipped
    assert rows(dest, "SELECT * FROM failed") == []


def test_workers_with_another_kvdiag_are_refused(tmp_path):
    """Before the first job: nothing is judged by rules that differ from those of the run."""
    from kvdiag.fleet.dask_engine import run_dask

    source = nodes(tmp_path / "logs", 1)
    words = r"worker tcp://.* has kvdiag 9\.9\.9\+"
    with (
        dask(tmp_path, "import kvdiag; kvdiag.__version__ = '9.9.9'") as started,
        pytest.raises(UsageError, match=words),
    ):
        ran(source, tmp_path / "out", partial(run_dask, scheduler=started.address))
    assert not (tmp_path / "out").exists()


def test_a_worker_that_came_later_with_another_kvdiag(tmp_path):
    """Its jobs fail and say why; no result of it is stored."""
    (bundle,) = bundles([str(nodes(tmp_path / "logs", 1))], "")
    outcome = work(Job(bundle, "0" * 36, str(tmp_path / "out"), judge="9.9.9+0123456789ab"))
    assert outcome.reason.endswith("the run 9.9.9+0123456789ab")
    assert not (tmp_path / "out").exists()


DEADLY = """
import os
import kvdiag.fleet.unit as unit
work = unit.work
unit.work = lambda job, guard=None: os._exit(1) if job.bundle.node == "deadly" else work(job, guard)
"""


def test_a_bundle_that_kills_its_workers(tmp_path):
    """After four workers it is a row that says so; the worker that is left does the others, or the next run.

    The scheduler may have given another bundle to a worker before the deadly one killed it, four times.
    """
    from kvdiag.fleet.dask_engine import run_dask

    source, dest = nodes(tmp_path / "logs", 3), tmp_path / "out"
    write_node(source, "deadly", [("00:00", ADDED)])
    with dask(tmp_path, *[DEADLY] * 5) as started:
        tally = ran(source, dest, partial(run_dask, scheduler=started.address))
    assert tally.done + tally.failed == 4
    failed = dict(rows(dest, "SELECT node, reason FROM failed"))
    assert len(failed) == tally.failed
    assert failed["deadly"] == "4 Dask workers died with it"
    assert {*failed.values()} == {failed["deadly"]}
    again = ran(source, dest)
    assert (again.done, again.failed, again.skipped) == (tally.failed, 0, tally.done)


def test_a_worker_without_a_disk(tmp_path):
    """A worker that cannot start a job is not a worker that died: the row has the error."""
    from kvdiag.fleet.dask_engine import run_dask

    source, dest = nodes(tmp_path / "logs", 2), tmp_path / "out"
    full = "import tempfile\ndef full(*a, **b): raise OSError(28, 'No space left on device')\n"
    with dask(tmp_path, full + "tempfile.TemporaryDirectory = full") as started:
        assert ran(source, dest, partial(run_dask, scheduler=started.address)).failed == 2
    ((reason,),) = rows(dest, "SELECT DISTINCT reason FROM failed")
    assert reason == "failed on a Dask worker: OSError: [Errno 28] No space left on device"


def test_a_store_that_cannot_be_written_is_named(tmp_path):
    """The bundle is not blamed when its results cannot be stored."""
    source, dest = nodes(tmp_path / "logs", 1), tmp_path / "out"
    (bundle,) = bundles([str(source)], "")
    dest.write_text("a file where the folder should be")
    outcome = work(Job(bundle, "0" * 36, str(dest), judge=judge_version()))
    assert outcome.reason.startswith("could not be stored: ")
    assert "of DEST" in outcome.next_step
