"""Run a fleet analysis: skip bundles with valid results, run an engine on the rest, then join each cluster."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from kvdiag.base.errors import UsageError
from kvdiag.fleet.compact import Merge, plan, sweep
from kvdiag.fleet.judge import judge_version
from kvdiag.fleet.places import Place, place
from kvdiag.fleet.progress import FleetProgress
from kvdiag.fleet.results import Result, put_results, stored
from kvdiag.fleet.rows import failed_row
from kvdiag.fleet.values import DIGEST, JOINED, Bundle, Job, Limits, Outcome, short_digest

FEWEST = 2  # fewest bundles that can share a volume
BATCH = 1_000  # bundles analyzed between two merges, so that few files are read one by one
OBJECTS = 8  # of a merged day that a report reads at most: fewer results are not merged by a part of a job
FEW = 100  # new results that a report may read one by one: a merge takes longer than that
Engine = Callable[[Iterable[Job]], Iterator[Outcome]]


class Shard(NamedTuple):
    """Part `number` of `count` of all bundles; the part of a bundle depends only on the bundle."""

    number: int = 0
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, which nobody needs here

    def has(self, bundle: Bundle) -> bool:
        """Return whether the bundle is in this part."""
        return int(bundle.id, 16) % self.count == self.number


def read_shard(text: str, completion_index: str) -> Shard:
    """Parse `2/16`, or `/16` with the index of an Indexed Job. Raise UsageError for another form."""
    if not text:
        return Shard()
    number, slash, count = text.partition("/")
    number = number or completion_index
    if not (slash and number.isdecimal() and count.isdecimal()) or not int(number) < int(count):
        raise UsageError(f"--shard {text}: write I/N with I from 0 to N-1, or /N inside an Indexed Job")
    return Shard(int(number), int(count))


def run_fleet(
    bundles: Sequence[Bundle],
    dest: str,
    limits: Limits,
    engine: Engine,
    begin: Callable[..., FleetProgress],
    *,
    is_part: bool = False,
) -> FleetProgress:
    """Analyze new and changed bundles, and again those that failed or could be read in part only; store the results.

    A part of a job merges its own results: others may still write theirs, and nobody may merge them all afterwards.
    """
    bundles, twice = _unique(bundles)
    target, judge = place(dest), judge_version()
    found = stored(target)
    last, contents = found.last(), {bundle.id: bundle.key(judge) for bundle in bundles}
    pending = [
        bundle
        for bundle in bundles
        if (old := last.get(bundle.id)) is None or old.state != "done" or not old.key.startswith(contents[bundle.id])
    ]
    progress = begin(total=len(pending), size=sum(b.size for b in pending), skipped=len(bundles) - len(pending))
    for bundle in twice:
        progress.add_twice(bundle)
    largest_first = sorted(pending, key=lambda bundle: -bundle.size)
    for start in range(0, len(largest_first), BATCH):
        some = largest_first[start : start + BATCH]
        jobs = [Job(one, contents[one.id] + stamp(last.get(one.id)), dest, limits, judge) for one in some]
        for outcome in engine(jobs):
            progress.add(outcome)
            if outcome.reason:
                put_failed(target, outcome)
        if is_part or start + BATCH < len(largest_first):
            _merge_own(target, dest, limits, engine, {job.key for job in jobs}, judge)
    return progress


def _merge_own(target: Place, dest: str, limits: Limits, engine: Engine, keys: Collection[str], judge: str) -> None:
    """Merge results with these keys; if that fails, they are merged later."""
    merges = [one for one in plan(target, stored(target), keys) if len(one.names) > OBJECTS]
    list(engine(_merge_jobs(merges, dest, limits, judge)))


def _merge_jobs(merges: Iterable[Merge], dest: str, limits: Limits, judge: str) -> Iterator[Job]:
    for one in merges:
        yield Job(Bundle("", one.day, "", ()), short_digest(one.names), dest, limits, judge, "merge", one.names)


def merge_days(dest: str, limits: Limits, engine: Engine, *, fewest: int = FEW) -> Iterator[Outcome]:
    """Merge the results of each day, if more than `fewest` are not merged yet; delete those that later ones replace."""
    target = place(dest)
    found = stored(target)
    sweep(target, found)
    if sum(1 for one in found.results if one.path) > fewest or not fewest:
        yield from engine(_merge_jobs(plan(target, found), dest, limits, judge_version()))


def join_clusters(dest: str, limits: Limits, engine: Engine) -> Iterator[Outcome]:
    """Evaluate shared volumes again for each cluster with new results of a node."""
    target, judge = place(dest), judge_version()
    clusters: dict[str, list[Result]] = defaultdict(list)
    for one in stored(target).results:
        if one.state != "failed":
            clusters[one.cluster].append(one)
    jobs = []
    for cluster, found in sorted(clusters.items()):
        keys = sorted(one.key for one in found if one.bundle != JOINED)
        content = short_digest((judge, *keys))
        old = next((one for one in found if one.bundle == JOINED), None)
        if len(keys) >= FEWEST and not (old and old.key.startswith(content)):
            jobs.append(Job(Bundle(cluster, "", "", ()), content + stamp(old), dest, limits, judge, "join"))
    for outcome in engine(jobs):
        if outcome.reason:
            put_failed(target, outcome)
        yield outcome


def stamp(last: Result | None) -> str:
    """Return the time of a try, for its key: later than that of the last result, whatever the clock says."""
    before = int(last.key[DIGEST:], 16) if last else 0
    return f"{max(time.time_ns() // 1_000_000, before + 1):012x}"


def put_failed(dest: Place, outcome: Outcome) -> None:
    """Write the row of a failed bundle, or of a cluster that could not be joined."""
    put_results(dest, outcome, {"failed": [failed_row(outcome, time.time_ns() // 1000)]})


def _unique(bundles: Sequence[Bundle]) -> tuple[Sequence[Bundle], Sequence[Bundle]]:
    """Return each bundle once, and those that were given again."""
    seen: dict[str, Bundle] = {}
    twice = [bundle for bundle in bundles if seen.setdefault(bundle.id, bundle) is not bundle]
    return list(seen.values()), twice
