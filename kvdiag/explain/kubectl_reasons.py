"""Reasons as kubectl shows them: what each means, and the signatures that may be behind it.

- reason: CrashLoopBackOff
says: The container ends again and again; kubelet starts it after 10s, 20s, 40s and so on.
rules: [crashloop-app]
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kvdiag.base.decode import Record, line
from kvdiag.base.yamlread import read_text, read_yaml


class KubectlReason(NamedTuple):
    """A word of a pod's or node's status, in a sentence, with the names of rules."""

    name: str
    meaning: str
    rules: tuple[str, ...]
    place: str


_REASON = Record(KubectlReason, keys={"name": "reason", "meaning": "says"}, meaning=line)


def load_reasons(path: Path) -> dict[str, KubectlReason]:
    """All reasons of a file by their names in lower case. Raises PatternError with `file:line:column`."""
    reasons = map(_REASON, read_yaml(read_text(path), str(path)).sequence())
    return {reason.name.lower(): reason for reason in reasons}
