"""Evaluate a rule's condition on one timeline: which events satisfy it, and how certain that is.

A chain holds if its events occur in that order. Of all runs with the same end the shortest counts. If an absence
excludes a run, the next one is tried, since a volume may pass through its cycle many times.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain as joined
from itertools import islice, pairwise
from operator import attrgetter
from typing import NamedTuple

from kvdiag.base.clock import CLOCKS_DIFFER
from kvdiag.base.identity_cache import cached_by_identity
from kvdiag.history.correlate.handover import OVERLAP, UNSTAGED
from kvdiag.model.event import Event, event_order
from kvdiag.model.report import Doubt, DoubtReason
from kvdiag.model.rule import Absent, All, AnyOf, Chain, ChainStep, Condition, Not, Rule
from kvdiag.model.timeline import History
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.absence import Window, cut_polls, doubts, is_inside, silence_doubts
from kvdiag.rules.chain_steps import can_use_backoff, count_occurrences, match_step, needs_backoff
from kvdiag.rules.event_order import order_is_possible
from kvdiag.rules.grammar import name_set
from kvdiag.rules.selection import (
    EventPosition,
    Part,
    Selected,
    asks_for_text,
    may_lack_values,
    missing_value_doubts,
    part_of,
)
from kvdiag.rules.stretches import end_names, ends_fault, is_spoiled, try_names

MOST_RUNS = 256  # matches of one rule on one timeline; more matches of the same fault add nothing to the finding
GUESSED = "ambiguous"  # attribute of an answer that may belong to several calls

Bound = Mapping[str, tuple[Event, ...]]
_time = attrgetter("time")


class RuleMatch(NamedTuple):
    """One way in which the condition holds: the events bound to each name, and the doubts."""

    bound: Bound
    doubts: tuple[Doubt, ...] = ()


class JudgedEvents(NamedTuple):
    """What a condition is evaluated on: the selected events by name in order of time, the node and the whole history.

    `runs` and `denied` cache the results of chains and negated terms that depend on no bound event, by identity.
    `tries` are the names that stand for one try, `successes` the events that end a stretch of tries. `has_guesses`: an
    answer may belong to several calls.
    """

    seen: Selected
    node: str
    history: History
    entries: Mapping[str, Entry]
    rule: Rule
    runs: dict[int, list[Bound]]
    denied: dict[int, RuleMatch | None]
    tries: Collection[str] = ()
    successes: Sequence[Event] = ()
    has_guesses: bool = False


def judge(rule: Rule, part: Part, node: str, history: History, entries: Mapping[str, Entry]) -> list[RuleMatch]:
    """Return every match of the rule on these events, the certain ones first."""
    pieces = cut_polls(part.events)
    seen = part_of(rule, [piece for piece, _ in pieces]).selected if pieces else part.selected
    if not isinstance(rule.when, AnyOf) and not order_is_possible(rule.when, rule.cut, seen):
        return []
    originals = {id(piece): event for piece, event in pieces}
    successes = seen.of_names(end_names(rule))
    has_guesses = any(GUESSED in event.attrs for event in part.events)
    selected = JudgedEvents(seen, node, history, entries, rule, {}, {}, try_names(rule), successes, has_guesses)
    matches = [_with_proof_doubt(one, rule) for one in islice(_solve(rule.when, selected, RuleMatch({})), MOST_RUNS)]
    if originals:
        matches = [_unsplit(match, originals) for match in matches]
    return sorted(matches, key=lambda match: bool(match.doubts))


def may_hold(rule: Rule, events: Sequence[Event]) -> bool:
    """Return whether the events include all that the condition requires, in a possible order."""
    return order_is_possible(rule.when, rule.cut, part_of(rule, events).selected)


def _with_proof_doubt(match: RuleMatch, rule: Rule) -> RuleMatch:
    """Add the rule's doubt to a match without any of the events that would prove it."""
    if rule.proof is None or not match.bound.keys().isdisjoint(rule.proof.by):
        return match
    return _with_doubts(match, (Doubt(DoubtReason.PROOF, text=rule.proof.doubt),))


def _unsplit(match: RuleMatch, originals: Mapping[int, Event]) -> RuleMatch:
    """Replace the pieces of split polls by the original events."""
    logged = {name: (originals[id(piece)] for piece in pieces) for name, pieces in match.bound.items()}
    return RuleMatch(
        {name: tuple({id(e): e for e in events}.values()) for name, events in logged.items()}, match.doubts
    )


