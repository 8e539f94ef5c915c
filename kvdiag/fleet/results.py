"""Where the results of a bundle lie below DEST, and which of them count.

    v1/findings/cluster=eu-1/day=2026-11-20/<bundle>-<key>.parquet
    v1/done/cluster=eu-1/<bundle>-<key>.json       put last: without it the files above count for nothing
    v1/failed/cluster=eu-1/day=2026-11-20/<bundle>-<key>.parquet
    v1/compacted/cluster=eu-1/<digest>.json        which bundles lie together in compact-<digest>.parquet

Names of clusters come from paths: in ours they are percent-encoded, and a file is called by digests alone.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from kvdiag.fleet.parquet import packed
from kvdiag.fleet.places import Place
from kvdiag.fleet.rows import failed_row, to_json
from kvdiag.fleet.schema import ROOT, TABLES
from kvdiag.fleet.values import Outcome

COMPACTED = "compact"
_MARKER = re.compile(rf"{ROOT}/done/cluster=(?P<cluster>[^/]+)/(?P<bundle>\w+)-(?P<key>[0-9a-f]+)\.json")
_FILE = re.compile(
    rf"{ROOT}/(?P<table>\w+)/cluster=(?P<cluster>[^/]+)/day=[\d-]+/(?P<bundle>\w+)-(?P<key>[0-9a-f]+)\.parquet"
)


class DoneMarker(NamedTuple):
    """A bundle that was judged: where its marker lies, its cluster, and what its results are called by."""

    path: str
    cluster: str
    bundle: str
    key: str


def in_path(name: str) -> str:
    """A name as part of a path: nothing in it leads elsewhere."""
    return quote(name, safe="").replace(".", "%2E") if set(name) <= {"."} else quote(name, safe="")


def done_markers(dest: Place, below: str = "") -> list[DoneMarker]:
    """Every marker there is, or those below a part of the path, in the order of their paths."""
    found = (_MARKER.fullmatch(file.path) for file in dest.files(f"{ROOT}/done{below}"))
    return sorted(DoneMarker(one[0], unquote(one["cluster"]), one["bundle"], one["key"]) for one in found if one)


def by_bundle(markers: Sequence[DoneMarker]) -> Mapping[str, list[DoneMarker]]:
    """The markers of each bundle: more than one where a run ended before the old one was removed."""
    groups: dict[str, list[DoneMarker]] = defaultdict(list)
    for one in markers:
        groups[one.bundle].append(one)
    return groups


class Stored(NamedTuple):
    """The files of each table that count, and the keys in compacted files of what counts no more."""

    files: Mapping[str, Sequence[str]]
    dead: frozenset[str]


def stored(dest: Place, cluster: str = "", tables: Sequence[str] = tuple(TABLES)) -> Stored:
    """What there is of all clusters or of one."""
    below = f"/cluster={in_path(cluster)}" if cluster else ""
    live = {one.key for one in done_markers(dest, below)}
    compacted = _compacted(dest, below)
    inside = {key for keys in compacted.values() for key in keys}
    files = {
        table: [
            file.path
            for file in dest.files(f"{ROOT}/{table}{below}")
            if (found := _FILE.fullmatch(file.path)) and _counts(found, live, compacted, inside)
        ]
        for table in tables
    }
    return Stored(files, frozenset(inside - live))


def _counts(found: re.Match[str], live: set[str], compacted: Mapping[str, Sequence[str]], inside: set[str]) -> bool:
    if found["bundle"].startswith(COMPACTED):
        return found["key"] in compacted
    if found["table"] == "failed":
        return True
    return found["key"] in live and found["key"] not in inside


def _compacted(dest: Place, below: str) -> dict[str, Sequence[str]]:
    """By digest of each compaction the keys in its files, but of those that another replaced."""
    keys_by_digest: dict[str, Sequence[str]] = {}
    replaced: set[str] = set()
    for file in dest.files(f"{ROOT}/compacted{below}"):
        manifest = json.loads(dest.read(file.path))
        keys_by_digest[file.path.rpartition("/")[2].removesuffix(".json")] = manifest["keys"]
        replaced.update(manifest["replaces"])
    return {digest: keys for digest, keys in keys_by_digest.items() if digest not in replaced}


def put_results(dest: Place, outcome: Outcome, tables: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """Write the rows of a bundle, then its marker."""
    of_all = {"node": outcome.node, "bundle": outcome.place, "result_key": outcome.key}
    for table, rows in tables.items():
        data = packed(table, ({**of_all, **row} for row in rows))
        if data:
            put = dest.put if table == "failed" else dest.put_new  # an earlier try may have failed as a whole
            put(table_path(table, outcome), data)
    dest.put_new(_marker_path(outcome), to_json(outcome._asdict()))


def put_failed(dest: Place, outcome: Outcome, at: int) -> None:
    """Write the one row that tells of a bundle without results."""
    row = {"node": outcome.node, "bundle": outcome.place, "result_key": outcome.key, **failed_row(outcome, at)}
    dest.put(table_path("failed", outcome), packed("failed", [row]))


def table_path(table: str, outcome: Outcome) -> str:
    """Where the rows of a bundle lie."""
    folder = f"{ROOT}/{table}/cluster={in_path(outcome.cluster)}/day={outcome.day}"
    return f"{folder}/{outcome.bundle}-{outcome.key}.parquet"


def folder_of(path: str) -> str:
    """The folder that a file lies in."""
    return path.rpartition("/")[0]


def _marker_path(outcome: Outcome) -> str:
    return f"{ROOT}/done/cluster={in_path(outcome.cluster)}/{outcome.bundle}-{outcome.key}.json"


class Failures:
    """The rows that tell of earlier failures, by bundle; the store is asked for them once."""

    def __init__(self, dest: Place) -> None:
        """Read the names of the files."""
        self._dest = dest
        self._paths: dict[tuple[str, str], list[str]] = defaultdict(list)
        for file in dest.files(f"{ROOT}/failed"):
            if found := _FILE.fullmatch(file.path):
                self._paths[found["cluster"], found["bundle"]].append(file.path)

    def forget(self, outcome: Outcome) -> None:
        """Remove those of a bundle that came to its end; what this end was stays."""
        today = table_path("failed", outcome) if outcome.reason or outcome.problems else ""
        for path in self._paths.pop((in_path(outcome.cluster), outcome.bundle), ()):
            if path != today:
                self._dest.remove(path)
