"""Rules × timelines → findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kvdiag.clock import HOUR
from kvdiag.model.event import Event
from kvdiag.model.report import Evidence, Finding
from kvdiag.model.rule import Rule, Selector
from kvdiag.model.timeline import Entity, History, Timeline
from kvdiag.model.values import SubjectKind, Verdict
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.bugs import applies, known_bugs, seen
from kvdiag.rules.fill import fixes, sentence, values
from kvdiag.rules.grammar import positive_names
from kvdiag.rules.judge import Match, judge, selects

NODE_HORIZON = HOUR  # events of the node are looked at this long before and after a subject was heard of


def find(rules: Sequence[Rule], history: History, entries: Mapping[str, Entry]) -> Iterator[Finding]:
    """Every finding of every rule on every subject, in no order."""
    nodes = {t.subject.key: t for t in history.timelines.values() if t.subject.kind is SubjectKind.NODE}
    heard = _by_kind(history)
    for rule in rules:
        needed = [rule.events[name].kinds for name in set(positive_names(rule.when))]
        for timeline in _candidates(rule, needed, heard, history):
            yield from _on_subject(rule, timeline, nodes, history, entries)


def _by_kind(history: History) -> Mapping[str, set[tuple[SubjectKind, str]]]:
    heard: dict[str, set[tuple[SubjectKind, str]]] = {}
    for key, timeline in history.timelines.items():
        for kind in {event.kind for event in timeline.events}:
            heard.setdefault(kind, set()).add(key)
    return heard


def _candidates(
    rule: Rule,
    needed: Sequence[tuple[str, ...]],
    heard: Mapping[str, set[tuple[SubjectKind, str]]],
    history: History,
) -> Iterator[Timeline]:
    """The subjects of the rule's kind that have at least one event the rule asks for."""
    kinds = {kind for group in needed for kind in group}
    keys = {key for kind in kinds for key in heard.get(kind, ()) if key[0] is rule.per}
    for key in sorted(keys):
        yield history.timelines[key]


def _on_subject(
    rule: Rule, timeline: Timeline, nodes: Mapping[str, Timeline], history: History, entries: Mapping[str, Entry]
) -> Iterator[Finding]:
    subject = timeline.subject
    for node in _nodes_of(timeline):
        if not applies(rule, history.versions, node):
            continue
        events = _stage_events(rule, timeline, node, nodes, history, entries)
        for part in _parts(rule, events):
            matches = judge(rule, part, node, history, entries)
            if matches:
                yield _finding(rule, _at(subject, node, part, rule), matches, part, history)
                break


def _nodes_of(timeline: Timeline) -> list[str]:
    """The nodes that spoke of the subject; one unnamed node when none said its name."""
    return sorted({event.node for event in timeline.events if event.node}) or [""]


def _at(subject: Entity, node: str, part: Sequence[Event], rule: Rule) -> Entity:
    shared = {name: value for name in rule.same for e in part if (value := e.value(name))}
    if node and subject.kind is not SubjectKind.NODE:
        shared = {"node": node, **shared}
    return Entity(kind=subject.kind, key=subject.key, name=subject.name, ids={**subject.ids, **shared})


def _stage_events(
    rule: Rule,
    timeline: Timeline,
    node: str,
    nodes: Mapping[str, Timeline],
    history: History,
    entries: Mapping[str, Entry],
) -> list[Event]:
    """The subject's events of the rule's kinds on this node, with the node's own events near them.

    A rule about a node looks at all that happened on it: a pod that starts shows that the runtime is back.
    """
    kinds = {kind for selector in rule.events.values() for kind in selector.kinds}
    if rule.per is SubjectKind.NODE:
        return [e for e in history.events if e.kind in kinds and e.node in {timeline.subject.key, ""}]
    mine = [e for e in timeline.events if e.kind in kinds and (not node or not e.node or e.node == node)]
    wide = {kind for kind in kinds if (entry := entries.get(kind)) and entry.scope == "node"}
    if not wide or not mine:
        return mine
    begins, ends = mine[0].time - NODE_HORIZON, mine[-1].ends + NODE_HORIZON
    known = set(map(id, mine))
    for key in {node, ""} if node else set(nodes):
        if key in nodes:
            mine += [e for e in nodes[key].events if e.kind in wide and begins <= e.time <= ends and id(e) not in known]
    return sorted(mine, key=lambda e: (e.time, e.origin.line))