def _solve(condition: Condition, selected: JudgedEvents, match: RuleMatch) -> Iterator[RuleMatch]:
    match condition:
        case Chain():
            for bound in _runs(condition, selected, match.bound):
                unsure = tuple(_chain_doubts(condition, bound, selected))
                yield _with_doubts(RuleMatch({**match.bound, **bound}, match.doubts), unsure)
        case Absent():
            reasons = _absent(condition, selected, match.bound)
            if reasons is not None:
                yield _with_doubts(match, reasons)
        case Not(term):
            denied = _denied_match(term, selected, match.bound)
            if denied is None or denied.doubts:
                yield _with_doubts(match, denied.doubts if denied else ())
        case AnyOf(terms):
            for term in _possible(terms, selected):
                yield from _solve(term, selected, match)
        case All(terms):
            yield from _solve_all(_in_order(terms), selected, match)


def _possible(terms: Sequence[Condition], selected: JudgedEvents) -> Iterator[Condition]:
    """Return the alternatives whose events occur in their order, which takes a tenth of the time of trying one."""
    return (term for term in terms if order_is_possible(term, selected.rule.cut, selected.seen))


def _denied_match(term: Condition, selected: JudgedEvents, bound: Bound) -> RuleMatch | None:
    """Return the most certain way in which a negated term holds; None if it does not."""
    is_free = bound.keys().isdisjoint(name_set(term))
    if is_free and id(term) in selected.denied:
        return selected.denied[id(term)]
    found = _surest(islice(_solve(term, selected, RuleMatch(bound)), MOST_RUNS))
    if is_free:
        selected.denied[id(term)] = found
    return found


def _runs(chain: Chain, selected: JudgedEvents, bound: Bound) -> Iterable[Bound]:
    """Return every run of a chain; cached if none of its names is bound."""
    if not selected.seen[chain.steps[0].name]:
        return ()  # as most alternatives of a rule with many
    if bound and any(step.name in bound for step in chain.steps):
        return _all_chains(chain, selected, bound)
    known = selected.runs.get(id(chain))
    if known is None:
        known = selected.runs[id(chain)] = list(_all_chains(chain, selected, bound))
    return known


def _surest(matches: Iterable[RuleMatch]) -> RuleMatch | None:
    """Return the first match without a doubt, else the first match."""
    first = None
    for match in matches:
        if not match.doubts:
            return match
        first = first or match
    return first


def _with_doubts(match: RuleMatch, doubts: Sequence[Doubt]) -> RuleMatch:
    """Return the match with these doubts, too, each once."""
    return RuleMatch(match.bound, _merge_doubts(match.doubts, doubts)) if doubts else match


def _merge_doubts(some: Sequence[Doubt], more: Sequence[Doubt]) -> tuple[Doubt, ...]:
    return tuple(dict.fromkeys((*some, *more))) if some or more else ()


@cached_by_identity
def _in_order(terms: tuple[Condition, ...]) -> Sequence[Condition]:
    """Return the terms that bind events before those that ask for bound ones."""
    return sorted(terms, key=lambda term: isinstance(term, Absent | Not))


def _solve_all(terms: Sequence[Condition], selected: JudgedEvents, match: RuleMatch) -> Iterable[RuleMatch]:
    """Return every match of all terms, each found from those of the terms before it."""
    matches: Iterable[RuleMatch] = (match,)
    for term in terms:
        matches = joined.from_iterable(map(partial(_solve, term, selected), matches))
    return matches


def _all_chains(chain: Chain, selected: JudgedEvents, bound: Bound) -> Iterator[Bound]:
    """Yield every run of a chain, first those without answers that may belong to another call."""
    is_fixed = bool(bound) and any(_fixed(step, bound) for step in chain.steps)
    if selected.has_guesses and not is_fixed and any(_guesses(selected.seen[step.name]) for step in chain.steps):
        names = {step.name for step in chain.steps}
        sure = {name: tuple(e for e in selected.seen[name] if not e.attrs.get(GUESSED)) for name in names}
        if all(sure.values()):
            yield from _chains(chain, selected._replace(seen=selected.seen.with_events(sure)), bound)
    runs = iter(_chains(chain, selected, bound))
    first = next(runs, None)
    if first is not None:
        yield first
        yield from runs
    elif can_use_backoff(chain, selected.seen, selected.rule):
        yield from _chains(chain, selected, bound, by_backoff=True)


