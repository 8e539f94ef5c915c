"""Select the events that a rule looks at: those of the subject, and those of its node near them in time.

A rule is evaluated on a subject only if each of its clauses has an event of a suitable kind. With 200 rules and 10,000
pods this excludes nearly all pairs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, partial
from itertools import accumulate
from typing import NamedTuple

from kvdiag.base.clock import HOUR, MINUTE
from kvdiag.history.correlate.entities import node_entity
from kvdiag.model.event import Event, event_order
from kvdiag.model.record import Origin
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import Entity, History, SubjectKey
from kvdiag.model.values import SubjectKind
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.distribution import Dialect, dialect_of
from kvdiag.rules.event_order import order_is_possible, soonest
from kvdiag.rules.grammar import positive_names
from kvdiag.rules.prefilter import RulePrefilter, prefilter_of
from kvdiag.rules.selection import ByKind, by_kind, selects

HORIZON = HOUR  # a rule sees events of the node this long before and after the subject's events

EPISODE = 15 * MINUTE  # three times kubelet's longest backoff


class _Series:
    """The events of one kind on one node, searchable by time."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self._times = [event.time for event in events]
        self._ended = list(accumulate((event.ends for event in events), max))  # running maximum of the ends

    def between(self, begins: int, ends: int) -> Iterator[Event]:
        """Yield the events in a time span, including folded polls that began earlier."""
        first = bisect_left(self._times, begins)
        for at in range(first - 1, -1, -1):
            if self._ended[at] < begins:
                break
            if self._events[at].ends >= begins:
                yield self._events[at]
        yield from self._events[first : bisect_right(self._times, ends)]

    def soonest(self, since: int) -> int | None:
        """Return the first time from `since` on at which an event was going on; None if there is none."""
        at = bisect_left(self._ended, since)
        return max(self._times[at], since) if at < len(self._times) else None


class SubjectEvents:
    """The events of one subject by kind, from which a rule selects those of one node."""

    def __init__(self, key: SubjectKey, index: EventIndex, subset: ByKind | None = None) -> None:
        """Take the key of a subject, or of a node without events of its own, and the index of its history.

        `subset` limits the events to these.
        """
        self.key, self._index = key, index
        self._is_node = key[0] is SubjectKind.NODE
        events = () if self._is_node else index.history.timelines.events_of(key)
        self.nodes = [key[1]] if self._is_node else nodes_of(events)
        everything = index.by_kind if self._is_node else by_kind(events)
        self._by_kind = everything if subset is None else subset
        self.is_node_fallback = subset is not None  # the lines name no subject, so they count for the node

    @property
    def entity(self) -> Entity:
        """Return the subject, which is described only when it is asked for."""
        timeline = self._index.history.timelines.get(self.key)
        return timeline.subject if timeline else node_entity(self.key[1])

    def can_hold(self, prefilter: RulePrefilter) -> bool:
        """Return whether the events of the subject and of the nodes can have the order that the rule requires."""
        if self._is_node or self.is_node_fallback:
            return True
        return order_is_possible(
            prefilter.rule.when, prefilter.rule.cut, _KindTimes(prefilter.rule, self._by_kind, self._index)
        )

    def select(self, prefilter: RulePrefilter, node: str) -> list[Event]:
        """Return the events of the rule's kinds on this node and the node's own events near them, in order of time.

        A rule about a node sees everything that happened on it: a pod that starts shows that the runtime works again.
        With several nodes, an event without a node proves nothing about one of them, but may show that something was
        not absent.
        """
        series = [self._by_kind[kind] for kind in prefilter.kinds if kind in self._by_kind]
        if self._is_node:
            key = self.key[1]
            unnamed_kinds = {*prefilter.kinds} - (prefilter.positive if len(self._index.nodes) > 1 else frozenset())
            on_node = (
                e for events in series for e in events if e.node == key or (not e.node and e.kind in unnamed_kinds)
            )
            return sorted(on_node, key=event_order)
        is_all = not node or len(self.nodes) == 1
        unnamed_kinds = {*prefilter.kinds} - prefilter.positive
        selected = [
            e
            for events in series
            for e in events
            if is_all or e.node == node or (not e.node and e.kind in unnamed_kinds)
        ]
        kinds = [kind for kind in prefilter.kinds if not prefilter.rule.or_node or kind not in prefilter.positive]
        near = list(self._index.near(kinds, node, selected)) if selected else []
        if not near:
            return sorted(selected, key=event_order) if len(series) > 1 else selected
        return sorted({id(event): event for event in (*selected, *near)}.values(), key=event_order)


class _KindTimes(NamedTuple):
    """When events of a rule's names occurred, on a subject or on any node."""

    rule: Rule
    by_kind: ByKind
    events: EventIndex

    def soonest(self, name: str, since: int) -> int | None:
        """Return the first time from `since` on at which an event of the name's kinds was going on."""
        first: int | None = None
        for kind in self.rule.events[name].kinds:
            for moment in (soonest(self.by_kind.get(kind, ()), since), self.events.soonest(kind, since)):
                if moment is not None and (first is None or moment < first):
                    first = moment
        return first


