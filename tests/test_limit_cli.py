"""`--limit-seconds`: what was found by then is told, and what was not read."""

from __future__ import annotations

import json
import os
import time

import pytest

from kvdiag.history.ingest.limits import TimeIsUpError, limited
from tests.wrappers import SAMPLES, logs

CASE = SAMPLES / "driver-removed-before-pod"
LIMIT = ("--limit-seconds", "1")


@pytest.fixture
def endless(tmp_path):
    """A FIFO that somebody holds open and writes nothing to."""
    path = tmp_path / "endless.log"
    os.mkfifo(path)
    handle = os.open(path, os.O_RDWR)
    yield path
    os.close(handle)


def test_what_was_found_is_told(kvdiag, endless, tmp_path):
    """An input that gives nothing for ever is left, and those behind it are named."""
    later = tmp_path / "later.log"
    later.write_text("x\n")
    done = kvdiag("analyze", *LIMIT, "-o", "json", CASE, endless, later)
    assert json.loads(done.stdout)["findings"]
    assert done.returncode == 3
    assert f"{later}: time limit reached (1 s) before it was read" in done.stderr
    assert "Traceback" not in done.stderr


def test_findings_go_before(kvdiag, endless):
    """The exit code is 1 where a finding is bad enough."""
    assert kvdiag("analyze", *LIMIT, "--fail-on", "medium", CASE, endless).returncode == 1


def test_in_time(kvdiag):
    """Who is ready in time is not told of any limit."""
    done = kvdiag("analyze", "--limit-seconds", "600", CASE)
    assert (done.returncode, "time was up" in done.stderr) == (0, False)


def test_how_much_was_read(kvdiag, tmp_path):
    """The share of the log that was being read is told."""
    large = tmp_path / "large.log"
    text = logs(CASE.name)["kubelet.log"]
    large.write_bytes(text * ((300 << 20) // len(text)))
    done = kvdiag("analyze", *LIMIT, large, CASE)
    assert done.returncode == 3
    assert " % of it" in done.stderr
    assert f"{CASE}" in done.stderr


def test_only_once():
    """The alarm rings within, and never after."""
    with pytest.raises(TimeIsUpError), limited(0.01):
        time.sleep(60)
    with limited(None):
        pass
