"""What is handed out: the versions it asks for, and what the built distributions hold."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NEED = re.compile(r"(?P<name>[A-Za-z.-]+)(?P<how>>=|==)(?P<version>[0-9.]+)(?P<when>;.*)?")


def needs(lines):
    """Give the version of each package, with the condition under which it is needed."""
    found = (NEED.fullmatch(line.strip()) for line in lines)
    return {one["name"]: (one["version"], one["when"]) for one in found if one}


def test_the_lowest_versions_are_those_that_are_tested():
    """Each lower bound stands in lowest.txt, with which `make lowest` runs."""
    asked = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["fast"]]
    lines = (ROOT / "lowest.txt").read_text("utf-8").splitlines()
    assert needs(asked) == needs(lines)
    assert len(needs(asked)) == len(asked)
