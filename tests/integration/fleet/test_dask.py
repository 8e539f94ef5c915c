"""The engine of many machines, with a scheduler and two workers as processes of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from functools import partial
from importlib.util import find_spec

import pytest

from tests.conftest import ROOT
from tests.integration.fleet.nodes import ADDED, write_node, write_pair
from tests.integration.fleet.test_run import ran, rows

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="kvdiag[dask] is not installed")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory):
    """Give the scheduler's address, and its two workers' process ids."""
    folder = tmp_path_factory.mktemp("dask")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address, started = f"tcp://127.0.0.1:{port}", []
    settings = {"PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "False"}
    settings["TMPDIR"] = str(folder)  # a worker that is killed takes nothing away
    scheduler = ("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    worker = ("worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--local-directory")
    for number, words in enumerate((scheduler, (*worker, folder / "1"), (*worker, folder / "2"))):
        with (folder / f"{number}.log").open("wb") as log:
            command = [sys.executable, "-m", "dask", *map(str, words)]
            started.append(subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | settings))
    yield address, [one.pid for one in started[1:]]
    for one in reversed(started):
        one.send_signal(signal.SIGKILL)
        one.wait()


def test_dask_gives_what_the_local_engine_gives(cluster, tmp_path):
    """Both engines store equal tables; a worker that is killed -9 meanwhile loses nothing."""
    from kvdiag.fleet.dask_engine import run_dask

    address, workers = cluster
    source = write_pair(tmp_path / "logs")
    for number in range(4):
        write_node(source, f"node-{number}", [("00:00", ADDED)])
    ran(source, tmp_path / "local")
    engine = partial(run_dask, scheduler=address)
    assert ran(source, tmp_path / "dask", lambda jobs: _with_a_murder(engine(jobs), workers[0])).done == 6
    for table in ("events", "findings", "volumes", "coverage", "versions", "inputs"):
        sql = f"SELECT * EXCLUDE result_key FROM {table}"  # noqa: S608 (our own names)
        told = [sorted(map(str, rows(tmp_path / name, sql))) for name in ("local", "dask")]
        assert told[0] == told[1], table


def _with_a_murder(outcomes, worker):
    for number, outcome in enumerate(outcomes):
        if number == 1:
            os.kill(worker, signal.SIGKILL)
        yield outcome
