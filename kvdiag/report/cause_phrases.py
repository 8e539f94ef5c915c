"""Phrases that name the cause of a symptom, and the command that explains a rule."""

from __future__ import annotations

from kvdiag.model.report import Finding


def cause_phrase(cause: Finding, *, is_listed: bool = False) -> str:
    """Return `because of csi-nodeunpublish-state-lost on volume pvc-1: The driver …`; only the name if `is_listed`."""
    where = f" on {cause.subject.kind} {cause.subject.name}: {cause.says}"
    return f"because of {cause.rule.name}{'' if is_listed else where}"


def explain_command(rule: str) -> str:
    """Return the command that explains a rule."""
    return f"kvdiag explain {rule}"