def _chains(chain: Chain, selected: JudgedEvents, bound: Bound, *, by_backoff: bool = False) -> Iterator[Bound]:
    """Yield the shortest runs of the steps in order; of runs with the same end the one that starts last."""
    first = selected.seen[chain.steps[0].name]
    fixed = _fixed(chain.steps[0], bound) if bound else ()
    best: dict[int, Bound] = {}
    for start in (first.index(fixed[0]),) if fixed else _starts(chain, first, bound):
        run = _run(chain, selected, bound, start, by_backoff=by_backoff)
        if run is not None:
            best[id([*run.values()][-1][-1])] = run
    yield from best.values()


def _starts(chain: Chain, first: Sequence[Event], bound: Bound) -> Iterable[int]:
    """Return where a run may start: within the chain's bound of its last event, if that is already bound."""
    ends = _fixed(chain.steps[-1], bound) if bound and chain.within else ()
    if not ends:
        return range(len(first))
    until = bisect_right(first, ends[-1].ends, key=_time)
    return range(bisect_left(first, ends[-1].time - chain.within, hi=until, key=_time), until)


def _run(chain: Chain, selected: JudgedEvents, bound: Bound, start: int, *, by_backoff: bool) -> Bound | None:
    run: dict[str, tuple[Event, ...]] = {}
    last: Event | None = None
    for step in chain.steps:
        series = selected.seen[step.name]
        begin = start if last is None else _next(series, selected.seen.positions(step.name), last)
        until = _until(chain, run, series, begin)
        matched = (bound and _fixed(step, bound)) or match_step(step, series, begin, by_backoff=by_backoff, until=until)
        if not matched or (last is not None and not _follows(matched[0], last)):
            may_come = step is chain.steps[-1] and step.name in selected.rule.cut
            return _cut_run(chain, selected, run, series[begin:]) if may_come else None
        if step.lasting and step.name in selected.tries and is_spoiled(matched, selected.successes):
            return None
        run[step.name] = (*run.get(step.name, ()), *matched)
        last = matched[-1]
    if chain.within and last is not None and last.time - run[chain.steps[0].name][0].time > chain.within:
        return None
    return run


def _until(chain: Chain, run: Bound, series: Sequence[Event], begin: int) -> int | None:
    """Return when the time of a chain with a bound is up."""
    if not chain.within or begin >= len(series):
        return None
    return (next(iter(run.values()))[0] if run else series[begin]).time + chain.within


def _cut_run(chain: Chain, selected: JudgedEvents, run: Bound, more: tuple[Event, ...]) -> Bound | None:
    """Return the run without its complete last step, if the log ends before that was due."""
    name = chain.steps[-1].name
    begun = {**run, name: (*run.get(name, ()), *more)} if more else run
    return begun if begun and any(_cut_doubts(chain, begun, selected)) else None


def _cut_doubts(chain: Chain, bound: Bound, selected: JudgedEvents) -> Iterator[Doubt]:
    """Yield a doubt for each log that ends before the chain's last step was due."""
    step = chain.steps[-1]
    events = bound.get(step.name, ())
    if step.name in selected.rule.cut and not match_step(step, events, 0, by_backoff=True):
        first = bound[chain.steps[0].name][0] if chain.within else events[0] if events else None
        if first is not None:
            kinds = selected.rule.events[step.name].kinds
            due = Window(first.time, first.time + (chain.within or step.lasting))
            reasons = doubts(kinds, due, selected.node, selected.history, selected.entries)
            yield from (doubt for doubt in reasons if doubt.reason is DoubtReason.ENDS_EARLY)


def _chain_doubts(chain: Chain, bound: Bound, selected: JudgedEvents) -> Iterator[Doubt]:
    """Yield every doubt about a run of a chain."""
    if selected.rule.clocks:
        yield from _order_doubts(chain, bound, selected.rule.clocks)
    if selected.has_guesses:
        yield from _pairing_doubts(chain, bound)
    yield from _overlap_doubts(bound, selected)
    if selected.rule.cut:
        yield from _cut_doubts(chain, bound, selected)
    for name, events in bound.items():
        selector = selected.rule.events[name]
        if may_lack_values(selector):
            yield from missing_value_doubts(selector, events)
    for step in chain.steps:
        events = bound.get(step.name, ())
        if events and asks_for_text(selected.rule.events[step.name]) and needs_backoff(step, events):
            yield Doubt(DoubtReason.EARLIER, text=str(events[0].origin))


