"""A fault of kvdiag while it reads costs a line or an input; the others are used, and the exit code is 3."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kvdiag.agents.tools import McpTools
from kvdiag.inputs.source import SourceReader
from tests.conftest import ROOT
from tests.test_bad_input import GOOD, PATIENCE, RULE, UID, failure

BREAKS = """
import sys
from pydoc import locate
from kvdiag.cli.main import run
place, *sys.argv = sys.argv[1:]
owner, _, name = place.rpartition(".")
reads = getattr(locate(owner), name)
def read(*given):
    got = reads(*given)
    if any("boom" in str(bytes(one) if isinstance(one, memoryview) else one) for one in given):
        raise AssertionError("boom")
    return got
setattr(locate(owner), name, read)
run()
"""
BYTES = "kvdiag.inputs.source.SourceReader.readinto"
BLOCKS = "kvdiag.inputs.repair.TextRepair.repair"
LINES = "kvdiag.events.hit_lines.HitLines.read"
SHOWN = "kvdiag.analysis.redact.without_secrets"
FAULT = "is skipped: unexpected AssertionError in kvdiag/"
TELLING = 'I0312 08:15:20.000000    2201 boom.go:1] "boom" password=Tr0ub4dor-3 host="node-7.corp.example.org"\n'
BAD = f"{GOOD.splitlines(keepends=True)[0]}{TELLING}{failure(16, volume='boom')}"


def broken(place, *arguments, stdin="", **given):
    """Run the command with a function that fails on whatever holds `boom`; no run ends with a traceback."""
    command = [sys.executable, "-c", BREAKS, place, "kvdiag", *map(str, arguments)]
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, cwd=ROOT, check=False, timeout=PATIENCE, **given
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def logs(tmp_path):
    """Give a log that is broken and one that is not."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "broken.log").write_text(BAD, "utf-8")
    (folder / "whole.log").write_text(GOOD, "utf-8")
    return folder / "broken.log", folder / "whole.log"


@pytest.mark.parametrize("place", [BYTES, BLOCKS])
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["analyze"], RULE),
        (["check", "--fail-on", "never"], RULE),
        (["pods"], UID),
        (["volumes"], "vol-0a1b"),
        (["errors"], "UnmountVolume.TearDown"),
        (["parse"], "UnmountVolume.TearDown"),
        (["events"], "vol-0a1b"),
        (["timeline", UID], "whole.log:1"),
    ],
)
def test_the_other_input_is_read(command, shown, place, logs):
    """An input that kvdiag cannot read to its end for a fault of its own is named, and the other one is analyzed."""
    done = broken(place, *command, *logs)
    assert done.returncode == 3
    assert shown in done.stdout
    assert done.stderr.startswith(f"kvdiag: {logs[0]}: the rest of the input {FAULT}")
    assert "please report it" in done.stderr


@pytest.mark.parametrize("turn", [1, -1])
def test_a_log_that_is_compared(turn, logs):
    """Of two logs that are compared a broken one is named; the exit code tells that the comparison is not whole."""
    done = broken(BYTES, "compare", *logs[::turn])
    assert (done.returncode, "whole.log" in done.stdout) == (3, True)
    assert done.stderr.startswith(f"kvdiag: {logs[0]}: the rest of the input {FAULT}")


@pytest.mark.parametrize("command", [["timeline", UID], ["compare", UID, UID]])
def test_an_input_that_is_missing(command, logs, kvdiag):
    """Also `timeline` and `compare` exit with 3 when an input cannot be read."""
    assert kvdiag(*command, logs[1].with_name("none.log"), logs[1]).returncode == 3
    assert kvdiag(*command, logs[1]).returncode == 0


@pytest.mark.parametrize("place", [BYTES, SHOWN])
def test_the_other_log_is_redacted(place, logs, tmp_path):
    """Of a broken log no line is written that was not redacted; the other one is written whole."""
    done = broken(place, "redact", logs[0].parent, "--output-folder", tmp_path / "out")
    assert done.returncode == 3
    assert done.stderr.startswith("kvdiag: ")
    assert f"{logs[0]}: the rest of the input {FAULT}" in done.stderr
    written = {path.name: path.read_text() for path in (tmp_path / "out").rglob("*.log")}
    assert written["whole.log"] == GOOD
    assert BAD.startswith(written["broken.log"])
    assert "boom" not in written["broken.log"]


