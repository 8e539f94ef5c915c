"""Which kinds of events the rules need of a history: an analysis makes no others, but to tell who is who.

A rule asks for something only where each of its clauses can hold: without a failure in the logs the rules about
failures ask for nothing, and of a healthy node's events four in five need not be made.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from kvdiag.correlate.handover import HANDED_OVER, STAGED, TOLD_BY
from kvdiag.model.rule import Rule
from kvdiag.rules.shelf import possible
from kvdiag.rules.sought import sought


def asked(rules: Iterable[Rule], heard: AbstractSet[str]) -> frozenset[str]:
    """The kinds that rules ask for of which each clause has a kind that was `heard`, or can follow from one."""
    following = heard | HANDED_OVER if heard & STAGED else heard
    kinds = {kind for rule in possible(rules, following) for kind in sought(rule).kinds}
    return frozenset(kinds | TOLD_BY if kinds & HANDED_OVER else kinds)