class EventIndex:
    """A history indexed for rules: the subjects by event kind, and the events of each node by time."""

    def __init__(self, history: History, entries: Mapping[str, Entry]) -> None:
        """Index the history; `entries` are those of the vocabulary, by kind."""
        self.history, self.entries = history, entries
        self.dialect: Callable[[str], Dialect] = cache(partial(dialect_of, history))
        self.by_kind = by_kind(history.events)
        self.outputs: dict[Origin, bool] = {}  # lines, and whether a container printed them
        self.nodes = {event.node for event in history.events if event.node}
        self._subjects_of_kind: dict[str, set[SubjectKey]] = defaultdict(set)
        of_node: dict[str, dict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))
        for key in history.timelines:
            events = history.timelines.events_of(key)
            for kind in {event.kind for event in events}:
                self._subjects_of_kind[kind].add(key)
            if key[0] is SubjectKind.NODE:
                for event in events:
                    of_node[event.kind][key[1]].append(event)
        wide = {kind for kind in of_node if kind in entries and entries[kind].scope == "node"}
        self._of_nodes = {kind: {node: _Series(events) for node, events in of_node[kind].items()} for kind in wide}

    @property
    def seen_kinds(self) -> AbstractSet[str]:
        """Return the kinds of all events, also of those derived from others."""
        return self.by_kind.keys() | self._subjects_of_kind.keys()

    def candidates(self, rules: Iterable[Rule]) -> Iterator[tuple[SubjectEvents, list[RulePrefilter]]]:
        """Yield the subjects on which rules can hold, in order of their keys, each with these rules."""
        by_subject: dict[SubjectKey, list[RulePrefilter]] = defaultdict(list)
        prefilters = [prefilter_of(rule) for rule in rules]
        for prefilter in prefilters:
            for key in self._possible_subjects(prefilter):
                by_subject[key].append(prefilter)
        for key in sorted(by_subject):
            yield SubjectEvents(key, self), by_subject[key]
        for prefilter in prefilters:
            for subject in self._unclaimed(prefilter) if prefilter.rule.or_node else ():
                yield subject, [prefilter]

    def _unclaimed(self, prefilter: RulePrefilter) -> Iterator[SubjectEvents]:
        """Yield the nodes on which events of the rule name no subject of its kind, with those events.

        A line that also names a subject, for example in an embedded error, does not count for the node.
        """
        rule, positive = prefilter.rule, prefilter.positive
        keys = {key for kind in positive for key in self._subjects_of_kind.get(kind, ()) if key[0] is rule.per}
        selectors = [rule.events[name] for name in positive_names(rule.when)]
        events = {id(e): e for key in keys for e in self.history.timelines.events_of(key) if e.kind in positive}
        claimed = [e for e in events.values() if any(selects(selector, e) for selector in selectors)]
        nodes, lines = {event.node for event in claimed}, {event.origin for event in claimed}
        if "" in nodes:
            return
        known_nodes = {"", *nodes} if nodes else nodes  # events without a node may belong to a known node
        unclaimed = {kind: [e for e in self.by_kind.get(kind, ()) if e.origin not in lines] for kind in prefilter.kinds}
        for node in sorted({event.node for kind in positive for event in unclaimed[kind]} - known_nodes):
            yield SubjectEvents((SubjectKind.NODE, node), self, unclaimed)

    def _possible_subjects(self, prefilter: RulePrefilter) -> Iterable[SubjectKey]:
        """Return the subjects of the rule's kind with an event for each clause, on themselves or on their node."""
        rule = prefilter.rule
        if rule.per is SubjectKind.NODE:
            if not prefilter.can_hold(self.by_kind.keys()):
                return ()
            return {(rule.per, event.node) for kind in prefilter.positive for event in self.by_kind.get(kind, ())}
        subject_clauses = [clause for clause in prefilter.clauses if not any(kind in self._of_nodes for kind in clause)]
        subjects = [
            {key for kind in clause for key in self._subjects_of_kind.get(kind, ())}
            for clause in subject_clauses or [prefilter.positive]
        ]
        return {key for key in set.intersection(*subjects) if key[0] is rule.per}

    def soonest(self, kind: str, since: int) -> int | None:
        """Return the first time from `since` on at which a node's own event of this kind was going on."""
        if kind not in self._of_nodes:
            return None
        moments = (series.soonest(since) for series in self._of_nodes[kind].values())
        return min((moment for moment in moments if moment is not None), default=None)

    def near(self, kinds: Iterable[str], node: str, mine: Sequence[Event]) -> Iterator[Event]:
        """Yield the node's own events of these kinds within an hour of the subject's events."""
        wide = [kind for kind in kinds if kind in self._of_nodes]
        if not wide:
            return
        begins = min(event.time for event in mine) - HORIZON
        ends = max(event.ends for event in mine) + HORIZON
        for kind in wide:
            for key, series in self._of_nodes[kind].items():
                if not node or key in {node, ""}:
                    yield from series.between(begins, ends)


def parts(rule: Rule, events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    """Yield the events grouped by the values that must be the same; an event without such a value is in every group."""
    if not rule.same:
        yield events
        return
    if len(rule.same) == 1:
        values = [event.value(rule.same[0]) for event in events]
        for want in dict.fromkeys(filter(None, values)) or ("",):
            yield [event for event, value in zip(events, values, strict=True) if not value or value == want]
        return
    rows = [tuple(event.value(name) for name in rule.same) for event in events]
    distinct = dict.fromkeys(rows)
    for combination in [one for one in distinct if all(one)] or list(distinct):
        fits = (all(value in {"", want} for value, want in zip(one, combination, strict=True)) for one in rows)
        yield [event for event, fit in zip(events, fits, strict=True) if fit]


def episodes(events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    """Yield the events split at long pauses: without a name, later events may be of another subject."""
    start, reached = 0, 0
    for at, event in enumerate(events):
        if at and event.time - reached > EPISODE:
            yield events[start:at]
            start = at
        reached = max(reached, event.ends)
    yield events[start:]


def nodes_of(events: Iterable[Event]) -> list[str]:
    """Return the nodes in the events of a subject; [""] if no event has one."""
    return sorted({event.node for event in events if event.node}) or [""]
