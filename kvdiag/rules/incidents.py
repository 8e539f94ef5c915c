"""Group findings into incidents: one fault with many victims, found by one rule on one node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kvdiag.base.regex import lazy_regex
from kvdiag.model.report import Finding
from kvdiag.model.values import SubjectKind
from kvdiag.rules.rank import TOUCH, ordered
from kvdiag.rules.related_findings import node_of

_NUMBER = lazy_regex(r"[0-9]+")


def with_incidents(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in report order, with the rules that each explains and the key of its incident."""
    found = ordered(findings)
    explains, incidents = _explained_rules(found), dict(_incidents(found))
    return [
        one._replace(explains=tuple(sorted(explains.get(one.key, ()))), incident=incidents.get(one.key))
        for one in found
    ]


def _explained_rules(findings: Sequence[Finding]) -> dict[str, set[str]]:
    """Return by key of each cause the rules that it explains, directly or indirectly."""
    above = {finding.key: finding.explained_by for finding in findings}
    under: dict[str, set[str]] = defaultdict(set)
    for finding in findings:
        key, seen = finding.explained_by, {finding.key}
        while key is not None and key not in seen:
            under[key].add(finding.rule.name)
            seen.add(key)
            key = above.get(key)
    return under


def _incidents(findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """Yield the key of each finding that is not alone in its incident, with the key of the incident's first finding."""
    alike: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.subject.kind is not SubjectKind.NODE or finding.subject.part:
            alike[_likeness(finding)].append(finding)
    for group in alike.values():
        for incident in _at_one_time(group):
            if len(incident) > 1:
                yield from ((one.key, incident[0].key) for one in incident)


def _likeness(finding: Finding) -> tuple[object, ...]:
    """Return what findings of one incident have in common: everything but subject names and numbers."""
    text = finding.says
    for name in sorted({finding.subject.name, *finding.subject.ids.values()}, key=lambda name: (-len(name), name)):
        if len(name) > 1:
            text = text.replace(name, "…")
    driver = finding.subject.ids.get("driver", "")
    known = (finding.verdict, finding.severity, finding.healed is None, finding.explained_by is None)
    return (finding.rule.name, finding.folder, node_of(finding), driver, *known, _NUMBER.sub("0", text))


def _at_one_time(findings: Sequence[Finding]) -> Iterator[list[Finding]]:
    """Yield the findings split at long pauses, each group in the given order.

    Successive containers of one pod, each started after kubelet had killed the last, are one victim.
    """
    order = {finding.key: number for number, finding in enumerate(findings)}
    part: list[Finding] = []
    until = 0
    for finding in sorted(findings, key=lambda one: (one.begins, one.key)):
        if part and finding.begins > until + TOUCH and not any(_is_same_pod(finding, one) for one in part):
            yield sorted(part, key=lambda one: order[one.key])
            part = []
        until = max(until, finding.ends) if part else finding.ends
        part.append(finding)
    yield sorted(part, key=lambda one: order[one.key])


def _is_same_pod(one: Finding, other: Finding) -> bool:
    """Return whether both findings are about containers of the same pod."""
    if one.subject.kind is not SubjectKind.CONTAINER or other.subject.kind is not SubjectKind.CONTAINER:
        return False
    pod = one.subject.ids.get("pod")
    return pod is not None and pod == other.subject.ids.get("pod")
