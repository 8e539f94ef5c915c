"""A rule of which a test says only what it is about."""

from __future__ import annotations

from kvdiag.model.rule import Chain, ChainStep, Rule
from kvdiag.model.values import Role, Severity, SubjectKind

PLAIN = Rule(
    id="KV999",
    name="test",
    title="",
    severity=Severity.LOW,
    status="stable",
    role=Role.CAUSE,
    per=SubjectKind.POD,
    events={},
    when=Chain((ChainStep("a"),)),
    says="",
    cause="",
)


def one_rule(**parts) -> Rule:
    """Give a rule about pods, with these of its parts."""
    return PLAIN._replace(**parts)
