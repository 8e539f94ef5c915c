"""What comes with kvdiag as its files say it, tests and samples included: read once for all tests, in a second."""

from __future__ import annotations

from functools import cache

from kvdiag.events.folder import built_in
from kvdiag.events.vocabulary import Vocabulary, read_vocabulary
from kvdiag.rules.library import Library, load


@cache
def library() -> Library:
    """Give the rules."""
    return load([built_in()])


@cache
def vocabulary() -> Vocabulary:
    """Give the events, without the raw lines of rules."""
    return read_vocabulary(built_in() / "events")
