"""What logs cover: when each component logged, how verbosely, and which versions it had."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from itertools import pairwise

from kvdiag.base.clock import MINUTE, SECOND, format_duration
from kvdiag.base.versions import intersection, read_range, write_range
from kvdiag.events.snapshots.fact import DRIVER_SUFFIX, VERSION
from kvdiag.formats.authors import DRIVER
from kvdiag.model.event import Event
from kvdiag.model.timeline import Coverage, Gap, SeenVersion

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


BANNERS = ("kubelet.started", "runtime.started")  # of the component that prints them


def printed(events: Sequence[Event]) -> Iterator[SeenVersion]:
    """Yield each version that a component of a node printed, with its time; drivers have their own name.

    A version in a file is used if the component did not print one.
    """
    found: dict[tuple[str, str], list[SeenVersion]] = {}
    from_files: dict[tuple[str, str], SeenVersion] = {}
    drivers: dict[str, str] = {}
    known = {driver for event in events if (driver := event.ref("driver"))}
    for event in events:
        source = event.origin.source
        if source not in drivers and (driver := event.ref("driver")):
            drivers[source] = driver
        version = event.attrs.get("version", "").removeprefix("v")
        if not version:
            continue
        component = _component(event, drivers)
        if event.kind == VERSION:
            component = _driver_named(component, known)
            from_files[(component, event.node)] = SeenVersion(component, version, "file", event.node, event.origin)
        elif component:
            seen = found.setdefault((component, event.node), [])
            if not seen or seen[-1].version != version:
                seen.append(SeenVersion(component, version, "banner", event.node, event.origin, time=event.time))
    for seen in found.values():
        yield from seen
    yield from (seen for key, seen in from_files.items() if key not in found)


def _component(event: Event, drivers: Mapping[str, str]) -> str:
    match event.kind:
        case "version.found":
            return event.attrs.get("component", "")
        case "kubelet.runtime":
            return event.attrs.get("runtime", "containerd")
        case "csi.getplugininfo.succeeded":
            return event.ref("driver")
        case "csi.driver.banner":
            return drivers.get(event.origin.source, "") if event.component == DRIVER else event.component
        case kind:
            return event.component if kind in BANNERS else ""


def _driver_named(component: str, known: AbstractSet[str]) -> str:
    """Return the driver for a text such as `Hostpath CSI driver`; the text itself if none or several match."""
    called = component.removesuffix(DRIVER_SUFFIX).lower()
    fit = [driver for driver in known if called in driver.split(".")] if component.endswith(DRIVER_SUFFIX) else []
    return fit[0] if len(fit) == 1 else component


def inferred(spans: Mapping[str, Iterable[str]]) -> Iterator[SeenVersion]:
    """Yield for each component the intersection of the ranges of its wordings, if it is not empty."""
    for component, ranges in sorted(spans.items()):
        common = reduce(intersection, (read_range(text) for text in sorted(set(ranges))))
        if common:
            yield SeenVersion(component, "", "wording", span=write_range(common))
