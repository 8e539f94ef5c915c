"""Prove the absence of events: find the reasons why an event may have been missed in a time window.

A missing event proves something only if its component was logging during the whole window, at the verbosity that prints
the event. Every reason to think otherwise is a doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kvdiag.base.clock import SECOND
from kvdiag.model.doubt import Doubt, DoubtReason
from kvdiag.model.timeline import Coverage, History
from kvdiag.model.vocabulary import Entry

SETTLE = 30 * SECOND  # a log that ends sooner after the trigger cannot prove an absence


class Window(NamedTuple):
    """The time window that the logs must cover; `open_ended` if it extends to the end of the log."""

    begins: int
    ends: int
    open_ended: bool = False


def doubts(
    kinds: Iterable[str],
    window: Window,
    node: str,
    history: History,
    entries: Mapping[str, Entry],
) -> tuple[Doubt, ...]:
    """Return the reasons why the absence of the events is not proven; empty if one component's log proves it.

    One complete log is enough: a NodeUnstage that is missing from a complete driver log did not happen,
    whatever kubelet logs. If two programs can print a kind, such as containerd and CRI-O, only those with a log count.
    """
    best: tuple[Doubt, ...] | None = None
    witnesses = sorted({(e.components, e.verbosity) for k in kinds if (e := entries.get(k))})
    for components, verbosity in witnesses:
        reasons = tuple(_unproven(components, verbosity, window, node, history))
        if not reasons:
            return ()
        if best is None or len(reasons) < len(best) or best[0].reason is DoubtReason.NO_LOG:
            best = reasons
    return best or ()


def components_present(components: tuple[str, ...], node: str, history: History) -> tuple[str, ...]:
    """Return the components that have a log; the first component if none has."""
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
