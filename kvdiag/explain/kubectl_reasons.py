"""Reasons as kubectl shows them: what each means, and the signatures that may be behind it.

- reason: CrashLoopBackOff
says: The container ends again and again; kubelet starts it after 10s, 20s, 40s and so on.
rules: [crashloop-app]
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kvdiag.base.yamlread import Node, read_text, read_yaml

_REASON = ("reason", "says", "rules")


@dataclass(frozen=True, slots=True, kw_only=True)
class KubectlReason:
    """A word of a pod's or node's status, in a sentence, with the names of rules."""

    name: str
    meaning: str
    rules: tuple[str, ...]
    place: str


def load_reasons(path: Path) -> dict[str, KubectlReason]:
    """All reasons of a file by their names in lower case. Raises PatternError with `file:line:column`."""
    reasons = map(_reason, read_yaml(read_text(path), str(path)).sequence())
    return {reason.name.lower(): reason for reason in reasons}


def _reason(node: Node) -> KubectlReason:
    keys = node.mapping(_REASON, _REASON)
    return KubectlReason(
        name=keys["reason"].text(),
        meaning=" ".join(keys["says"].text().split()),
        rules=tuple(rule.text() for rule in keys["rules"].sequence()),
        place=node.place,
    )
