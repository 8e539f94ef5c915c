"""The coverage of logs: time range, verbosity, and gaps in which lines may be missing."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from kvdiag.base.clock import MINUTE, SECOND, format_duration
from kvdiag.model.timeline import Coverage, Gap

HOLE = 10 * MINUTE  # between two sources of one component; rotated files touch closer than this
STARTING = 5 * SECOND  # within which a starting process logs its start
SUPPRESSED = 30_000_000  # microseconds: journald's rate limit counts in windows of 30 s


class SourceCoverage:
    """The coverage of one component of one node in one source, collected while events are built."""

    def __init__(self, begins: int, ends: int, verbosity: int = 0, gaps: Sequence[Gap] = ()) -> None:
        self.begins, self.ends, self.verbosity, self.gaps = begins, ends, verbosity, gaps
        self.is_events = True  # rows of kubectl alone, until a line of a log is added
        self.pids: dict[int, tuple[int, int]] = {}  # time of the first and last line of each process

    def add(self, begins: int, ends: int, verbosity: int, pid: int | None) -> None:
        """Add events of one kind that one process of the component logged from `begins` to `ends`."""
        self.verbosity = max(self.verbosity, verbosity)
        self.begins, self.ends = min(self.begins, begins), max(self.ends, ends)
        if pid is not None:
            first, last = self.pids.get(pid, (begins, ends))
            self.pids[pid] = (min(first, begins), max(last, ends))


def coverages(
    parts_by_component: Mapping[tuple[str, str], Sequence[SourceCoverage]],
    suppressed: Iterable[tuple[str, int, str]],
    started: Mapping[tuple[str, str], Sequence[tuple[int, int]]] | None = None,
) -> Iterator[Coverage]:
    """Yield one `Coverage` per component and node; keys are (component, node), `suppressed` is (node, time, text).

    `started` has the starts that a component logged, each with its last line before: in a container each process may
    have the same PID.
    """
    quiet: dict[str, list[Gap]] = defaultdict(list)
    for node, time, words in suppressed:
        quiet[node].append(Gap(time - SUPPRESSED, time, words))
    for (component, node), parts in sorted(parts_by_component.items()):
        ordered = sorted(parts, key=lambda part: part.begins)
        restarts = list(_restarts(component, ordered))
        restarts += _starts(component, (started or {}).get((component, node), ()), restarts)
        gaps = [*_holes(component, ordered), *restarts, *quiet.get(node, ())]
        gaps += [gap for part in ordered for gap in part.gaps]
        yield Coverage(
            component=component,
            node=node,
            begins=ordered[0].begins,
            ends=max(part.ends for part in ordered),
            verbosity=max(part.verbosity for part in ordered),
            gaps=tuple(sorted(gaps, key=lambda gap: gap.begins)),
            is_events=all(part.is_events for part in parts),
        )


def _holes(component: str, ordered: Sequence[SourceCoverage]) -> Iterator[Gap]:
    reached = ordered[0].ends
    for part in ordered[1:]:
        if part.begins - reached > HOLE:
            yield Gap(
                reached, part.begins, f"no {component} log for {format_duration(part.begins - reached)}", component
            )
        reached = max(reached, part.ends)


def _restarts(component: str, ordered: Sequence[SourceCoverage]) -> Iterator[Gap]:
    """Yield a gap if one process ended before another began. Two that overlap are not a restart."""
    lifetimes: dict[int, tuple[int, int]] = {}
    for part in ordered:
        for pid, (begins, ends) in part.pids.items():
            first, last = lifetimes.get(pid, (begins, ends))
            lifetimes[pid] = (min(first, begins), max(last, ends))
    runs = sorted(lifetimes.values())
    for (_, ended), (begins, _) in pairwise(runs):
        if ended <= begins:
            yield Gap(ended, begins, f"{component} was restarted", component)


def _starts(component: str, started: Iterable[tuple[int, int]], known: Sequence[Gap]) -> Iterator[Gap]:
    """Yield the starts that a component logged without a change of its PID; `known` are its restarts in order."""
    for ended, begins in started:
        at = bisect_left(known, begins - STARTING, key=lambda gap: gap.ends)
        if at == len(known) or known[at].begins > begins:
            yield Gap(ended, begins, f"{component} was restarted", component)
