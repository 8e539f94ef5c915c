"""Divide the tries of a fault into stretches, each ended by a success.

A volume that failed twice at 08:00, was mounted, and failed again at 09:06 failed for two short times and not for 66
minutes. The events under `healed.by` of the rule end a stretch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from kvdiag.base.identity_cache import cached_by_identity
from kvdiag.base.regex import lazy_regex
from kvdiag.model.event import Event, event_order
from kvdiag.model.rule import All, AnyOf, Chain, Condition, Rule
from kvdiag.rules.absence import pieces
from kvdiag.rules.chain_steps import count_occurrences
from kvdiag.rules.grammar import positive_names
from kvdiag.rules.selection import Selected

OBJECTS = (
    ("unique_name", "volume_handle", "outer_name", "spec_name"),
    ("image",),
    ("container_name",),
    ("pod_uid", "pod"),
    ("driver",),
    ("server",),
)
"""Names of an event's object, the most specific first: a success of another object does not end the fault."""

BEFORE_MOUNT = frozenset({"volume.attach", "volume.verify", "volume.wait", "attacher", "csi.controllerpublish"})
MOUNT = frozenset({"volume.stage", "volume.publish", "volume.map", "csi.nodestage", "csi.nodepublish"})
"""Operations before and during a mount: before each try kubelet checks the attachment, so that success ends nothing."""
MOST_SITES = 1024  # lines in the cache: the rules that hold on a subject ask for the same few
_CALLER = lazy_regex(rb"\b([\w.-]+\.go:\d+)\]")
_REASON = lazy_regex(rb"reason(?<=\breason)[=:] ?[\"']?(\w+)")
_WORDS = lazy_regex(rb'\bmsg="?([A-Za-z ]+)')


class Stretch(NamedTuple):
    """Tries of one fault in order of time with no success between them; `over` is the event that ended it."""

    tries: tuple[Event, ...]
    over: Event | None = None


def stretches(rule: Rule, selected: Selected) -> list[Stretch]:
    """Return the tries of the rule's fault among its events, divided by the events that ended them."""
    found: list[Stretch] = []
    tries: list[Event] = []
    successes = selected.of_names(end_names(rule))
    for event in _cut(selected.of_names(try_names(rule)), successes):
        ended_by = _end_event(tries, successes, event.time, rule) if tries else None
        if ended_by is not None:
            found.append(Stretch((*tries,), ended_by))
            tries = []
        tries.append(event)
    if tries:
        found.append(Stretch((*tries,), _end_event(tries, successes, None, rule)))
    return found


def _cut(tries: Iterable[Event], successes: Sequence[Event]) -> list[Event]:
    """Return the tries in order of time; a folded poll with a success in between is two tries."""
    times = [event.time for event in successes]
    cut = (pieces(event, successes, times) if event.count > 1 else (event,) for event in tries)
    return sorted((piece for one in cut for piece in one), key=event_order)


def is_spoiled(tries: Sequence[Event], successes: Sequence[Event]) -> bool:
    """Return whether a success between the first and the last try shows that they belong to two stretches."""
    if len(tries) < 2 or not successes:  # one try cannot be divided
        return False
    first, last = tries[0], tries[-1]
    return any(ends_fault(event, first) for event in _between(successes, first.ends, last.time))


def ends_fault(success: Event, failure: Event) -> bool:
    """Return whether the success is of the same object, and not of a step before the failed operation."""
    if operation(success) in BEFORE_MOUNT and operation(failure) in MOUNT:
        return False
    for names in OBJECTS:
        shared = [(a, b) for name in names if (a := success.value(name)) and (b := failure.value(name))]
        if shared:
            return any(a == b for a, b in shared)
    return True


@cached_by_identity
def try_names(rule: Rule) -> tuple[str, ...]:
    """Return the names that stand for one try: what the rule counts, else the last name of each alternative.

    A name with no other kinds than the counted one stands for a try as well.
    """
    if not rule.counts:
        return tuple(dict.fromkeys((*_last_names(rule.when), *list(positive_names(rule.when))[-1:])))
    kinds = set(rule.events[rule.counts].kinds)
    alike = (name for name in positive_names(rule.when) if kinds.issuperset(rule.events[name].kinds))
    return tuple(dict.fromkeys((rule.counts, *alike)))


@cached_by_identity
def end_names(rule: Rule) -> tuple[str, ...]:
    """Return the rule's names for events that end the fault."""
    positive = set(positive_names(rule.when))
    return tuple(name for name in (rule.healed.by if rule.healed else ()) if name not in positive)


CONDITIONS = frozenset(("node.status.unknown",))  # a state, which a table shows in a row for each condition


def count_tries(events: Collection[Event]) -> int:
    """Return how many tries these lines prove: the most lines that one place in one program printed."""
    if len(events) < 2:
        return sum(event.count for event in events)
    if all(event.kind in CONDITIONS for event in events):
        return 1
    by_place: dict[tuple[str, str, bytes], list[Event]] = {}
    for event in events:
        by_place.setdefault((event.component, event.origin.source, _log_site(event.logged, event.kind)), []).append(
            event
        )
    return max(map(count_occurrences, by_place.values()), default=0)


def _end_event(tries: Sequence[Event], successes: Sequence[Event], before: int | None, rule: Rule) -> Event | None:
    """Return the first event after the last try (and before `before`) that ends the fault."""
    last = max(tries, key=_end)
    since = last.ends + (rule.healed.after if rule.healed else 0)
    return next((event for event in _between(successes, since, before) if ends_fault(event, last)), None)


def _between(successes: Sequence[Event], since: int, before: int | None) -> Iterator[Event]:
    """Yield those after `since` and before `before`; they are in order of time, and a long log has very many."""
    for event in islice(successes, bisect_right(successes, since, key=_begin), None):
        if before is not None and event.time >= before:
            return
        yield event


def _begin(event: Event) -> int:
    return event.time


def _end(event: Event) -> int:
    return event.ends


def operation(event: Event) -> str:
    """Return the kind of the event without its outcome: `volume.stage` of `volume.stage.failed`."""
    return event.kind.rpartition(".")[0]


@lru_cache(MOST_SITES)
def _log_site(logged: bytes, kind: str) -> bytes:
    """Return where the program printed the line: file and line for klog, the first words for logrus.

    kubelet records an event InspectFailed and an event Failed of one failed pull at the same place.
    """
    found = _CALLER.search(logged) or _WORDS.search(logged)
    reason = _REASON.search(logged)
    return (found[1].strip() if found else kind.encode()) + (reason[1] if reason else b"")


def _last_names(condition: Condition) -> Iterator[str]:
    match condition:
        case Chain(steps):
            yield steps[-1].name
        case AnyOf(terms):
            for term in terms:
                yield from _last_names(term)
        case All(terms):
            named = [term for term in terms if any(positive_names(term))]
            yield from _last_names(named[-1]) if named else ()
        case _:
            return
