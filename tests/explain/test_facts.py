"""What a diagnosis needs to know is told by some page; the table of it is `facts.yaml`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdiag.analysis.explain import Explainer
from kvdiag.base.yamlread import read_yaml
from kvdiag.explain.text import rule_text, topic_text

TABLE = Path(__file__).with_name("facts.yaml")
EXPLAINER = Explainer()


def facts():
    """Each row as (fact, page, mode, phrases)."""
    for row in read_yaml(TABLE.read_text("utf-8"), str(TABLE)).sequence():
        keys = row.mapping(("fact", "page", "mode", "says"), ("fact", "page", "says"))
        mode = keys["mode"].text() if "mode" in keys else ""
        phrases = [phrase.text() for phrase in keys["says"].sequence()]
        yield pytest.param(keys["page"].text(), mode, phrases, id=f"{keys['page'].text()}: {keys['fact'].text()}")


def printed(page, mode):
    """Give what `kvdiag explain` prints for a topic in a mode, or for a rule."""
    topic = EXPLAINER.topic(page)
    text = topic_text(EXPLAINER.page(topic, mode)) if topic else rule_text(EXPLAINER.rule(page))
    return " ".join(text.split())


@pytest.mark.parametrize(("page", "mode", "phrases"), list(facts()))
def test_a_fact_is_told(page, mode, phrases):
    """The page that is to tell the fact has each of its phrases."""
    text = printed(page, mode)
    assert [phrase for phrase in phrases if phrase not in text] == []


def test_no_fact_is_lost():
    """The table only grows; each row has a phrase to look for."""
    rows = list(facts())
    assert len(rows) >= 100
    assert all(row.values[2] for row in rows)
