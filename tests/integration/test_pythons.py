"""Each Python that is installed tells the same: those before 3.11.5 read some regexes otherwise (see test_regex.py)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.conftest import samples

ROOT = Path(__file__).parents[2]
PACKAGES = Path(yaml.__file__).parents[1]
PLACES = (*os.get_exec_path(), "/usr/bin", "/usr/local/bin")
MINORS = range(11, 20)
VERSION = "import sys; print('.'.join(map(str, sys.version_info[:3])))"


def version(python: Path) -> str:
    """Give what a Python says it is; nothing if it cannot be run, as a shim that leads nowhere."""
    done = subprocess.run([python, "-ISc", VERSION], capture_output=True, text=True, check=False, timeout=30)
    return done.stdout.strip() if done.returncode == 0 else ""


@cache
def others() -> dict[str, Path]:
    """Pythons that kvdiag admits, one of each version but the one that runs."""
    found = {}
    places = [Path(place, f"python3.{minor}") for minor in MINORS for place in PLACES]
    runnable = {python.resolve(): python for python in places if python.is_file() and os.access(python, os.X_OK)}
    for python in runnable.values():
        found.setdefault(version(python), python)
    return {said: python for said, python in found.items() if said and said != sys.version.split()[0]}


PYTHONS = [pytest.param(python, id=said) for said, python in others().items()] or [
    pytest.param(None, id="none", marks=pytest.mark.skip("no other Python 3.11 or newer is on the PATH"))
]


def run(python: Path | str, *arguments: object) -> str:
    """Run a Python with the packages of this one; what is compiled for one version only is not asked for."""
    paths = os.pathsep.join([str(ROOT), str(PACKAGES)])
    kept = {**os.environ, "PYTHONPATH": paths, "KVDIAG_SCANNER": "stdlib"}
    kept |= {} if python == sys.executable else {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [python, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT, env=kept, check=False, timeout=300
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


@cache
def own_readings() -> list[str]:
    """What this Python reads."""
    return run(sys.executable, "-m", "tests.readings").splitlines()


@pytest.mark.parametrize("python", PYTHONS)
def test_lines_are_read_alike(python):
    """The lines of the vocabulary and of the tests of all formats mean the same, and so does hostile text."""
    assert own_readings()
    assert run(python, "-m", "tests.readings").splitlines() == own_readings()


# Analyses each folder as the command does, and prints the report of each; the command line itself needs pydantic,
# which is compiled for one version of Python.
ALL = """
import io, json, sys
from kvdiag import analyze
from kvdiag.report import RenderOptions
from kvdiag.report.outputs import write_report

for folder, options in json.loads(sys.argv[1]):
    said = list(zip(options[::2], options[1::2], strict=True))
    year = next((int(value) for name, value in said if name == "--year"), None)
    versions = dict(value.split("=") for name, value in said if name == "--component")
    out = io.StringIO()
    write_report("json", analyze(folder, year=year, versions=versions), out, RenderOptions())
    print(json.dumps(out.getvalue()))
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_samples_are_judged_alike(python):
    """The report about each folder of sample logs is the same."""
    asked = [(str(one.folder.relative_to(ROOT)), one.options) for one in samples()]
    told = run(python, "-c", ALL, json.dumps(asked)).splitlines()
    assert [json.loads(json.loads(line)) for line in told] == [one.report for one in samples()]
