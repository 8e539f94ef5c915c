"""Where results are stored below DEST, and which of them are valid.

    v2/new/cluster=eu-1/day=2026-11-20/<bundle>-<key>-done.json.gz   all rows of a bundle, until they are merged
    v2/findings/cluster=eu-1/day=2026-11-20/<digest>.parquet         the rows of many bundles
    v2/parts/cluster=eu-1/day=2026-11-20/<digest>.json               written last: which bundles these are

Each is written at once, so nothing is ever there in part. Of two results of a bundle the later one is valid, and no
result is changed: what is outdated is left out by the readers until a merge removes it. Names of clusters are
percent-encoded, as they come from paths of users; other names consist of digests.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from kvdiag.fleet.places import Place
from kvdiag.fleet.values import DIGEST, Outcome, State

ROOT = "v2"
_NEW = re.compile(
    rf"{ROOT}/new/cluster=(?P<cluster>[^/]+)/day=(?P<day>[\d-]+)/"
    r"(?P<bundle>\w+)-(?P<key>[0-9a-f]+)-(?P<state>done|partial|failed)\.json\.gz"
)
_PART = re.compile(
    rf"{ROOT}/parts/cluster=(?P<cluster>[^/]+)/day=(?P<day>[\d-]+)/(?P<digest>[0-9a-f]{{{DIGEST}}})\.json"
)
Row = Mapping[str, Any]


class Result(NamedTuple):
    """The result of one try at a bundle; `key` is that of its content and then the time of the try.

    It is in the file `path`, of `size` bytes, or has been merged into the part with this digest.
    """

    cluster: str
    day: str
    bundle: str
    key: str
    state: State
    path: str = ""
    size: int = 0
    part: str = ""


PartId = tuple[str, str, str]
"""Cluster, day and digest of a part."""


class Part(NamedTuple):
    """The keys of the results in a part that are not valid, its tables, and the digest of their columns.

    Both are empty for a part of an older kvdiag, which did not write them.
    """

    outdated: frozenset[str]
    tables: Sequence[str] = ()
    columns: str = ""


class Stored(NamedTuple):
    """The valid results, and each part."""

    results: Sequence[Result]
    parts: Mapping[PartId, Part]

    def last(self, state: State | None = None) -> Mapping[str, Result]:
        """Return the last valid result of each bundle, or the last with a state."""
        ordered = sorted(self.results, key=lambda one: one.key[DIGEST:])
        return {one.bundle: one for one in ordered if state is None or one.state == state}

    def files_with(self, keys: Collection[str]) -> Stored:
        """Return the results and parts with one of these keys."""
        results = [one for one in self.results if one.key in keys]
        held = {one.part for one in results}
        return Stored(results, {place: part for place, part in self.parts.items() if place[2] in held})


def in_path(name: str) -> str:
    """Return a name as one part of a path, percent-encoded."""
    return quote(name, safe="").replace(".", "%2E") if set(name) <= {"."} else quote(name, safe="")


def stored(dest: Place, cluster: str = "") -> Stored:
    """Return the results of all clusters or of one."""
    below = f"/cluster={in_path(cluster)}" if cluster else ""
    found = list(_unmerged(dest, below))
    paths = [file.path for file in dest.files(f"{ROOT}/parts{below}") if _PART.fullmatch(file.path)]
    replaced: set[str] = set()
    merged: dict[PartId, list[Result]] = {}
    written: dict[PartId, tuple[Sequence[str], str]] = {}
    for path, data in dest.read_all(paths).items():
        words, manifest = _words(_PART, path), json.loads(data)
        place = words["cluster"], words["day"], words["digest"]
        replaced.update(manifest["replaces"])
        written[place] = manifest.get("tables", ()), manifest.get("columns", "")
        merged[place] = [
            Result(*place[:2], bundle, key, state, part=place[2]) for bundle, key, state in manifest["results"]
        ]
    kept = {place: results for place, results in merged.items() if place[2] not in replaced}
    valid = _valid([*(one for _, results in sorted(kept.items()) for one in results), *found])
    ids = {(one.part, one.key) for one in valid}
    parts = {
        place: Part(frozenset(one.key for one in results if (one.part, one.key) not in ids), *written[place])
        for place, results in kept.items()
    }
    return Stored(valid, parts)


def _unmerged(dest: Place, below: str) -> Iterator[Result]:
    for file in dest.files(f"{ROOT}/new{below}"):
        if words := _words(_NEW, file.path):
            yield Result(**words, path=file.path, size=file.size)  # type: ignore[arg-type]  # the pattern has its fields


def _words(pattern: re.Pattern[str], path: str) -> dict[str, str]:
    found = pattern.fullmatch(path)
    return {**found.groupdict(), "cluster": unquote(found["cluster"])} if found else {}


def _valid(results: Iterable[Result]) -> list[Result]:
    """Return the last success of each bundle, and its last failure if that is later; each result once."""
    last: dict[tuple[str, str, bool], Result] = {}
    for one in results:  # merged ones first: a result that is in a part too is read there
        where = one.cluster, one.bundle, one.state == "failed"
        if where not in last or last[where].key[DIGEST:] < one.key[DIGEST:]:
            last[where] = one
    done = {where[:2]: one.key[DIGEST:] for where, one in last.items() if not where[2]}
    return [one for where, one in last.items() if not where[2] or done.get(where[:2], "") < one.key[DIGEST:]]


def put_results(dest: Place, outcome: Outcome, tables: Mapping[str, Iterable[Row]], folder: Path | None = None) -> None:
    """Write the rows of a bundle; with a `folder` for a temporary file, they need not fit into memory."""
    of_all = {"node": outcome.node, "bundle": outcome.place, "result_key": outcome.key, "kvdiag": outcome.judge}
    lines = (f"{json.dumps([table, of_all | dict(row)])}\n".encode() for table, rows in tables.items() for row in rows)
    if folder is None:
        data = gzip.compress(b"".join(lines), _LEVEL)
    else:
        with gzip.open(folder / "rows.gz", "wb", _LEVEL) as packed, io.BufferedWriter(packed, _BLOCK) as stream:
            stream.writelines(lines)
        data = (folder / "rows.gz").read_bytes()
    where = f"{ROOT}/new/cluster={in_path(outcome.cluster)}/day={outcome.day}"
    dest.put(f"{where}/{outcome.bundle}-{outcome.key}-{outcome.state}.json.gz", data)


_LEVEL = 3  # three times as fast as the default, and a tenth larger
_BLOCK = 1 << 18  # bytes compressed at a time: a call for each row would take half as long as its compression


def read_lines(dest: Place, results: Iterable[Result]) -> Iterator[tuple[Result, dict[str, list[bytes]]]]:
    """Yield each result that is not merged, with its rows by table; a row is an object of JSON.

    They are not parsed here: most of them are events, which only a join needs.
    """
    unmerged = {one.path: one for one in results if one.path}
    for path, data in dest.read_all(list(unmerged)).items():
        tables: dict[str, list[bytes]] = defaultdict(list)
        for line in gzip.decompress(data).split(b"\n"):
            table, _, row = line.partition(b", ")  # ["events", {…}]
            tables[table[2:-1].decode()].append(row[:-1])
        yield unmerged[path], tables


def table_path(table: str, cluster: str, day: str, digest: str) -> str:
    """Return the path of a table's rows in a part."""
    return f"{ROOT}/{table}/cluster={in_path(cluster)}/day={day}/{digest}.parquet"


def part_path(cluster: str, day: str, digest: str) -> str:
    """Return the path of the list of results in a part."""
    return f"{ROOT}/parts/cluster={in_path(cluster)}/day={day}/{digest}.json"
