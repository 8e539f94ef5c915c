"""Bundles and results in an object store, which is a server of its own here."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.integration.fleet.nodes import synthetic, synthetic_engine, write_pair
from tests.integration.fleet.test_run import TALLY, compacted, rows

pytest.importorskip("duckdb", reason="kvdiag[fleet] is not installed")

from kvdiag.fleet.bundles import bundles
from kvdiag.fleet.fleetrun import Shard, join_clusters, merge_days, run_fleet
from kvdiag.fleet.local_engine import run_local
from kvdiag.fleet.overview import overview
from kvdiag.fleet.places import place
from kvdiag.fleet.values import Limits

pytestmark = [  # looked for and not imported: that takes a second in each worker, of which one needs it
    pytest.mark.skipif(find_spec("s3fs") is None, reason="kvdiag[fleet] is not installed: s3:// is read by s3fs"),
    pytest.mark.skipif(find_spec("moto") is None, reason="moto[s3] is not installed: there is no S3 to ask"),
]
SECONDS = 120  # it imports much, and the machine may be busy


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory):
    """Give the address of a bucket."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    log = (tmp_path_factory.mktemp("s3") / "log").open("wb")
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)], stdout=log, stderr=log)
    known = {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch, log, server:
        for name, value in known.items():
            patch.setenv(name, value)
        try:
            _wait(url)
            import s3fs

            s3fs.S3FileSystem().mkdir("fleet")
            yield "s3://fleet"
        finally:
            server.kill()


def _wait(url):
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 (our own server)
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("moto_server does not answer")


def _upload(folder: Path, address: str) -> None:
    there = place(address)
    for file in place(str(folder)).files():
        there.put(file.path, (folder / file.path).read_bytes())


def test_a_run_from_bucket_to_bucket(bucket, tmp_path):
    """Bundles are read from a store, results put there and asked there; what did not change is skipped."""
    logs, dest = f"{bucket}/logs", f"{bucket}/out"
    _upload(write_pair(tmp_path / "logs"), logs)
    run = lambda: run_fleet(list(bundles([logs], "")), dest, Limits(), run_local, TALLY)  # noqa: E731
    tally = run()
    assert (tally.done, tally.failed, tally.partial) == (2, 0, 0)
    assert [outcome.findings for outcome in join_clusters(dest, Limits(), run_local)] != [0]
    assert rows(dest, "SELECT nodes FROM joined WHERE rule = 'volume-staged-on-two-nodes'") == [(["node-a", "node-b"],)]
    assert rows(dest, "SELECT DISTINCT source FROM events") == [("kubelet.log",)]
    assert run().skipped == 2
    before = rows(dest, "SELECT node, kind, time FROM events ORDER BY ALL")
    compacted(dest)
    assert rows(dest, "SELECT node, kind, time FROM events ORDER BY ALL") == before


def test_a_report_needs_few_requests(bucket, tmp_path):
    """After a run over many nodes the results are in few objects, of which a report reads each with one request."""
    dest = f"{bucket}/many"
    tally = run_fleet(synthetic(120, clusters=3), dest, Limits(), synthetic_engine, TALLY)
    assert tally.done == 120
    list(merge_days(dest, Limits(), synthetic_engine))
    log = tmp_path.parent.glob("s3*/log")
    before = _requests(log := next(log))
    counts = overview(dest).counts
    assert counts["nodes"] == 120
    assert _requests(log) - before < 60


def test_many_clusters_need_no_more_requests(bucket, tmp_path):
    """The parts of a job merge what they found in all clusters, before anybody compacts it."""
    dest = f"{bucket}/clusters"
    bundles_of_all = synthetic(160, clusters=40)
    for number in range(4):
        part = [one for one in bundles_of_all if Shard(number, 4).has(one)]
        run_fleet(part, dest, Limits(), synthetic_engine, TALLY, is_part=True)
    log = next(tmp_path.parent.glob("s3*/log"))
    before = _requests(log)
    counts = overview(dest).counts
    assert (counts["nodes"], counts["clusters"]) == (160, 40)
    assert _requests(log) - before < 60
    assert overview(dest, cluster="c07").counts["nodes"] == 4


def test_a_bucket_that_does_not_exist(bucket):
    """A mistyped source is wrong usage and names the source: no job takes it for a run that took place."""
    command = [sys.executable, "-m", "kvdiag", "fleet", "run", "s3://mistyped/logs", "--out", f"{bucket}/o"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2, done.stderr
    assert "s3://mistyped/logs: there is nothing" in done.stderr


def _requests(log: Path) -> int:
    return log.read_text().count("HTTP/1.1")


def test_a_store_that_does_not_answer(tmp_path, monkeypatch):
    """Is named, and ends a run with another code than bundles that could not be judged."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    write_pair(tmp_path / "logs")
    for words in (
        ["run", "s3://b/logs", "--out", str(tmp_path / "out")],
        ["run", str(tmp_path / "logs"), "--out", "s3://b/o"],
    ):
        command = [sys.executable, "-m", "kvdiag", "fleet", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 4, done.stderr
        assert "Could not connect to the endpoint URL" in done.stderr
        assert "Traceback" not in done.stderr
