"""Where the results of a bundle are stored below DEST, and which of them are valid.

    v1/findings/cluster=eu-1/day=2026-11-20/<bundle>-<key>.parquet
    v1/done/cluster=eu-1/<bundle>-<key>.json       written last: without it the files above are ignored
    v1/failed/cluster=eu-1/day=2026-11-20/<bundle>-<key>.parquet
    v1/compacted/cluster=eu-1/<digest>.json        the bundles merged into compact-<digest>.parquet

Names of clusters are percent-encoded, as they come from paths of users. File names consist of digests only.
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
from kvdiag.fleet.values import Bundle, Outcome

COMPACTED = "compact"
_MARKER = re.compile(rf"{ROOT}/done/cluster=(?P<cluster>[^/]+)/(?P<bundle>\w+)-(?P<key>[0-9a-f]+)\.json")
_FILE = re.compile(
    rf"{ROOT}/(?P<table>\w+)/cluster=(?P<cluster>[^/]+)/day=[\d-]+/(?P<bundle>\w+)-(?P<key>[0-9a-f]+)\.parquet"
)


class DoneMarker(NamedTuple):
    """An analyzed bundle: the path of its marker, its cluster, and the ids in the names of its results."""

    path: str
    cluster: str
    bundle: str
    key: str


def in_path(name: str) -> str:
    """Return a name as one part of a path, percent-encoded."""
    return quote(name, safe="").replace(".", "%2E") if set(name) <= {"."} else quote(name, safe="")


def done_markers(dest: Place, below: str = "") -> list[DoneMarker]:
    """Return every marker, or those below a part of the path, in order of their paths."""
    found = (_MARKER.fullmatch(file.path) for file in dest.files(f"{ROOT}/done{below}"))
    return sorted(DoneMarker(one[0], unquote(one["cluster"]), one["bundle"], one["key"]) for one in found if one)


def by_bundle(markers: Sequence[DoneMarker]) -> Mapping[str, list[DoneMarker]]:
    """Group the markers by bundle: there are several if a run ended before the old one was deleted."""
    groups: dict[str, list[DoneMarker]] = defaultdict(list)
    for one in markers:
        groups[one.bundle].append(one)
    return groups


class Stored(NamedTuple):
    """The valid files of each table, and the keys of outdated rows in compacted files."""

    files: Mapping[str, Sequence[str]]
    dead: frozenset[str]


def stored(dest: Place, cluster: str = "", tables: Sequence[str] = tuple(TABLES)) -> Stored:
    """Return the files of all clusters or of one."""
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
    """Return by digest of each compaction the keys in its files, without replaced compactions."""
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
            put = dest.put if table == "failed" else dest.put_new  # overwrite the row of an earlier failure
            put(table_path(table, outcome), data)
    dest.put_new(_marker_path(outcome), to_json(outcome._asdict()))


def put_failed(dest: Place, outcome: Outcome, at: int) -> None:
    """Write the row of a failed bundle."""
    row = {"node": outcome.node, "bundle": outcome.place, "result_key": outcome.key, **failed_row(outcome, at)}
    dest.put(table_path("failed", outcome), packed("failed", [row]))


def table_path(table: str, outcome: Outcome) -> str:
    """Return the path of a table's rows for a bundle."""
    folder = f"{ROOT}/{table}/cluster={in_path(outcome.cluster)}/day={outcome.day}"
    return f"{folder}/{outcome.bundle}-{outcome.key}.parquet"


def folder_of(path: str) -> str:
    """Return the folder of a file."""
    return path.rpartition("/")[0]


def _marker_path(outcome: Outcome) -> str:
    return f"{ROOT}/done/cluster={in_path(outcome.cluster)}/{outcome.bundle}-{outcome.key}.json"


class Failures:
    """The rows of earlier failures by bundle; the store is listed once."""

    def __init__(self, dest: Place) -> None:
        """List the files."""
        self._dest = dest
        self._paths: dict[tuple[str, str], list[str]] = defaultdict(list)
        for file in dest.files(f"{ROOT}/failed"):
            if found := _FILE.fullmatch(file.path):
                self._paths[found["cluster"], found["bundle"]].append(file.path)

    def has(self, bundle: Bundle) -> bool:
        """Return whether the last try at a bundle failed, or read it in part."""
        return (in_path(bundle.cluster), bundle.id) in self._paths

    def forget(self, outcome: Outcome) -> None:
        """Delete the earlier failures of a bundle that has a new outcome."""
        today = table_path("failed", outcome) if outcome.reason or outcome.problems else ""
        for path in self._paths.pop((in_path(outcome.cluster), outcome.bundle), ()):
            if path != today:
                self._dest.remove(path)
