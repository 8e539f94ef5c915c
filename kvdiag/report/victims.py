"""Findings of one incident as one: who its victims are, and when it was."""

from __future__ import annotations

from collections.abc import Iterable

from kvdiag.model.report import Finding
from kvdiag.model.values import SubjectKind

MOST_NAMED = 3  # victims, unless all were asked for

Incident = tuple[Finding, ...]
"""The findings of one incident; the first stands for all."""


def incidents(findings: Iterable[Finding]) -> list[Incident]:
    """The findings, those of one incident together, in the order of the first of each."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.incident or finding.key, []).append(finding)
    return [tuple(group) for group in found.values()]


def victims(incident: Incident, *, is_full: bool) -> str:
    """`17 pods of worker-1: shop/web-0, shop/web-1, shop/web-2 and 14 more`."""
    subject = incident[0].subject
    names = list(dict.fromkeys(one.subject.name for one in incident))
    shown = names if is_full or len(names) <= MOST_NAMED + 1 else names[:MOST_NAMED]
    node = subject.ids.get("node", "")
    kinds = f"{len(incident)} {plural(subject.kind)}" + (f" of {node}" if node else "")
    more = f" and {len(names) - len(shown)} more (-v names all)" if len(shown) < len(names) else ""
    return f"{kinds}: {', '.join(shown)}{more}"


def others(incident: Incident) -> str:
    """How many more are meant than the one that is spoken of."""
    kind, more = incident[0].subject.kind, len(incident) - 1
    return f" And {more} more {kind if more == 1 else plural(kind)}." if more else ""


def plural(kind: SubjectKind) -> str:
    """What several of a kind are called."""
    return f"{kind}es" if kind is SubjectKind.SANDBOX else f"{kind}s"


def whole(incident: Incident) -> Finding:
    """The first with the time and number of all."""
    if len(incident) == 1:
        return incident[0]
    healed = [one.healed for one in incident if one.healed is not None]
    return incident[0]._replace(
        begins=min(one.begins for one in incident),
        ends=max(one.ends for one in incident),
        count=sum(one.count for one in incident),
        healed=max(healed) if len(healed) == len(incident) else None,
    )
