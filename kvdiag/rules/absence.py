"""Absence with proof: whether an event may have gone unseen between two moments.

An event that is not there means something only if the component that prints it was listened to, all that time, at
the verbosity that prints it. Every reason why it may have been missed is a doubt, told with what would settle it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kvdiag.base.clock import SECOND
from kvdiag.model.doubt import Doubt, DoubtReason
from kvdiag.model.timeline import Coverage, History
from kvdiag.model.vocabulary import Entry

SETTLE = 30 * SECOND  # a log that ends sooner after the trigger cannot show that something never came


class Window(NamedTuple):
    """The stretch that must have been watched; `open_ended` when it runs to the end of the log."""

    begins: int
    ends: int
    open_ended: bool = False


def doubts(
    kinds: Iterable[str],
    window: Window,
    node: str,
    history: History,
    entries: Mapping[str, Entry],
    *,
    by_each: bool = False,
) -> tuple[Doubt, ...]:
    """Why none of the events could be proven absent in the window; empty when one witness saw all of it.

    With `by_each` every witness must have seen all of it: the kinds are facts of their own, and not one said twice.
    Each kind is a witness of its own: a NodeUnstage that is missing from a complete driver log is missing, whatever
    kubelet's log shows. Of two programs that print a kind, as containerd and CRI-O do, those that were heard must prove
    it.
    """
    best: tuple[Doubt, ...] | None = None
    witnesses = sorted({(e.components, e.verbosity) for k in kinds if (e := entries.get(k))})
    if by_each:
        every = (reason for one in witnesses for reason in _unproven(*one, window, node, history))
        return tuple(dict.fromkeys(every))
    for components, verbosity in witnesses:
        reasons = tuple(_unproven(components, verbosity, window, node, history))
        if not reasons:
            return ()
        if best is None or len(reasons) < len(best) or best[0].reason is DoubtReason.NO_LOG:
            best = reasons
    return best or ()


def components_present(components: tuple[str, ...], node: str, history: History) -> tuple[str, ...]:
    """Those of the components that print a kind whose log is there; the first where none is."""
    present = tuple(one for one in components if any(_covering(one, node, history)))
    return present or components[:1]


def _unproven(
    components: tuple[str, ...], verbosity: int, window: Window, node: str, history: History
) -> Iterator[Doubt]:
    for component in components_present(components, node, history):
        yield from min(
            (tuple(_reasons(coverage, verbosity, window)) for coverage in _covering(component, node, history)),
            key=len,
            default=(Doubt(DoubtReason.NO_LOG, component, window.begins),),
        )


def _covering(component: str, node: str, history: History) -> Iterator[Coverage]:
    for coverage in history.coverage:
        if coverage.component == component and (not node or not coverage.node or coverage.node == node):
            yield coverage


def _reasons(coverage: Coverage, verbosity: int, window: Window) -> Iterator[Doubt]:
    name = coverage.component
    if coverage.is_events and (coverage.verbosity < verbosity or coverage.ends - window.begins < SETTLE):
        yield Doubt(DoubtReason.NO_LOG, name, window.begins)
        return
    if coverage.verbosity < verbosity:
        yield Doubt(DoubtReason.VERBOSITY, name, verbosity=verbosity, seen=coverage.verbosity)
    if coverage.begins > window.begins:
        yield Doubt(DoubtReason.BEGINS_LATE, name, coverage.begins, window.begins)
    watched = coverage.ends - window.begins
    if window.open_ended and watched < SETTLE:
        yield Doubt(DoubtReason.ENDS_SOON, name, window.begins, took=max(0, watched))
    elif not window.open_ended and coverage.ends < window.ends:
        yield Doubt(DoubtReason.ENDS_EARLY, name, coverage.ends, window.ends)
    for gap in coverage.gaps:
        if gap.begins < window.ends and gap.ends > window.begins:
            yield Doubt(DoubtReason.GAP, gap.component, gap.begins, text=gap.why)
