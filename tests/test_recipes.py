"""The recipes of CONTRIBUTING, each followed in a copy of kvdiag: what they name is all that is needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


class Checkout:
    """A copy of kvdiag and its patterns that may be changed."""

    def __init__(self, folder: Path) -> None:
        """Copy both into a folder."""
        self.folder = folder
        for part in ("kvdiag", "patterns"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))

    def write(self, path: str, text: str) -> None:
        """Write one file of the copy."""
        (self.folder / path).write_text(text, encoding="utf-8")

    def insert(self, path: str, before: str, text: str) -> None:
        """Put a text before another, which stands once in a file of the copy."""
        whole = (self.folder / path).read_text(encoding="utf-8")
        assert whole.count(before) == 1
        self.write(path, whole.replace(before, text + before))

    def run(self, *words: object) -> str:
        """Run the copy; give what it printed."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}
        command = [sys.executable, "-m", "kvdiag", *map(str, words)]
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode in {0, 1}, done.stderr
        return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Give a copy of kvdiag in a folder of the test."""
    return Checkout(tmp_path / "checkout")


TOY = r'''"""A format of a toy.

    @2026-11-20T20:39:21.5Z!warning!the kettle boils!room=kitchen
"""

import re

from kvdiag.formats.bodies.bodyformat import Format
from kvdiag.formats.bodies.logrus import level_of
from kvdiag.formats.stamps import rfc3339
from kvdiag.model.record import Body

_LINE = re.compile(rb"@(\S+)!(\w+)!([^!]*)!(\w+)=(\w+)")


def read(body: bytes) -> Body | None:
    """One line."""
    found = _LINE.match(body)
    if found is None:
        return None
    time, level, message, key, value = found.groups()
    fields = {key.decode(): value.decode()}
    return Body("toy", rfc3339(time), level_of(level.decode()), message=message.decode(), fields=fields)


FORMAT = Format("toy", _LINE.match, read)
'''
LOG = """\
@2026-11-20T20:39:21.5Z!warning!the kettle boils!room=kitchen
and goes on boiling
2026-11-20T20:39:22.000000001Z stderr F @2026-11-20T20:39:22.5Z!info!the kettle is off!room=kitchen
"""


def test_a_format(checkout: Checkout) -> None:
    """A module and its name in the list: lines of the format are records in every verb, bare and in a carrier."""
    checkout.write("kvdiag/formats/bodies/toy.py", TOY)
    checkout.insert("kvdiag/formats/bodies/known.py", "    klog.FORMAT,\n", "    toy.FORMAT,\n")
    checkout.insert("kvdiag/formats/bodies/known.py", "import re\n", "from kvdiag.formats.bodies import toy\n")
    log = checkout.folder / "toy.log"
    log.write_text(LOG, encoding="utf-8")
    told = [json.loads(line) for line in checkout.run("parse", log).splitlines()]
    assert [(one["line"], one["time"], one["level"], one["message"]) for one in told] == [
        (1, "2026-11-20T20:39:21.500000Z", "warning", "the kettle boils"),
        (3, "2026-11-20T20:39:22.500000Z", "info", "the kettle is off"),
    ]
    assert told[0]["fields"] == {"room": "kitchen"}
    explained = json.loads(checkout.run("explain", "-o", "json", LOG.splitlines()[0]))
    assert (explained["format"], explained["message"]) == ("toy", "the kettle boils")
    (read,) = json.loads(checkout.run("analyze", "-o", "json", log))["inputs"]
    assert read["format"].endswith("toy")
    assert read["records"] == 2
