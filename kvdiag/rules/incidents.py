"""Group findings into incidents: one fault with many victims, found by one rule on one node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kvdiag.base.regex import lazy_regex
from kvdiag.model.report import Finding
from kvdiag.model.values import SubjectKind
from kvdiag.rules.rank import TOUCH, ordered
from kvdiag.rules.related_findings import node_of

Keyed = tuple[str, Finding]  # a finding with its key, which takes 3 µs to make
_NUMBER = lazy_regex(r"[0-9]+")


def with_incidents(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in report order, with the rules that each explains and the key of its incident."""
    found = [(one.key, one) for one in ordered(findings)]
    explains, incidents = _explained_rules(found), dict(_incidents(found))
    return [
        one._replace(explains=tuple(sorted(explains.get(key, ()))), incident=incidents.get(key))
        if key in explains or key in incidents
        else one
        for key, one in found
    ]


def _explained_rules(findings: Sequence[Keyed]) -> dict[str, set[str]]:
    """Return by key of each cause the rules that it explains, directly or indirectly."""
    above = {key: finding.explained_by for key, finding in findings}
    under: dict[str, set[str]] = defaultdict(set)
    for own, finding in findings:
        key, seen = finding.explained_by, {own}
        while key is not None and key not in seen:
            under[key].add(finding.rule.name)
            seen.add(key)
            key = above.get(key)
    return under


def _incidents(findings: Sequence[Keyed]) -> Iterator[tuple[str, str]]:
    """Yield the key of each finding that is not alone in its incident, with the key of the incident's first finding."""
    alike: dict[tuple[object, ...], list[Keyed]] = defaultdict(list)
    for key, finding in findings:
        if finding.subject.kind is not SubjectKind.NODE or finding.subject.part:
            alike[_likeness(finding)].append((key, finding))
    for group in alike.values():
        for incident in _at_one_time(group):
            if len(incident) > 1:
                yield from ((key, incident[0]) for key in incident)


def _likeness(finding: Finding) -> tuple[object, ...]:
    """Return what findings of one incident have in common: everything but subject names and numbers."""
    text = finding.says
    for name in sorted({finding.subject.name, *finding.subject.ids.values()}, key=lambda name: (-len(name), name)):
        if len(name) > 1:
            text = text.replace(name, "…")
    driver = finding.subject.ids.get("driver", "")
    known = (finding.verdict, finding.severity, finding.healed is None, finding.explained_by is None)
    return (finding.rule.name, finding.folder, node_of(finding), driver, *known, _NUMBER.sub("0", text))


def _at_one_time(findings: Sequence[Keyed]) -> Iterator[list[str]]:
    """Yield the keys of the findings split at long pauses, each group in the given order.

    Successive containers of one pod, each started after kubelet had killed the last, are one victim.
    """
    order = {key: number for number, (key, _) in enumerate(findings)}
    part: list[str] = []
    pods: set[str] = set()
    until = 0
    for key, finding in sorted(findings, key=lambda pair: (pair[1].begins, pair[0])):
        pod = finding.subject.ids.get("pod", "") if finding.subject.kind is SubjectKind.CONTAINER else ""
        if part and finding.begins > until + TOUCH and pod not in pods:
            yield sorted(part, key=order.__getitem__)
            part, pods = [], set()
        until = max(until, finding.ends) if part else finding.ends
        part.append(key)
        pods |= {pod} - {""}
    yield sorted(part, key=order.__getitem__)
