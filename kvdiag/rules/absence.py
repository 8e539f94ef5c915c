"""Absence with proof: whether an event may have gone unseen between two moments.

An event that is not there means something only if the component that prints it was listened to, all that time, at
the verbosity that prints it. Every reason why it may have been missed is a doubt, told with what would settle it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kvdiag.clock import SECOND, say_duration, to_datetime
from kvdiag.model.timeline import Coverage, History
from kvdiag.model.vocabulary import Entry

SETTLE = 30 * SECOND  # a log that ends sooner after the trigger cannot show that something never came


class Window(NamedTuple):
    """The stretch that must have been watched; `open_ended` when it runs to the end of the log."""

    begins: int
    ends: int
    open_ended: bool = False


def doubts(
    kinds: Iterable[str], window: Window, node: str, history: History, entries: Mapping[str, Entry]
) -> tuple[str, ...]:
    """Why none of the events could be proven absent in the window; empty when one witness saw all of it.

    Each kind is a witness of its own: a NodeUnstage that is missing from a complete driver log is missing, whatever
    kubelet's log shows. Of two programs that print a kind, as containerd and CRI-O do, those that were heard must prove
    it.
    """
    best: tuple[str, ...] | None = None
    for components, verbosity in sorted({(e.components, e.verbosity) for k in kinds if (e := entries.get(k))}):
        reasons = tuple(_unproven(components, verbosity, window, node, history))
        if not reasons:
            return ()
        if best is None or len(reasons) < len(best) or best[0].startswith("no "):
            best = reasons
    return best or ()


def components_present(components: tuple[str, ...], node: str, history: History) -> tuple[str, ...]:
    """Those of the components that print a kind whose log is there; the first where none is."""
    present = tuple(one for one in components if any(_covering(one, node, history)))
    return present or components[:1]


def _unproven(
    components: tuple[str, ...], verbosity: int, window: Window, node: str, history: History
) -> Iterator[str]:
    for component in components_present(components, node, history):
        yield from min(
            (tuple(_reasons(coverage, verbosity, window)) for coverage in _covering(component, node, history)),
            key=len,
            default=(f"no {component} log covers {_when(window.begins)}",),
        )


def _covering(component: str, node: str, history: History) -> Iterator[Coverage]:
    for coverage in history.coverage:
        if coverage.component == component and (not node or not coverage.node or coverage.node == node):
            yield coverage


def _reasons(coverage: Coverage, verbosity: int, window: Window) -> Iterator[str]:
    name = coverage.component
    if coverage.verbosity < verbosity:
        yield f"needs -v={verbosity}: the {name} log was written at -v={coverage.verbosity} or lower"
    if coverage.begins > window.begins:
        yield f"the {name} log begins at {_when(coverage.begins)}, after {_when(window.begins)}"
    watched = coverage.ends - window.begins
    if window.open_ended and watched < SETTLE:
        yield f"the {name} log ends {say_duration(max(0, watched))} after {_when(window.begins)}"
    elif not window.open_ended and coverage.ends < window.ends:
        yield f"the {name} log ends at {_when(coverage.ends)}, before {_when(window.ends)}"
    for gap in coverage.gaps:
        if gap.begins < window.ends and gap.ends > window.begins:
            yield f"{gap.why} at {_when(gap.begins)}"


def _when(stamp: int) -> str:
    return to_datetime(stamp).strftime("%Y-%m-%d %H:%M:%S")
