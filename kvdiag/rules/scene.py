"""Which events a rule looks at: those of its subject, and those of the node that were near it in time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property, partial

from kvdiag.clock import HOUR
from kvdiag.correlate.entities import node_entity
from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import History, Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.distribution import Dialect, dialect_of
from kvdiag.rules.grammar import positive_names
from kvdiag.rules.judge import selects

HORIZON = HOUR  # events of the node are looked at this long before and after a subject was heard of

Key = tuple[SubjectKind, str]


class EventIndex:
    """A history arranged for rules: which subjects have events of a kind, and when each node had them."""

    def __init__(self, history: History, entries: Mapping[str, Entry]) -> None:
        """`entries` are the vocabulary's, by kind."""
        self.history, self.entries = history, entries
        self.dialect: Callable[[str], Dialect] = cache(partial(dialect_of, history))
        self._heard: dict[str, set[Key]] = defaultdict(set)
        self._of_node: dict[str, dict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))
        for key, timeline in history.timelines.items():
            for kind in {event.kind for event in timeline.events}:
                self._heard[kind].add(key)
            if key[0] is SubjectKind.NODE:
                for event in timeline.events:
                    self._of_node[event.kind][key[1]].append(event)

    def candidates(self, rule: Rule) -> Iterator[Timeline]:
        """The subjects of the rule's kind that have at least one event the rule asks for, in order of their keys.

        A rule about a node looks at all that happened on it: a pod that starts shows that the runtime is back.
        """
        if rule.per is SubjectKind.NODE:
            yield from self._nodes(rule)
            return
        keys = {key for kind in _asked(rule) for key in self._heard.get(kind, ()) if key[0] is rule.per}
        for key in sorted(keys):
            yield self.history.timelines[key]

    def unclaimed(self, rule: Rule) -> Iterator[Timeline]:
        """The nodes where the rule's events name no subject of its kind, each with those events."""
        keys = {key for kind in _asked(rule) for key in self._heard.get(kind, ()) if key[0] is rule.per}
        asked = [rule.events[name] for name in positive_names(rule.when)]
        named = {id(e): e for key in keys for e in self.history.timelines[key].events}
        claimed = [event for event in named.values() if any(selects(selector, event) for selector in asked)]
        nodes, lines = {event.node for event in claimed}, {event.origin for event in claimed}
        if "" not in nodes:
            yield from (one for one in self._nodes(rule, but=lines) if one.subject.key not in nodes)

    def _nodes(self, rule: Rule, but: AbstractSet[Origin] = frozenset()) -> Iterator[Timeline]:
        """The nodes on which something happened that the rule asks for, each with its events of the rule's kinds.

        A line that also names a subject tells nothing of the node, as the sentence within an error.
        """
        kinds = {kind for selector in rule.events.values() for kind in selector.kinds}
        heard = (event for kind in kinds for event in self._by_kind.get(kind, ()))
        events = sorted((event for event in heard if event.origin not in but), key=_place)
        asked = _asked(rule)
        for node in sorted({event.node for event in events if event.kind in asked}):
            yield Timeline(node_entity(node), tuple(event for event in events if event.node in {node, ""}))

    @cached_property
    def _by_kind(self) -> Mapping[str, Sequence[Event]]:
        """Every event by its kind; those that name no subject are in no other index."""
        by_kind: dict[str, list[Event]] = defaultdict(list)
        for event in self.history.events:
            by_kind[event.kind].append(event)
        return by_kind

    def events(self, rule: Rule, timeline: Timeline, node: str) -> list[Event]:
        """The subject's events of the rule's kinds on this node, with the node's own events near them, in order."""
        if timeline.subject.kind is SubjectKind.NODE:
            return list(timeline.events)
        kinds = {kind for selector in rule.events.values() for kind in selector.kinds}
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


def _asked(rule: Rule) -> set[str]:
    return {kind for name in positive_names(rule.when) for kind in rule.events[name].kinds}


def _place(event: Event) -> tuple[int, Origin]:
    return (event.time, event.origin)


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
