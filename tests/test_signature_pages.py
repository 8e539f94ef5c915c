"""docs/signatures says what the rules say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.patterns import library
from tools.signature_pages import INDEX, TITLES, pages

FOLDER = Path(__file__).parents[1] / "docs" / "signatures"


@pytest.fixture(scope="module")
def made():
    return pages(library())


def test_pages_of_signatures(made):
    """`python -m tools.signature_pages docs/signatures` writes them."""
    there = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert made.keys() == there.keys()
    other = [name for name in made if made[name] != there[name]]
    assert not other, f"write {other} anew"


def test_each_rule_has_a_sample(made):
    """Each has a line that its tests find, and the index leads to it."""
    assert made.keys() == {INDEX, *TITLES}
    for family, page in made.items():
        rules = re.findall("^## (.*)$", page, re.MULTILINE) if family != INDEX else []
        assert page.count("```text") == len(rules)
        assert all(f"({family}.md#{rule})" in made[INDEX] for rule in rules)


def test_no_open_slots(made):
    """What only a finding knows is a name in capitals."""
    assert not [
        line for page in made.values() for line in page.splitlines() if re.search(r"\[\[|\{(?!\.)[a-z_:]+\}", line)
    ]
