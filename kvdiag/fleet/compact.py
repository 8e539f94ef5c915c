"""Merge many small files of one cluster and day into one per table, so that queries open few files.

The manifest is written last and lists the merged bundles: until then the old files are valid, afterwards the new ones.
An interrupted run leaves files that are ignored, and the next run deletes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvdiag.fleet.fleetrun import by_cluster
from kvdiag.fleet.parquet import merged
from kvdiag.fleet.places import Place
from kvdiag.fleet.results import COMPACTED, done_markers, folder_of, in_path, stored
from kvdiag.fleet.rows import to_json
from kvdiag.fleet.schema import ROOT, TABLES
from kvdiag.fleet.values import JOINED, short_digest

PART = 32 << 20  # bytes of one file, which needs ten times as much memory


class Compacted(NamedTuple):
    """The number of files before and after."""

    before: int
    after: int


def compact(dest: Place) -> Compacted:
    """Compact the files of every cluster."""
    before = after = 0
    for cluster, markers in by_cluster(done_markers(dest)).items():
        keys = sorted(one.key for one in markers if one.bundle != JOINED)
        compacted = _compact_cluster(dest, cluster, keys)
        before, after = before + compacted.before, after + compacted.after
    return Compacted(before, after)


def _compact_cluster(dest: Place, cluster: str, keys: list[str]) -> Compacted:
    found, manifests = stored(dest, cluster), [file.path for file in dest.files(_manifests(cluster))]
    old = {table: files for table, files in found.files.items() if table not in {"failed", "joined"}}
    digest = short_digest(keys)
    path = f"{_manifests(cluster)}/{digest}.json"
    count = sum(map(len, old.values()))
    if path in manifests:
        _sweep(dest, cluster, path, manifests)
        return Compacted(count, count)
    written = 0
    for table, files in old.items():
        for folder in sorted({folder_of(file) for file in files}):
            for number, part in enumerate(_parts(dest, [file for file in files if folder_of(file) == folder])):
                data = merged(table, part, found.dead)
                if data:
                    dest.put(f"{folder}/{COMPACTED}{number}-{digest}.parquet", data)
                    written += 1
    replaces = [manifest.rpartition("/")[2].removesuffix(".json") for manifest in manifests]
    dest.put(path, to_json({"keys": keys, "replaces": replaces}))
    _sweep(dest, cluster, path, manifests)
    return Compacted(count, written)


def _parts(dest: Place, files: list[str]) -> Iterator[list[bytes]]:
    """Yield the files in parts that fit into memory."""
    part: list[bytes] = []
    for file in files:
        part.append(dest.read(file))
        if sum(map(len, part)) > PART:
            yield part
            part = []
    if part:
        yield part


def _sweep(dest: Place, cluster: str, current: str, manifests: list[str]) -> None:
    """Delete ignored files; replaced manifests are deleted last."""
    known = {name for files in stored(dest, cluster).files.values() for name in files}
    for table in TABLES:
        for file in list(dest.files(f"{ROOT}/{table}/cluster={in_path(cluster)}")):
            if file.path not in known:
                dest.remove(file.path)
    for manifest in manifests:
        if manifest != current:
            dest.remove(manifest)


def _manifests(cluster: str) -> str:
    return f"{ROOT}/compacted/cluster={in_path(cluster)}"
