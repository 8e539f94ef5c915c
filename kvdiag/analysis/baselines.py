"""Findings that a team knows: the baseline of an earlier run, and suppressions with a reason and an expiry date.

{"schema": "kvdiag.baseline/1", "findings": [{"fingerprint": "9c…", "rule": "crashloop-app", "subject": "pod a/b"}]}

- rule: image-gc-failed            # id or name
subject: "node build-*"          # kind and name, a glob; every subject when it is left out
reason: the build nodes run with small disks until the move
expires: 2027-03-31              # the last day on which it counts
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from kvdiag.base.decode import Record, error_at
from kvdiag.base.errors import UsageError
from kvdiag.base.yamlread import Node, read_yaml
from kvdiag.inputs.files import atomic_write, read_small
from kvdiag.model.report import Finding, Report
from kvdiag.report.fingerprint import fingerprint

LARGEST_SUPPRESSIONS = 1 << 20  # bytes


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
        text = read_small(path, LARGEST_SUPPRESSIONS).decode()
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


SCHEMA = "kvdiag.baseline/1"
LARGEST_BASELINE = 64 << 20  # bytes


def read_baseline(path: Path) -> frozenset[str]:
    """Return the fingerprints of a baseline. Raise UsageError if the file is not a baseline."""
    try:
        data = json.loads(read_small(path, LARGEST_BASELINE))
        if data["schema"] != SCHEMA:
            raise UsageError(
                f"--baseline {path}: not a baseline of this version; create it again with --write-baseline"
            )
        return frozenset(str(one["fingerprint"]) for one in data["findings"])
    except OSError as error:
        raise UsageError(f"--baseline {path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"--baseline {path}: not a baseline; create one with --write-baseline") from None


def write_baseline(path: Path, findings: Sequence[Finding]) -> None:
    """Write the baseline of these findings. Raise UsageError if the file cannot be written."""
    data = {"schema": SCHEMA, "findings": list(_rows(findings))}
    try:
        with atomic_write(path) as file:
            file.write((json.dumps(data, indent=1) + "\n").encode())
    except OSError as error:
        raise UsageError(f"--write-baseline {path}: {(error.strerror or str(error)).lower()}") from None


def _rows(findings: Iterable[Finding]) -> Iterable[dict[str, Any]]:
    rows = {
        fingerprint(one): {"rule": one.rule.name, "subject": f"{one.subject.kind} {one.subject.name}"}
        for one in findings
    }
    yield from ({"fingerprint": key, **rows[key]} for key in sorted(rows))


def leave_out(report: Report, known: Collection[str], suppressions: Sequence[Suppression], today: date) -> Report:
    """Return the report without findings in the baseline or covered by a suppression; its notes contain the number."""
    outdated = expired(suppressions, today)
    valid = [one for one in suppressions if one not in outdated]
    in_baseline = {finding.key for finding in report.findings if known and fingerprint(finding) in known}
    suppressed = {finding.key for finding in report.findings if any(one.covers(finding) for one in valid)}
    removed = _with_symptoms(report.findings, in_baseline | suppressed)
    notes = [f"{len(in_baseline)} known from the baseline"] if in_baseline else []
    notes += [f"{len(suppressed - in_baseline)} suppressed"] if suppressed - in_baseline else []
    notes += (
        [f"{len(removed - in_baseline - suppressed)} of their symptoms"] if removed - in_baseline - suppressed else []
    )
    lines = [f"left out: {', '.join(notes)}"] if notes else []
    lines += [f"{one.place}: expired on {one.expires}; {one.rule} counts again" for one in outdated]
    return report._replace(
        findings=tuple(finding for finding in report.findings if finding.key not in removed),
        needs=tuple(need for need in report.needs if not removed.issuperset(need.findings)),
        notes=(*report.notes, *lines),
    )


def _with_symptoms(findings: Sequence[Finding], keys: set[str]) -> set[str]:
    """Return the keys together with those of their symptoms."""
    removed = set(keys)
    for _ in findings:
        more = {finding.key for finding in findings if finding.explained_by in removed} - removed
        if not more:
            break
        removed |= more
    return removed
