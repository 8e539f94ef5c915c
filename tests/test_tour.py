"""docs/architecture.md shows what a line is after each step of an analysis, as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.tour import BLOCK, updated, values

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


def test_the_tour_shows_values_as_they_are(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value of the page is what the step gives; `--update` writes them anew."""
    monkeypatch.chdir(PAGE.parents[1])
    text = PAGE.read_text("utf-8")
    if pytestconfig.getoption("--update"):
        PAGE.write_text(updated(text), "utf-8")
    else:
        assert updated(text) == text


def test_the_tour_shows_each_value() -> None:
    """No value is made that the page does not show, and none is shown that is not made."""
    assert {block["name"] for block in BLOCK.finditer(PAGE.read_text("utf-8"))} == values().keys()
