"""Evaluate rules on timelines and build findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from kvdiag.base.clock import MINUTE
from kvdiag.base.identity_cache import cached_by_identity
from kvdiag.events.snapshots.fact import SNAPSHOT_KINDS
from kvdiag.formats.authors import CONTAINED, Rank, is_output, program_in_name, rank_of
from kvdiag.formats.carriers.peel import peel
from kvdiag.inputs.layout import provenance_of
from kvdiag.model.event import NAMELESS, Event, event_order
from kvdiag.model.record import Origin
from kvdiag.model.report import Doubt, DoubtReason, Evidence, Finding
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import Entity, History
from kvdiag.model.values import Severity, State, SubjectKind, Verdict
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.bugs import applies, find_version
from kvdiag.rules.capabilities import capabilities
from kvdiag.rules.causes import errors_of
from kvdiag.rules.chain_steps import count_occurrences
from kvdiag.rules.ending import End, end_of
from kvdiag.rules.event_index import EventIndex, SubjectEvents, episodes, parts
from kvdiag.rules.finding_texts import LazyTexts, TextInputs
from kvdiag.rules.grammar import name_set, positive_names
from kvdiag.rules.judge import RuleMatch, judge, may_hold
from kvdiag.rules.prefilter import RulePrefilter
from kvdiag.rules.required_kinds import holdable_rules
from kvdiag.rules.rule_store import possible_rules
from kvdiag.rules.selection import Part, Selected, part_of
from kvdiag.rules.stretches import Stretch, count_tries, stretches
from kvdiag.rules.umbrella import Umbrellas, is_umbrella

FEW = 8  # events that are divided and judged at once; of more it is first seen whether all of them may hold
LOG = "log"  # in `same`: the events must be in one log; not part of the finding's name
MOST_PARTS = 64  # parts (devices, images…) of one node; of more only the most certain are reported
# Told of a log by its times.
_TIME_REASONS = frozenset((DoubtReason.BEGINS_LATE, DoubtReason.ENDS_SOON, DoubtReason.ENDS_EARLY))
PRELUDE = 5 * MINUTE  # lines that a rule shows as prelude are at most this long before the fault


def find(
    rules: Sequence[Rule],
    history: History,
    entries: Mapping[str, Entry],
    *,
    is_filtered: bool = False,
    is_requested: Callable[[Finding], bool] = lambda _finding: True,
) -> Iterator[Finding]:
    """Yield the requested findings of every rule on every subject, unordered, except those that `rank` leaves out.

    With `is_filtered`, the rules are those that the values of the lines allow.
    """
    umbrellas = Umbrellas(capabilities())
    index = EventIndex(history, entries)
    possible = possible_rules(rules, index.seen_kinds)
    for subject, prefilters in index.candidates(possible if is_filtered else holdable_rules(possible, index.by_kind)):
        found: list[Finding] = []
        for prefilter in sorted(prefilters, key=is_umbrella):
            if not umbrellas.is_explained(prefilter, subject, found):
                found += filter(is_requested, _on_subject(prefilter, subject, index))
        yield from found


def _on_subject(prefilter: RulePrefilter, subject: SubjectEvents, index: EventIndex) -> Iterator[Finding]:
    """Yield at most one finding per node of a subject: of the first part that matches for certain, else possibly.

    For a node, yield one for each part that a matched line names: a device, an image, a registry.
    """
    rule = prefilter.rule
    for node in subject.nodes if subject.can_hold(prefilter) else ():
        events = subject.select(prefilter, node)
        if rule.same and len(events) > FEW and not may_hold(rule, events):
            continue
        groups = parts(rule, events)
        if subject.is_node_fallback:
            groups = (episode for part in groups for episode in episodes(part))
        divided = (part_of(rule, group) for group in groups)
        judged = ((_matches(rule, part, node, index), part) for part in divided)
        found = [(matches, part) for matches, part in judged if matches]
        for matches, part in _surest_parts(found, rule, subject):
            yield _finding(rule, _subject_at(subject.entity, node, part.events, rule), matches, part, index)


def _surest_parts(
    found: Sequence[tuple[list[RuleMatch], Part]], rule: Rule, subject: SubjectEvents
) -> Iterable[tuple[list[RuleMatch], Part]]:
    """Return the parts to report: the most certain one, or for a node all parts that a line of the match names."""
    surest = sorted(found, key=lambda one: bool(one[0][0].doubts))
    if not rule.same or rule.per is not SubjectKind.NODE or subject.is_node_fallback:
        return surest[:1]
    named = [(matches, part) for matches, part in surest if _names_object(matches[0], rule)]
    return named[:MOST_PARTS] or surest[:1]


def _names_object(match: RuleMatch, rule: Rule) -> bool:
    return any(event.value(name) for events in match.bound.values() for event in events for name in rule.same)


def _matches(rule: Rule, part: Part, node: str, index: EventIndex) -> list[RuleMatch]:
    """Return the matches that no version of their time excludes."""
    matches = judge(rule, part, node, index.history, index.entries)
    versions = index.history.versions
    matches = [match for match in matches if not rule.applies or applies(rule, versions, node, _begins(match, index))]
    return [
        RuleMatch(
            match.bound,
            (
                *_match_doubts(match, index.history),
                *_author_doubts(match, index),
                *_clock_doubts(rule, match, part, index.history),
            ),
        )
        for match in matches
    ]


def _begins(match: RuleMatch, index: EventIndex) -> int:
    return min((event.time for events in match.bound.values() for event in events), default=index.history.begins)


def _subject_at(subject: Entity, node: str, part: Sequence[Event], rule: Rule) -> Entity:
    shared = {name: value for name in rule.same if name != LOG for e in part if (value := e.value(name))}
    if node and not node.startswith(NAMELESS) and subject.kind is not SubjectKind.NODE:
        shared = {"node": node, **shared}
    ids = {**subject.ids, **shared}
    is_divided = rule.per is SubjectKind.NODE is subject.kind
    return subject._replace(ids=ids, part=" ".join(shared.values()) if is_divided else "")


def _finding(rule: Rule, subject: Entity, matches: Sequence[RuleMatch], part: Part, index: EventIndex) -> Finding:
    history = index.history
    best, stretch = _best_match(rule, matches, part)
    bound = ((name, event) for name, events in best.bound.items() for event in events)
    ordered = sorted(bound, key=lambda pair: event_order(pair[1]))
    begins = _begin(ordered, stretch, history)
    since = [event for event in stretch.tries if event.ends >= begins]
    begins = min((begins, *(event.time for event in since)))  # a row of kubectl counts from its own begin
    lines = {event.origin for event in since}
    others = [event for _, event in ordered if event.origin not in lines]
    ends = _last_end(since, others, history)
    count = count_tries(since) or _least_count(matches)
    end = end_of(rule, part.selected, [*since, *others], ends, history)
    evidence = tuple(_evidence(best, part.selected, rule, begins))
    severity = _severity(rule, best, end.state)
    tries = {id(event) for event in since}
    events = (*(event for _, event in ordered if id(event) not in tries), *since)
    changes = _may_change(best, end, severity)
    sources = frozenset(event.origin.source for event in events) | ({end.source} if end.source else set())
    errors = errors_of(rule, part.selected, begins - PRELUDE if rule.follows else begins, ends)
    span = (begins, ends) if history.has_common_time(sources) else (begins, None)
    found = (rule, subject, events, evidence, errors, tuple(best.bound), count, span, end, changes)
    return Finding(
        rule=rule,
        subject=subject,
        verdict=Verdict.POSSIBLE if best.doubts else Verdict.CONFIRMED,
        severity=severity,
        role=rule.role,
        begins=begins,
        ends=ends,
        count=count,
        evidence=evidence,
        texts=LazyTexts(TextInputs(*found, history, index.dialect)),
        doubts=(*best.doubts, *_version_doubts(rule, history, subject.ids.get("node", ""), begins)),
        state=end.state,
        healed=end.at if end.state is State.OVER else None,
        deleted=end.at if end.state is State.DELETED else None,
        sources=sources,
    )


def _last_end(tries: Sequence[Event], others: Sequence[Event], history: History) -> int:
    """Return when the last line of the fault ended; snapshots have no time of their own."""
    timed = (*tries, *(event for event in others if event.kind not in SNAPSHOT_KINDS))
    return max((event.ends for event in timed), default=history.ends)


def _match_doubts(match: RuleMatch, history: History) -> Iterator[Doubt]:
    """Return the doubts of a match. For logs without times, doubts about begin and end become one doubt UNTIMED."""
    if match.bound and not history.unanchored and not history.rows:
        return iter(match.doubts)
    is_untimed = not any(history.has_date(event) for events in match.bound.values() for event in events)
    found = (
        Doubt(DoubtReason.UNTIMED, one.component) if is_untimed and one.reason in _TIME_REASONS else one
        for one in match.doubts
    )
    return iter(dict.fromkeys(found))


def _author_doubts(match: RuleMatch, index: EventIndex) -> Iterator[Doubt]:
    """Yield a doubt if only logs of containers, whose names a user may choose, show the fault."""
    lines = [event for events in match.bound.values() for event in events]
    if lines and all(_is_of_user(line, index.outputs) for line in lines):
        yield Doubt(DoubtReason.AUTHOR, text=min(line.origin.source for line in lines))


def _clock_doubts(rule: Rule, match: RuleMatch, part: Part, history: History) -> Iterator[Doubt]:
    """Yield a doubt if an order, a duration or an absence rests on logs whose clocks disagree."""
    if not history.disagreements:
        return
    bound = [event for events in match.bound.values() for event in events]
    seen = part.selected.of_names(name_set(rule.when) - match.bound.keys())
    if len(bound) + len(seen) > 1:
        off = [
            history.disagreements[log]
            for log in {e.origin.source for e in (*bound, *seen)} & history.disagreements.keys()
        ]
        for widest in sorted(off, key=lambda one: (-one.apart, one.line))[:1]:
            yield Doubt(DoubtReason.DISAGREE, text=f"{widest.line} and {widest.other}", took=widest.apart)


def _may_change(match: RuleMatch, end: End, severity: Severity) -> bool:
    """Return whether to give steps that change something: not for past faults, severity info, or unproven authors."""
    is_claimed = any(doubt.reason is DoubtReason.AUTHOR for doubt in match.doubts)
    return end.at is None and severity is not Severity.INFO and not is_claimed


def _is_of_user(event: Event, outputs: dict[Origin, bool]) -> bool:
    """Return whether a container printed the line whose name a user may have chosen, or that has no name.

    `outputs` has whether lines are a container's, as far as they were asked for: one line is in many matches.
    """
    rank, is_called = _log_rank(event.origin.source)
    if rank is not None or is_called:
        return rank is Rank.NAMED
    known = outputs.get(event.origin)
    if known is None:
        peeled = peel(event.logged)
        known = outputs[event.origin] = peeled.carrier in CONTAINED or is_output(peeled.carrier, peeled.ident)
    return known


@lru_cache(4096)
def _log_rank(log: str) -> tuple[Rank | None, bool]:
    return rank_of(provenance_of(log)), bool(program_in_name(log))


def _best_match(rule: Rule, matches: Sequence[RuleMatch], part: Part) -> tuple[RuleMatch, Stretch]:
    """Return the match to report with its stretch: preferably one with an alarm event, certain, and not over."""
    found = stretches(rule, part.selected)
    return min(
        ((match, _stretch_of(match, found)) for match in matches),
        key=lambda one: (one[0].bound.keys().isdisjoint(rule.alarm), bool(one[0].doubts), one[1].over is not None),
    )


def _stretch_of(match: RuleMatch, found: Sequence[Stretch]) -> Stretch:
    """Return the stretch of the match that is not over, else its longest; if no try matches, the next stretch."""
    bound = [event for events in match.bound.values() for event in events]
    lines = {event.origin for event in bound}
    of_match = [stretch for stretch in found if any(event.origin in lines for event in stretch.tries)]
    if of_match:
        return of_match[-1] if of_match[-1].over is None else max(of_match, key=_lasted)
    until = max((event.time for event in bound), default=0)
    return next((one for one in found if one.tries[-1].ends >= until), Stretch(()))


def _lasted(stretch: Stretch) -> int:
    return max(event.ends for event in stretch.tries) - stretch.tries[0].time


def _begin(ordered: Sequence[tuple[str, Event]], stretch: Stretch, history: History) -> int:
    """Return when the fault began: at the first try of the stretch, unless the match has earlier steps."""
    if not ordered:
        return history.begins
    tries = {event.origin for event in stretch.tries}
    is_of_tries = all(event.origin in tries or event.kind in SNAPSHOT_KINDS for _, event in ordered) and bool(tries)
    return stretch.tries[0].time if is_of_tries else ordered[0][1].time


def _severity(rule: Rule, match: RuleMatch, state: State) -> Severity:
    """Return the severity: the rule's, or its `possible` severity; one level lower if the fault ended by itself.

    A removed pod did not recover, so only an explicit severity under `healed` counts.
    """
    if rule.alarm and not match.bound.keys() & set(rule.alarm):
        return Severity.INFO
    severity = rule.possible if match.doubts and rule.possible is not None else rule.severity
    if rule.healed and rule.healed.severity is not None and state in {State.OVER, State.DELETED}:
        return rule.healed.severity
    return Severity(max(severity - 1, Severity.INFO)) if state is State.OVER else severity


def _least_count(matches: Sequence[RuleMatch]) -> int:
    """Return how often the last event of the match occurred; a row of kubectl counts as often as it says."""
    last = (event for match in matches for events in list(match.bound.values())[-1:] for event in events)
    return count_occurrences(last) or len(matches)


def _evidence(match: RuleMatch, selected: Selected, rule: Rule, begins: int) -> Iterator[Evidence]:
    """Yield the evidence in order of time: the first and the last line of each series, and what `shows` names."""
    series = {name: [e for e in selected[name] if e.ends >= begins] for name in _series(rule)}
    for name in rule.follows:
        series[name] = [e for e in selected[name] if begins - PRELUDE <= e.time <= begins][-1:]
    series |= {name: list(events) for name, events in match.bound.items() if not series.get(name)}
    rows: dict[int, Evidence] = {}
    for name, events in series.items():
        total = count_tries(events)
        for event in events[:: max(1, len(events) - 1)]:
            rows.setdefault(id(event), Evidence(name, event, total))
    yield from sorted(rows.values(), key=lambda row: event_order(row.event))


@cached_by_identity
def _series(rule: Rule) -> list[str]:
    """Return the names whose lines are evidence: what the rule counts, and what it shows."""
    return [rule.counts or list(positive_names(rule.when))[-1], *rule.shows]


def _version_doubts(rule: Rule, history: History, node: str, at: int) -> Iterator[Doubt]:
    for component, affected in rule.applies.items():
        if find_version(component, history.versions, node, at) is None:
            yield Doubt(DoubtReason.VERSION, text=component, needed=str(affected))
