"""Run a fleet analysis: skip bundles with valid results, run an engine on the rest, then join each cluster."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kvdiag import __version__
from kvdiag.base.errors import UsageError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.fleet.places import Place, place
from kvdiag.fleet.progress import FleetProgress
from kvdiag.fleet.results import DoneMarker, Failures, by_bundle, done_markers
from kvdiag.fleet.schema import SCHEMA
from kvdiag.fleet.values import JOINED, Bundle, Job, Limits, Outcome, short_digest

FEWEST = 2  # fewest bundles that can share a volume
TRIES = 256  # numbers of tries at one content
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


def judge_version() -> str:
    """Return a digest of kvdiag's version, its patterns and the schema: with another digest, results are outdated."""
    total = hashlib.sha256(f"{__version__} {SCHEMA}".encode())
    root = builtin_patterns()
    for path in sorted(root.rglob("*.yaml")):
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def run_fleet(
    bundles: Sequence[Bundle], dest: str, limits: Limits, engine: Engine, begin: Callable[..., FleetProgress]
) -> FleetProgress:
    """Analyze new and changed bundles, and again those that could be read in part only; store the results."""
    bundles, twice = _unique(bundles)
    target, who = place(dest), judge_version()
    known, failures = by_bundle(done_markers(target)), Failures(target)
    keys: dict[str, str] = {}
    for bundle in bundles:
        content = bundle.key(who)
        current = [one for one in known.get(bundle.id, ()) if one.key.startswith(content)]
        _forget_old(target, known.get(bundle.id, ()), current)
        if not current:
            keys[bundle.id] = content
        elif failures.has(bundle):
            keys[bundle.id] = next_key(content, current[-1].key)
    pending = [bundle for bundle in bundles if bundle.id in keys]
    progress = begin(total=len(pending), size=sum(b.size for b in pending), skipped=len(bundles) - len(pending))
    for bundle in twice:
        progress.add_twice(bundle)
    largest_first = sorted(pending, key=lambda bundle: -bundle.size)
    for outcome in engine(Job(b, keys[b.id], dest, limits) for b in largest_first):
        progress.add(outcome)
        if not outcome.reason:
            for one in known.get(outcome.bundle, ()):
                if one.key != outcome.key:
                    target.remove(one.path)
        failures.forget(outcome)
    return progress


def join_clusters(dest: str, limits: Limits, engine: Engine) -> Iterator[Outcome]:
    """Evaluate shared volumes again for each cluster with new results of a node."""
    target, who = place(dest), judge_version()
    markers, failures = by_cluster(done_markers(target)), Failures(target)
    jobs = []
    for cluster, found in sorted(markers.items()):
        old = [one for one in found if one.bundle == JOINED]
        keys = tuple(sorted(one.key for one in found if one.bundle != JOINED))
        key = short_digest((who, *keys))
        if len(keys) < FEWEST:
            for one in old:
                target.remove(one.path)
        elif all(one.key != key for one in old):
            jobs.append(Job(Bundle(cluster, "", "", ()), key, dest, limits, keys))
    for outcome in engine(jobs):
        if not outcome.reason:
            for one in markers[outcome.cluster]:
                if one.bundle == JOINED:
                    target.remove(one.path)
        failures.forget(outcome)
        yield outcome


def by_cluster(markers: Iterable[DoneMarker]) -> Mapping[str, list[DoneMarker]]:
    """Group the markers by cluster."""
    groups: dict[str, list[DoneMarker]] = defaultdict(list)
    for one in markers:
        groups[one.cluster].append(one)
    return groups


def next_key(content: str, last: str) -> str:
    """Return the key of another try at the same content: rows of the last one are outdated, also in compacted files.

    The key of a content has a fixed length; the number of the try follows, in two hexadecimal digits.
    """
    tried = int(last[len(content) :] or "0", 16)
    return f"{content}{(tried + 1) % TRIES:02x}"


def _forget_old(target: Place, markers: Iterable[DoneMarker], current: Sequence[DoneMarker]) -> None:
    """Delete results of earlier content of a bundle if current results exist, all but the last of these."""
    for one in markers if current else ():
        if one != current[-1]:
            target.remove(one.path)


def _unique(bundles: Sequence[Bundle]) -> tuple[Sequence[Bundle], Sequence[Bundle]]:
    """Return each bundle once, and those that were given again."""
    seen: dict[str, Bundle] = {}
    twice = [bundle for bundle in bundles if seen.setdefault(bundle.id, bundle) is not bundle]
    return list(seen.values()), twice
