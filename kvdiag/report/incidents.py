"""Group the findings of one incident and describe its victims."""

from __future__ import annotations

from collections.abc import Iterable

from kvdiag.model.report import Finding
from kvdiag.model.values import Severity

Incident = tuple[Finding, ...]
"""The findings of one incident; the first one represents it."""


def incidents(findings: Iterable[Finding]) -> list[Incident]:
    """Group findings by incident, in the order of the first finding of each."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.incident or finding.key, []).append(finding)
    return [tuple(group) for group in found.values()]


def failures(findings: Iterable[Finding]) -> list[Incident]:
    """Return the incidents that are failures: no symptoms, and no findings of severity info."""
    return incidents(one for one in findings if one.explained_by is None and one.severity > Severity.INFO)


def notes(findings: Iterable[Finding]) -> list[Incident]:
    """Return the incidents of severity info that are not symptoms."""
    return incidents(one for one in findings if one.explained_by is None and one.severity is Severity.INFO)


def victims(incident: Incident) -> list[str]:
    """The name of each subject once."""
    return list(dict.fromkeys(one.subject.part or one.subject.name for one in incident))


def incident_label(incident: Incident) -> str:
    """Return `17 pods of worker-1`."""
    node = incident[0].subject.ids.get("node", "")
    return f"{len(incident)} {_plural(incident[0])}" + (f" of {node}" if node else "")


def and_more(incident: Incident) -> str:
    """How many more are meant than the one that is spoken of."""
    more = len(incident) - 1
    return f" And {more} more {_kind(incident[0]) if more == 1 else _plural(incident[0])}." if more else ""


def _kind(finding: Finding) -> str:
    """Return the kind of a victim: pod, volume…; for a part of a node the name of that part, such as device."""
    return finding.rule.same[0].replace("_", " ") if finding.subject.part else str(finding.subject.kind)


def _plural(finding: Finding) -> str:
    kind = _kind(finding)
    return f"{kind}es" if kind.endswith("x") else f"{kind}s"


def merged_finding(incident: Incident) -> Finding:
    """Return the first finding with the time span and the count of all, and with a heading that all of them share."""
    if len(incident) == 1:
        return incident[0]
    healed = [one.healed for one in incident if one.healed is not None]
    first = incident[0]
    heading, row = _shared_titles(incident)
    return first._replace(
        texts=first.texts.all._replace(heading=heading, row=row),
        begins=min(one.begins for one in incident),
        ends=max(one.ends for one in incident),
        count=sum(one.count for one in incident),
        healed=max(healed) if len(healed) == len(incident) else None,
    )


def _shared_titles(incident: Incident) -> tuple[str, str]:
    """Return the heading and the row that all findings share, empty if they differ."""
    heading, row = incident[0].texts.titles
    for one in incident[1:]:
        if not (heading or row):
            break
        other_heading, other_row = one.texts.titles
        heading, row = heading if heading == other_heading else "", row if row == other_row else ""
    return heading, row
