"""Suppressions: findings that a team accepts, each with a reason and an expiry date.

- rule: image-gc-failed            # id or name
  subject: "node build-*"          # kind and name, a glob; every subject when it is left out
  reason: the build nodes run with small disks until the move
  expires: 2027-03-31              # the last day on which it counts
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from kvdiag.base.decode import Record, error_at
from kvdiag.base.errors import UsageError
from kvdiag.base.yamlread import Node, read_yaml
from kvdiag.inputs.files import read_small
from kvdiag.model.report import Finding

LARGEST = 1 << 20  # bytes


class Suppression(NamedTuple):
    """Suppresses findings of a rule on matching subjects, up to and including the day `expires`."""

    rule: str
    subject: str
    reason: str
    expires: date
    place: str

    def covers(self, finding: Finding) -> bool:
        """Return whether the suppression applies to the finding."""
        named = f"{finding.subject.kind} {finding.subject.name}"
        return self.rule in {finding.rule.id, finding.rule.name} and fnmatchcase(named, self.subject)


def read_suppressions(path: Path, known: Iterable[str]) -> tuple[Suppression, ...]:
    """Read a file; `known` are the ids and names of all rules.

    Raise PatternError with `file:line:column`, UsageError if the file cannot be read.
    """
    try:
        text = read_small(path, LARGEST).decode()
    except OSError as error:
        raise UsageError(f"--suppressions {path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"--suppressions {path}: cannot be read: {error}") from None
    suppressions = tuple(map(_SUPPRESSION, read_yaml(text, str(path)).sequence()))
    rules = frozenset(known)
    for one in suppressions:
        if one.rule not in rules:
            raise error_at(one.rule, f"unknown rule {str(one.rule)!r}; see `kvdiag rules list`")
    return suppressions


def _day(node: Node) -> date:
    try:
        return date.fromisoformat(node.text())
    except ValueError:
        raise node.error(f"expires: write a day such as 2027-03-31, not {node.text()!r}") from None


_SUPPRESSION = Record(Suppression, missing={"subject": "*"}, rule=Node.word, expires=_day)


def expired(suppressions: Sequence[Suppression], today: date) -> list[Suppression]:
    """Return the suppressions that have expired."""
    return [one for one in suppressions if one.expires < today]
