"""What explains a symptom, wherever one is shown: the cause by its name, and the command that tells more of it."""

from __future__ import annotations

from kvdiag.model.report import Finding


def cause_phrase(cause: Finding, *, is_listed: bool = False) -> str:
    """`because of csi-nodeunpublish-state-lost on volume pvc-1: The driver …`; its name alone where that is told."""
    where = f" on {cause.subject.kind} {cause.subject.name}: {cause.says}"
    return f"because of {cause.rule.name}{'' if is_listed else where}"


def explain_command(rule: str) -> str:
    """The command that tells of a rule."""
    return f"kvdiag explain {rule}"
