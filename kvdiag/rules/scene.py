"""Which events a rule looks at: those of its subject, and those of the node that were near it in time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

from kvdiag.clock import HOUR
from kvdiag.correlate.entities import node_entity
from kvdiag.model.event import Event
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import History, Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.distribution import Dialect, dialect_of
from kvdiag.rules.grammar import positive_names

HORIZON = HOUR  # events of the node are looked at this long before and after a subject was heard of

Key = tuple[SubjectKind, str]


class EventIndex:
    """A history arranged for rules: which subjects have events of a kind, and when each node had them."""

    def __init__(self, history: History, entries: Mapping[str, Entry]) -> None:
        """`entries` are the vocabulary's, by kind."""
        self.history, self.entries = history, entries
        self.dialect: Callable[[str], Dialect] = cache(partial(dialect_of, history))
        self._heard: dict[str, set[Key]] = defaultdict(set)
        self._nobodys: dict[SubjectKind, list[Event]] = {}
        self._of_node: dict[str, dict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))
        for key, timeline in history.timelines.items():
            for kind in {event.kind for event in timeline.events}:
                self._heard[kind].add(key)
            if key[0] is SubjectKind.NODE:
                for event in timeline.events:
                    self._of_node[event.kind][key[1]].append(event)

    def candidates(self, rule: Rule) -> Iterator[Timeline]:
        """The subjects of the rule's kind that have at least one event the rule asks for, in order of their keys."""
        kinds = {kind for name in positive_names(rule.when) for kind in rule.events[name].kinds}
        heard = {key for kind in kinds for key in self._heard.get(kind, ())}
        for key in sorted(key for key in heard if key[0] is rule.per):
            yield self.history.timelines[key]
        if rule.is_else_node:
            yield from self._nodes_instead(rule.per, kinds)

    def events(self, rule: Rule, timeline: Timeline, node: str) -> list[Event]:
        """The subject's events of the rule's kinds on this node, with the node's own events near them, in order.

        A rule about a node looks at all that happened on it: a pod that starts shows that the runtime is back.
        """
        kinds = {kind for selector in rule.events.values() for kind in selector.kinds}
        if rule.is_else_node:
            return [e for e in timeline.events if e.kind in kinds and (not node or not e.node or e.node == node)]
        if rule.per is SubjectKind.NODE:
            return [e for e in self.history.events if e.kind in kinds and e.node in {timeline.subject.key, ""}]
        mine = [e for e in timeline.events if e.kind in kinds and (not node or not e.node or e.node == node)]
        wide = [kind for kind in kinds if kind in self.entries and self.entries[kind].scope == "node"]
        if not wide or not mine:
            return mine
        unique = {id(event): event for event in mine}
        for kind in wide:
            for key, series in self._of_node[kind].items():
                if not node or key in {node, ""}:
                    near = _between(series, mine[0].time - HORIZON, max(e.ends for e in mine) + HORIZON)
                    unique.update((id(event), event) for event in near)
        return sorted(unique.values(), key=lambda event: (event.time, event.origin))

    def _nodes_instead(self, per: SubjectKind, kinds: set[str]) -> Iterator[Timeline]:
        """What names no subject of a kind, as a timeline of each node."""
        if per not in self._nobodys:
            lines = (timeline for key, timeline in self.history.timelines.items() if key[0] is per)
            owned = {id(event) for timeline in lines for event in timeline.events}
            self._nobodys[per] = [event for event in self.history.events if id(event) not in owned]
        by_node: dict[str, list[Event]] = defaultdict(list)
        for event in self._nobodys[per]:
            by_node[event.node].append(event)
        for node, events in sorted(by_node.items()):
            if any(event.kind in kinds for event in events):
                yield Timeline(node_entity(node), tuple(events), frozenset())


def parts(rule: Rule, events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    """The events divided by what a rule wants to be the same in all; an event that does not say it is in every part."""
    if not rule.same:
        yield events
        return
    said = [tuple(event.value(name) for name in rule.same) for event in events]
    distinct = dict.fromkeys(said)
    for wanted in [one for one in distinct if all(one)] or list(distinct):
        fits = (all(value in {"", want} for value, want in zip(one, wanted, strict=True)) for one in said)
        yield [event for event, fit in zip(events, fits, strict=True) if fit]


def nodes_of(timeline: Timeline) -> list[str]:
    """The nodes that spoke of the subject; one unnamed node when none said its name."""
    return sorted({event.node for event in timeline.events if event.node}) or [""]


def _between(events: Sequence[Event], begins: int, ends: int) -> Iterator[Event]:
    """What happened in between; a poll that is folded into one event may have begun long before."""
    first = bisect_left(events, begins, key=lambda event: event.time)
    yield from (event for event in events[:first] if event.ends >= begins)
    yield from events[first : bisect_right(events, ends, key=lambda event: event.time)]