def _order_doubts(chain: Chain, bound: Bound, clocks: Sequence[str]) -> Iterator[Doubt]:
    """Yield a doubt for two steps on different machines that are closer than their clocks may differ."""
    for step, then in pairwise(chain.steps):
        if then.name not in clocks or then.name not in bound:
            continue
        before, after = bound[step.name][-1], bound[then.name][0]
        distance = after.time - before.time
        if distance < CLOCKS_DIFFER and _machine(before) != _machine(after):
            lines = f"{before.origin} and {after.origin}"
            yield Doubt(DoubtReason.CLOCKS, took=max(0, distance), text=lines)


def _pairing_doubts(chain: Chain, bound: Bound) -> Iterator[Doubt]:
    """Yield a doubt for a step whose answer may belong to another call, since a line between them is missing."""
    for step in chain.steps:
        events = bound.get(step.name, ())
        guessed = _guesses(events)
        if guessed and count_occurrences(e for e in events if not e.attrs.get(GUESSED)) < step.at_least:
            yield Doubt(DoubtReason.PAIRING, text=str(guessed[0].origin))


def _guesses(events: Sequence[Event]) -> list[Event]:
    """Return the answers that may belong to another call."""
    return [event for event in events if event.attrs.get(GUESSED)]


def _overlap_doubts(bound: Bound, selected: JudgedEvents) -> Iterator[Doubt]:
    """Yield a doubt if the first node may have unstaged the volume unseen, since its log does not cover that time."""
    for events in bound.values():
        for event in events:
            if event.kind == OVERLAP:
                then, node = Window(event.time, event.time + 1), event.attrs["from_node"]
                yield from doubts(sorted(UNSTAGED), then, node, selected.history, selected.entries)


def _machine(event: Event) -> str:
    return "controller" if event.is_from_controller else event.node


def _fixed(step: ChainStep, bound: Bound) -> tuple[Event, ...]:
    """Return the events that another term bound to the step's name, if they satisfy the step."""
    events = bound.get(step.name, ())
    return events if events and match_step(step, events, 0, by_backoff=True) else ()


def _next(series: tuple[Event, ...], places: Sequence[EventPosition], last: Event) -> int:
    """Return the index of the first event in the series after `last`, or still going on then."""
    index = bisect_right(places, event_order(last))
    if index and series[index - 1].ends > last.time and series[index - 1] is not last:
        return index - 1
    return index


def _follows(event: Event, last: Event) -> bool:
    return event.ends > last.time or event_order(event) > event_order(last)


def _absent(term: Absent, selected: JudgedEvents, bound: Bound) -> tuple[Doubt, ...] | None:
    """Return None if the event occurred; else the reasons why it may have been missed."""
    after, before = bound.get(term.after, ())[-1:], bound.get(term.before, ())[:1]
    window = _window(term, selected, after, before)
    selector = selected.rule.events[term.name]
    unsure: tuple[Doubt, ...] = ()
    for event in _latest(selected.seen, term.name, window):
        is_answer = not (term.to_end and after) or ends_fault(event, after[0])
        if is_answer and is_inside(event, window, after, before) and not _is_bound(event, bound):
            may_be_another = tuple(missing_value_doubts(selector, (event,)))
            if not may_be_another:
                return None
            unsure = may_be_another + unsure
    reasons = doubts(selector.kinds, window, selected.node, selected.history, selected.entries)
    reasons = _merge_doubts(reasons, unsure)
    return _merge_doubts(reasons, tuple(_silence_doubts(term, selected))) if window.open_ended else reasons


def _latest(seen: Selected, name: str, window: Window) -> Iterator[Event]:
    """Yield the events of a name that may lie in a window, the last one first, which nearly always decides."""
    series, ends = seen[name], seen.ends(name)
    for at in range(bisect_right(series, window.ends, key=_time) - 1, -1, -1):
        if ends[at] < window.begins:
            return
        yield series[at]


def _silence_doubts(term: Absent, selected: JudgedEvents) -> Iterator[Doubt]:
    """Yield a doubt if the repeating line itself stopped before the log ended: that may be the fault."""
    if term.after and term.after != term.name:
        events = selected.seen[term.after]
        entry = selected.entries.get(events[-1].kind) if events else None
        yield from silence_doubts(events, is_poll=bool(entry and entry.poll), coverages=selected.history.coverage)


def _is_bound(event: Event, bound: Bound) -> bool:
    return any(event is other for events in bound.values() for other in events)


def _window(term: Absent, selected: JudgedEvents, after: Sequence[Event], before: Sequence[Event]) -> Window:
    begins = after[-1].time if after else selected.history.begins
    ends = before[0].time if before else selected.history.ends + 1
    if term.within and after:
        ends = begins + term.within
    elif term.within and before:
        begins = ends - term.within
    return Window(begins, ends, open_ended=not before and not term.within)
