"""Plan which results of a day are merged into one part, and delete days that are too old."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from kvdiag.fleet.places import Place
from kvdiag.fleet.results import ROOT, Stored

PART = 32 << 20  # bytes merged at a time, which need ten times as much memory
MIXED = 8 << 20  # bytes of several clusters in one part: a question about one cluster reads it whole
_DAY = re.compile(rf"{ROOT}/\w+/(?:cluster=[^/]+/)?day=([\d-]+)/[^/]+")


class Merge(NamedTuple):
    """Results of a day that one part can hold: new ones by path, and parts by digest."""

    day: str
    names: tuple[str, ...]


class _Source(NamedTuple):
    """A part or a new result, its size, and the first cluster in it."""

    cluster: str
    name: str
    size: int


def plan(dest: Place, found: Stored, only: Collection[str] | None = None) -> Iterator[Merge]:
    """Yield what can be merged: new results, small parts, and parts with outdated results.

    With `only`, just the new results with these keys, which are those of one run: others may merge the rest.
    """
    days: dict[str, list[_Source]] = defaultdict(list)
    for one in found.results:
        if one.path and (only is None or one.key in only):
            days[one.day].append(_Source(one.cluster, one.path, one.size))
    if only is None:
        for day, source in _parts(dest, found):
            days[day].append(source)
    for day, sources in sorted(days.items()):
        for names in _groups(sorted(sources)):
            part = found.parts.get(names[0])
            if len(names) > 1 or part is None or part.outdated:
                yield Merge(day, names)


def _parts(dest: Place, found: Stored) -> Iterator[tuple[str, _Source]]:
    """Yield the parts that are small, or hold outdated results, with their days."""
    sizes: Counter[str] = Counter()
    for file in dest.files(ROOT):
        sizes[file.path.rpartition("/")[2].partition(".")[0]] += file.size
    first: dict[str, str] = {}
    for one in found.results:
        first[one.part] = min(one.cluster, first.get(one.part, one.cluster))
    for digest, part in found.parts.items():
        if sizes[digest] < PART or part.outdated:
            yield part.day, _Source(first.get(digest, ""), digest, sizes[digest])


def _groups(sources: Sequence[_Source]) -> Iterator[tuple[str, ...]]:
    """Yield the names of sources in groups that fit into one part."""
    group: list[str] = []
    size, last = 0, ""
    for one in sources:
        size += one.size
        if group and size > (PART if one.cluster == last else MIXED):
            yield tuple(group)
            group, size = [], one.size
        group.append(one.name)
        last = one.cluster
    if group:
        yield tuple(group)


def sweep(dest: Place, found: Stored) -> None:
    """Delete results that later ones replace, and what a killed merge left; the lists last."""
    dest.remove_all([*found.outdated, *(part.path(table) for part in found.replaced for table in part.tables)])
    dest.remove_all([part.list_path for part in found.replaced])


def forget_before(dest: Place, first: date) -> int:
    """Delete the results of all days before one; return the number of files."""
    old = [file.path for file in dest.files(ROOT) if (day := _DAY.fullmatch(file.path)) and day[1] < first.isoformat()]
    lists = [path for path in old if path.startswith(f"{ROOT}/parts/")]
    dest.remove_all(lists)  # first, so that no list names what is gone
    dest.remove_all([path for path in old if path not in set(lists)])
    return len(old)
