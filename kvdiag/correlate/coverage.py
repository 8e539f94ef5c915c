"""What was listened to: from when to when, how closely, and where something may have gone unheard."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kvdiag.clock import MINUTE, say_duration
from kvdiag.model.timeline import Coverage, Gap

HOLE = 10 * MINUTE  # between two sources of one component; rotated files touch closer than this
SUPPRESSED = 30_000_000  # microseconds: journald's rate limit counts in windows of 30 s


@dataclass(slots=True)
class Heard:
    """What one component of one node said in one source, gathered while events are made."""

    begins: int
    ends: int
    verbosity: int = 0
    pids: list[tuple[int, int, int]] = field(default_factory=list)  # pid, first and last time it spoke

    def add(self, time: int, verbosity: int, pid: int | None) -> None:
        """One event of the component."""
        self.verbosity = max(self.verbosity, verbosity)
        self.begins, self.ends = min(self.begins, time), max(self.ends, time)
        if pid is None:
            return
        if self.pids and self.pids[-1][0] == pid:
            self.pids[-1] = (pid, self.pids[-1][1], max(time, self.pids[-1][2]))
        else:
            self.pids.append((pid, time, time))


def coverages(
    heard: Mapping[tuple[str, str], Sequence[Heard]], suppressed: Iterable[tuple[str, int, str]]
) -> Iterator[Coverage]:
    """One `Coverage` a component and node; `heard` by (component, node), `suppressed` as (node, time, words)."""
    quiet: dict[str, list[Gap]] = defaultdict(list)
    for node, time, words in suppressed:
        quiet[node].append(Gap(time - SUPPRESSED, time, words))
    for (component, node), parts in sorted(heard.items()):
        ordered = sorted(parts, key=lambda part: part.begins)
        gaps = [*_holes(component, ordered), *_restarts(component, ordered), *quiet.get(node, ())]
        yield Coverage(
            component=component,
            node=node,
            begins=ordered[0].begins,
            ends=max(part.ends for part in ordered),
            verbosity=max(part.verbosity for part in ordered),
            gaps=tuple(sorted(gaps, key=lambda gap: gap.begins)),
        )


def _holes(component: str, ordered: Sequence[Heard]) -> Iterator[Gap]:
    reached = ordered[0].ends
    for part in ordered[1:]:
        if part.begins - reached > HOLE:
            yield Gap(reached, part.begins, f"no {component} log for {say_duration(part.begins - reached)}")
        reached = max(reached, part.ends)


def _restarts(component: str, ordered: Sequence[Heard]) -> Iterator[Gap]:
    """Another pid speaks from now on. Two pids that take turns are two processes and not a restart."""
    runs = sorted((begins, ends, pid) for part in ordered for pid, begins, ends in part.pids)
    spoke: dict[int, int] = {}
    for begins, ends, pid in runs:
        before = [(last, other) for other, last in spoke.items() if other != pid]
        if before and pid not in spoke and max(before)[0] <= begins:
            yield Gap(max(before)[0], begins, f"{component} was restarted")
        spoke[pid] = max(ends, spoke.get(pid, ends))