def _parts(rule: Rule, events: list[Event]) -> Iterator[list[Event]]:
    """The events divided by what a rule wants to be the same in all; an event that does not say it is in every part."""
    if not rule.same:
        yield events
        return
    signatures = dict.fromkeys(tuple(e.value(name) for name in rule.same) for e in events)
    for signature in [s for s in signatures if all(s)] or list(signatures):
        yield [e for e in events if all(v in {"", w} for v, w in zip(_signature(rule, e), signature, strict=True))]


def _signature(rule: Rule, event: Event) -> tuple[str, ...]:
    return tuple(event.value(name) for name in rule.same)


def _finding(rule: Rule, subject: Entity, matches: Sequence[Match], part: Sequence[Event], history: History) -> Finding:
    best = matches[0]
    bound = [(name, event) for name, events in best.bound.items() for event in events]
    ordered = sorted(bound, key=lambda pair: (pair[1].time, pair[1].origin.line))
    counted = _counted(rule, part)
    begins = ordered[0][1].time if ordered else history.begins
    since = [event for event in counted if event.ends >= begins]
    ends = max([event.ends for event in since] + [event.ends for _, event in ordered], default=history.ends)
    count = sum(event.count for event in since) or len(matches)
    said = values(subject, [*ordered, *(("", event) for event in since)], count, begins, ends)
    return Finding(
        rule=rule,
        subject=subject,
        verdict=Verdict.POSSIBLE if best.doubts else Verdict.CONFIRMED,
        severity=rule.severity,
        role=rule.role,
        begins=begins,
        ends=ends,
        count=count,
        says=sentence(rule.says, said),
        cause=sentence(rule.cause, said),
        fix=tuple(fixes(rule, said)),
        evidence=tuple(_evidence(best, part, rule, begins)),
        doubts=(*best.doubts, *_version_doubts(rule, history, subject.ids.get("node", ""))),
        bugs=tuple(known_bugs(rule, history.versions, subject.ids.get("node", ""), said)),
    )


def _counted(rule: Rule, part: Sequence[Event]) -> list[Event]:
    """The events whose number is the finding's count: those of `counts`, else of the last name the sentence needs."""
    selector: Selector = rule.events[_counted_name(rule)]
    return [event for event in part if selects(selector, event)]


def _counted_name(rule: Rule) -> str:
    return rule.counts or list(positive_names(rule.when))[-1]


def _evidence(match: Match, part: Sequence[Event], rule: Rule, begins: int) -> Iterator[Evidence]:
    """The lines a finding rests on in time order, each once: first and last of a series, and what `shows` names."""
    series = {name: [e for e in part if selects(rule.events[name], e) and e.ends >= begins] for name in _series(rule)}
    series |= {name: list(events) for name, events in match.bound.items() if not series.get(name)}
    rows: dict[int, Evidence] = {}
    for name, events in series.items():
        for event in events[:: max(1, len(events) - 1)] if events else ():
            rows.setdefault(id(event), Evidence(name, event, sum(e.count for e in events)))
    yield from sorted(rows.values(), key=lambda row: (row.event.time, row.event.origin.line))


def _series(rule: Rule) -> list[str]:
    return [_counted_name(rule), *rule.shows]


def _version_doubts(rule: Rule, history: History, node: str) -> Iterator[str]:
    for component, affected in rule.applies.items():
        if seen(component, history.versions, node) is None:
            hint = f"say --component {component}=…"
            yield f"the version of {component} is not in these logs; this concerns {affected} ({hint})"
