"""What comes with kvdiag as its files say it, tests and samples included: read once for all tests, in a second."""

from __future__ import annotations

from functools import cache

from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import Vocabulary, read_vocabulary
from kvdiag.rules.library import Library, load


@cache
def library() -> Library:
    """Give the rules."""
    return load([builtin_patterns()])


@cache
def vocabulary() -> Vocabulary:
    """Give the events, without the raw lines of rules."""
    return read_vocabulary(builtin_patterns() / "events")
