"""Check a rule's `breaks` and `suffers` against the known capabilities."""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.base.suggestions import suggestion
from kvdiag.model.rule import Rule
from kvdiag.model.values import Role
from kvdiag.rules.capabilities import Capabilities


def faults(rule: Rule, known: Capabilities) -> Iterator[str]:
    """Yield each error in the capabilities of a rule."""
    if not rule.breaks and not rule.suffers:
        yield "give 'breaks' or 'suffers'; patterns/capabilities.yaml lists the capabilities"
    for name in (*rule.breaks, *rule.suffers):
        if name not in known.by_name:
            yield f"unknown capability {name!r}{suggestion(name, known.by_name)}"
    for broken in rule.breaks:
        for name in rule.suffers:
            if known.spreads(broken, name):
                yield f"it suffers from {name}, which needs {broken}, that it breaks itself"
    if rule.breaks and rule.role is Role.SYMPTOM:
        yield "a symptom cannot have 'breaks'; use 'suffers'"