@pytest.mark.parametrize("options", [[], ["--anonymize"]])
def test_a_broken_log_to_standard_output(options, logs):
    """What is printed of a log that breaks off is what stands before the fault, without secrets."""
    done = broken(SHOWN, "redact", *options, logs[0])
    assert (done.returncode, len(done.stdout.splitlines()), "boom" in done.stdout) == (3, 1, False)
    assert f"{logs[0]}: the rest of the input {FAULT}" in done.stderr


@pytest.mark.parametrize(
    ("place", "lost"),
    [
        (BYTES, "the rest of the input"),
        (BLOCKS, "the rest of the input"),
        (LINES, "line 3"),
        ("kvdiag.safe.names.learn.Learner.learn", "the rest of the input"),
    ],
)
def test_names_that_were_not_learned(place, lost, logs, tmp_path):
    """With --anonymize a log is not written when its names are not all known; the other one is."""
    done = broken(place, "redact", "--anonymize", logs[0].parent, "--output-folder", tmp_path / "out")
    assert done.returncode == 3
    assert f"{logs[0]}: it is not written: its names are not all known" in done.stderr
    assert f"{lost} {FAULT}" in done.stderr
    written = {path.name: path.read_text() for path in (tmp_path / "out").rglob("*.log")}
    assert list(written) == ["whole.log"]
    assert written["whole.log"].count("\n") == GOOD.count("\n")
    assert UID not in written["whole.log"]


def test_the_other_lines_are_explained(kvdiag):
    """`explain -` names the line that it cannot read, and explains the others."""
    lines = [failure(14), failure(15, volume="boom"), failure(16)]
    done = broken(LINES, "explain", "-", stdin="".join(lines))
    alone = kvdiag("explain", "-", stdin=lines[0].encode()).stdout
    assert (done.returncode, done.stdout.startswith(alone)) == (3, True)
    assert done.stdout.count(RULE) == 2 * alone.count(RULE) > 0
    assert f"line 2 {FAULT}" in done.stderr


@pytest.mark.parametrize("place", [BLOCKS, "kvdiag.analysis.redact.without_secrets"])
def test_standard_input_that_is_not_explained(place):
    """Where `explain -` cannot read or redact what comes, it says so and prints nothing of it."""
    done = broken(place, "explain", "-", stdin=TELLING)
    assert (done.returncode, done.stdout) == (3, "")
    assert f": the rest of the input {FAULT}" in done.stderr


@pytest.mark.parametrize(
    ("place", "lost"),
    [
        (LINES, "line 3"),
        (BLOCKS, "the rest of the input"),
        ("kvdiag.inputs.live.LiveReader.readinto", "the rest of the input"),
    ],
)
def test_the_other_log_is_followed(place, lost):
    """With --follow a broken input is named at once, and the other one is followed."""
    taken, given = os.pipe()
    os.write(given, BAD.encode())
    os.close(given)
    done = broken(place, "analyze", "--follow", "-", f"/dev/fd/{taken}", stdin=GOOD, pass_fds=(taken,))
    os.close(taken)
    assert (done.returncode, RULE in done.stdout) == (3, True)
    assert f"/dev/fd/{taken}: {lost} {FAULT}" in done.stderr


def test_an_agent_is_answered(logs, monkeypatch):
    """An answer to an agent names the input that a fault cost, and tells what the other one holds."""
    reads = SourceReader.readinto

    def read(self, buffer):
        got = reads(self, buffer)
        assert b"boom" not in bytes(buffer[:got])
        return got

    monkeypatch.setattr(SourceReader, "readinto", read)
    answers = McpTools(logs[0].parent)
    for answer in (answers.analyze("."), answers.errors("."), answers.timeline(UID, ".")):
        assert UID in answer or "TearDown" in answer
    assert FAULT in answers.analyze(".")
    assert FAULT in answers.timeline(UID, ".")
