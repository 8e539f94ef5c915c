"""Which rules are evaluated on the events of several nodes, and which events they need: only these are stored."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kvdiag.analysis.case import Patterns
from kvdiag.history.correlate.event_filter import ALWAYS
from kvdiag.model.rule import Rule
from kvdiag.model.values import SubjectKind
from kvdiag.rules.required_kinds import kinds_of


class SharedKinds(NamedTuple):
    """The kinds of events that are stored: of volumes that may be on another node, and of the node itself."""

    of_volumes: AbstractSet[str]
    of_nodes: AbstractSet[str]


def shared_rules(patterns: Patterns) -> Sequence[Rule]:
    """Return the rules about volumes, and those about a node that need only events about the node.

    Other rules would take events that are not stored for absent.
    """
    wide = patterns.vocabulary.wide
    return [
        rule
        for rule in patterns.rules
        if rule.per is SubjectKind.VOLUME or (rule.per is SubjectKind.NODE and kinds_of([rule]) <= wide)
    ]


def shared_kinds(patterns: Patterns) -> SharedKinds:
    """Return the kinds of events that these rules and the identities of volumes need."""
    of_volumes = (rule for rule in patterns.rules if rule.per is SubjectKind.VOLUME)
    return SharedKinds(kinds_of(of_volumes) | ALWAYS, patterns.vocabulary.wide)
