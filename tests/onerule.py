"""A rule as a test writes it: one signature in a text."""

from __future__ import annotations

from kvdiag.model.rule import Rule
from kvdiag.rules.schema import read_rules


def read_rule(text: str, file: str) -> Rule:
    """Give the one rule of a text. Raises PatternError as `read_rules` does."""
    (rule,) = read_rules(text, file)
    return rule
