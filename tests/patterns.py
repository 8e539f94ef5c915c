"""What comes with kvdiag as its files say it, tests and samples included: read once for all tests, in a second."""

from __future__ import annotations

from functools import cache

from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import Vocabulary, load_vocabulary, read_vocabulary
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.inputs.scan.protocol import Scanner
from kvdiag.rules.library import Library, load


@cache
def library() -> Library:
    """Give the rules."""
    return load([builtin_patterns()])


@cache
def vocabulary() -> Vocabulary:
    """Give the events, without the raw lines of rules."""
    return read_vocabulary(builtin_patterns() / "events")


@cache
def known() -> tuple[Vocabulary, Scanner]:
    """Give the events as an analysis loads them, and a scanner for their literals."""
    events = load_vocabulary(builtin_patterns() / "events")
    return events, make_scanner(events.literals)
