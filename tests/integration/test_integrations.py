"""The table of integrations in docs/install.md: each test of it exists, its versions are admitted, nothing is left out."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from kvdiag.report import REPORTS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/install.md").read_text("utf-8").partition("## Integrations")[2]
ROWS = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.endswith("` |")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
GROUPS = [Requirement(one) for group in PROJECT["dependency-groups"].values() for one in group]
OF_CONTRIB = {
    "agent-skill": "Agent Skill",
    "grafana": "Grafana over Prometheus",
    "holmesgpt": "HolmesGPT",
    "krew": "krew",
    "node-problem-detector": "Node Problem Detector",
}
NOT_FOR_PROGRAMS_OF_OTHERS = {"text", "compact", "json", "ndjson", "markdown", "github"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[-1])
def test_a_row_is_true(row):
    """Its test exists; a version of a package is one that pyproject.toml admits for tests."""
    _, reader, version, test = row
    path, _, name = test.strip("`").partition("::")
    assert (f"def {name}(" if name else "def test_") in (ROOT / path).read_text("utf-8")
    bounds = {one.name: one.specifier for one in GROUPS}
    for package, of_package in zip(reader.split(", "), version.split(", "), strict=False):
        assert not (package in bounds and of_package not in bounds[package]), package


def test_no_integration_is_left_out():
    """Each folder of contrib and each output for programs of others has a row."""
    rows = {row[0] for row in ROWS}
    assert {path.name for path in (ROOT / "contrib").iterdir()} == OF_CONTRIB.keys()
    assert rows >= set(OF_CONTRIB.values())
    outputs = {found[1] for row in rows if (found := re.fullmatch(r"`-o (\w+)`", row))}
    assert outputs == set(REPORTS) - NOT_FOR_PROGRAMS_OF_OTHERS
