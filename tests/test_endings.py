"""However a command ends: by a signal, a full disk or a closed output, it says one line at most and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner import run_into

SAMPLES = Path(__file__).parents[1] / "sample-logs"
SAMPLE, SHORT = SAMPLES / "hostpath-driver-lost-state", SAMPLES / "kubelet-no-runtime-endpoint"
KVDIAG = [sys.executable, "-m", "kvdiag"]
COMMANDS = {
    "analyze": ["analyze"],
    "json": ["analyze", "-o", "json"],
    "with typer": ["analyze", "--no-color"],
    "timeline": ["timeline", "node", "this node"],
    "pods": ["pods"],
    "parse": ["parse"],
    "events": ["events"],
}
each_command = pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
# Sends itself a signal when a module is about to be imported.
IN_IMPORT = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.{name})
sys.meta_path.insert(0, Finder())
sys.argv = ["kvdiag", "analyze", *sys.argv[1:]]
from kvdiag.cli.main import run
run()
"""


def one_line(text: bytes) -> str:
    """Give what was said, which is one line and no traceback."""
    (line,) = text.decode().splitlines()
    return line


@full
@each_command
def test_a_full_disk(words):
    """It is told in one line, and is no finding."""
    code, said = run_into(Path("/dev/full"), [*words, str(SHORT)])
    assert code == 2
    assert "No space left on device" in said.decode().splitlines()[-1]
    assert b"Traceback" not in said


@full
def test_a_full_disk_to_the_end():
    """So it is where the interpreter ends, too."""
    with Path("/dev/full").open("wb") as nowhere:
        done = subprocess.run(
            [*KVDIAG, "analyze", str(SHORT)], stdout=nowhere, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert done.returncode == 2
    assert "No space left on device" in one_line(done.stderr)


@full
def test_a_full_disk_below_an_output_file():
    """So is a report that is written to a file."""
    done = subprocess.run(
        [*KVDIAG, "analyze", "--output-file", "/dev/full", str(SHORT)], capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert one_line(done.stderr).startswith("kvdiag: --output-file /dev/full: ")


@each_command
def test_closed_output(words):
    """Nobody could read what is found."""
    command = f'exec "$@" {SHORT} >&-'
    done = subprocess.run(["sh", "-c", command, "sh", *KVDIAG, *words], capture_output=True, check=False, timeout=60)
    assert done.returncode == 2
    assert one_line(done.stderr).startswith("kvdiag: standard output is closed")


def test_all_is_closed():
    """Neither can anybody be told."""
    done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *KVDIAG, "analyze"], check=False, timeout=60)
    assert done.returncode == 2


@pytest.mark.parametrize("words", [["analyze", "-"], ["analyze", "--no-color", "-"]], ids=["short", "typer"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals(words, name, tmp_path):
    """Whoever waits for input can be ended, and leaves no file."""
    number = getattr(signal, name)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [*KVDIAG, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as running:
        running.stdin.write((SAMPLE / "kubelet.log").read_bytes())  # more than a pipe holds: some of it was read
        running.stdin.flush()
        running.send_signal(number)
        said = running.communicate(timeout=60)
    assert running.returncode == 128 + number
    assert said == (b"", b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("module", ["kvdiag.cli.fast", "kvdiag.analysis.analyze", "kvdiag.report.terminal"])
def test_signals_while_modules_are_imported(module, name):
    """No traceback of an import is shown."""
    code = IN_IMPORT.format(module=module, name=name)
    done = subprocess.run([sys.executable, "-c", code, str(SHORT)], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (128 + getattr(signal, name), b"", b"")


def test_what_nohup_ignores_stays_ignored():
    """A run that was to outlive the terminal does."""
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN);" + IN_IMPORT.format(
        module="kvdiag.report.terminal", name="SIGHUP"
    )
    done = subprocess.run([sys.executable, "-c", code, str(SHORT)], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0
    assert done.stdout
