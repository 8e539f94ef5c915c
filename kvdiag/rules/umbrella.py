"""Leave out rules that only say that a step fails, on subjects where another finding says why.

Such a rule has `never-explains: ["*"]`, and `rank` leaves out its findings that have a cause. In a log with 100,000
faults it holds on each of them, so judging it in vain takes a seventh of the analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvdiag.model.event import Event
from kvdiag.model.report import Finding
from kvdiag.model.rule import Rule
from kvdiag.model.values import Role, Severity, SubjectKind, Verdict
from kvdiag.rules.capabilities import Capabilities
from kvdiag.rules.event_index import SubjectEvents
from kvdiag.rules.prefilter import RulePrefilter
from kvdiag.rules.rank import DEVICES, OBJECTS, TOUCH
from kvdiag.rules.related_findings import EVERYTHING, RuleRelations, names_an_object


def is_umbrella(prefilter: RulePrefilter) -> bool:
    """Return whether the rule only says that a step fails, and explains no other."""
    return EVERYTHING in prefilter.rule.never_explains and not prefilter.rule.explains


class Umbrellas:
    """Tells which rules `rank` would leave out, whatever they find on a subject."""

    def __init__(self, known: Capabilities) -> None:
        """Take the graph of capabilities."""
        self._relations = RuleRelations(known)

    def is_explained(self, prefilter: RulePrefilter, subject: SubjectEvents, found: Iterable[Finding]) -> bool:
        """Return whether one of the findings on the subject explains all that the rule may find there."""
        if not is_umbrella(prefilter) or subject.key[0] is SubjectKind.NODE:
            return False
        causes = [one for one in found if self._may_explain(one, prefilter.rule)]
        if not causes:
            return False
        events = [event for node in subject.nodes for event in subject.select(prefilter, node)]
        return any(_covers(cause, events) for cause in causes)

    def _may_explain(self, cause: Finding, rule: Rule) -> bool:
        """Return whether the cause explains any finding of the rule that is not at another time; see `rank`."""
        is_sure = cause.verdict is Verdict.CONFIRMED or rule.role is Role.SYMPTOM
        is_lasting = cause.severity is not Severity.INFO and cause.healed is None
        is_same = not any(names_an_object(cause, name) for name in (*DEVICES, *OBJECTS))
        return is_sure and is_lasting and is_same and self._relations.relation(cause.rule, rule) is not None


def _covers(cause: Finding, events: Sequence[Event]) -> bool:
    """Return whether a finding on any of these events is at the time of the cause."""
    return all(cause.begins - TOUCH <= event.time and event.ends <= cause.ends + TOUCH for event in events)
