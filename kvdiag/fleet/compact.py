"""Merge the results of many bundles of one cluster and day into few files, and delete days that are too old.

The list of what a part holds is written last: until then the old files are valid, afterwards the part. A run that is
interrupted leaves files that are ignored, and two runs at once merge the same results twice, of which readers take one.
"""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kvdiag.fleet.places import Place
from kvdiag.fleet.results import ROOT, Result, Stored, part_path, read_lines, stored, table_path
from kvdiag.fleet.schema import COLUMNS, TABLES, table_of
from kvdiag.fleet.values import short_digest

pa.set_cpu_count(1)  # one core for each process: others run in parallel
pa.set_io_thread_count(1)
PART = 32 << 20  # bytes merged at a time, which need ten times as much memory
_ORDER = ("volume", "rule", "time", "begins", "node")  # so that queries read few row groups
_DAY = re.compile(rf"{ROOT}/\w+/cluster=[^/]+/day=([\d-]+)/[^/]+")


class _Source(NamedTuple):
    """A part, or one result that is not merged, and its size."""

    results: Sequence[Result]
    size: int
    digest: str = ""
    outdated: Collection[str] = ()


def merge(dest: Place, cluster: str, day: str, only: Collection[str] = ()) -> int:
    """Merge the results of a day; return the number of files that were replaced.

    With `only`, merge just the new results at these paths, which are those of one run: others may merge the rest.
    """
    found = stored(dest, cluster)
    new = [one for one in found.results if one.path and one.day == day and (not only or one.path in only)]
    sources = [_Source([one], one.size) for one in new]
    if not only:
        sources += _parts(dest, found, cluster, day)
    replaced = 0
    for group in _groups(sources):
        if len(group) > 1 or group[0].outdated or not group[0].digest:
            replaced += _merge(dest, cluster, day, group)
    return replaced


def _parts(dest: Place, found: Stored, cluster: str, day: str) -> Iterator[_Source]:
    """Yield the parts of a day that are small, or hold outdated results."""
    sizes = _sizes(dest, cluster, day)
    for (_, of_day, digest), part in found.parts.items():
        if of_day == day and (sizes[digest] < PART or part.outdated):
            results = [one for one in found.results if one.part == digest]
            yield _Source(results, sizes[digest], digest, part.outdated)


def _sizes(dest: Place, cluster: str, day: str) -> dict[str, int]:
    sizes: dict[str, int] = defaultdict(int)
    for table in TABLES:
        for file in dest.files(table_path(table, cluster, day, "").rpartition("/")[0]):
            sizes[file.path.rpartition("/")[2].removesuffix(".parquet")] += file.size
    return sizes


def _groups(sources: Sequence[_Source]) -> Iterator[list[_Source]]:
    """Yield the sources in groups that fit into memory."""
    group: list[_Source] = []
    size = 0
    for one in sources:
        if group and size + one.size > PART:
            yield group
            group, size = [], 0
        group.append(one)
        size += one.size
    if group:
        yield group


def _merge(dest: Place, cluster: str, day: str, group: Sequence[_Source]) -> int:
    """Write one part with the results of a group, and delete what it replaces, the lists last."""
    results = [result for one in group for result in one.results]
    old = {one.digest: one.outdated for one in group if one.digest}
    digest = short_digest(sorted(one.key for one in results) + sorted(old))
    new_rows = [rows for _, rows in read_lines(dest, results)]
    of_day = {"cluster": cluster, "day": day}
    paths = {table: [table_path(table, cluster, day, one) for one in old] for table in TABLES}
    stale = [
        file.path for name in TABLES for file in dest.files(_folder(name, cluster, day)) if file.path in paths[name]
    ]
    written = []
    for name, schema in TABLES.items():
        tables = [table_of(name, ((of_day, rows[name]) for rows in new_rows if name in rows)).select(schema.names)]
        for path in paths[name]:
            if path in stale:
                part = _as_schema(pq.read_table(io.BytesIO(dest.read(path))), schema)
                outdated = old[path.rpartition("/")[2].removesuffix(".parquet")]
                tables.append(part.filter(pc.invert(pc.is_in(part["result_key"], pa.array(outdated, pa.string())))))
        table = pa.concat_tables(tables)
        if len(table):
            order = [(name, "ascending") for name in _ORDER if name in table.column_names]
            stream = io.BytesIO()
            pq.write_table(table.sort_by(order), stream, compression="zstd")
            dest.put(table_path(name, cluster, day, digest), stream.getvalue())
            written.append(name)
    listed = [[one.bundle, one.key, one.state] for one in results]
    manifest = {"results": listed, "replaces": sorted(old), "tables": written, "columns": COLUMNS}
    dest.put(part_path(cluster, day, digest), json.dumps(manifest).encode())
    new = [one.path for one in results if one.path]
    dest.remove_all([*new, *stale])
    dest.remove_all([part_path(cluster, day, one) for one in old])
    return len(new) + len(stale)


def _folder(table: str, cluster: str, day: str) -> str:
    return table_path(table, cluster, day, "").rpartition("/")[0]


def _as_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table of an older kvdiag with NULL in the columns that it does not have."""
    empty = schema.empty_table()
    return pa.concat_tables([empty, table], promote_options="default").select(schema.names)


def forget_before(dest: Place, first: date) -> int:
    """Delete the results of all days before one; return the number of files."""
    old = [file.path for file in dest.files(ROOT) if (day := _DAY.fullmatch(file.path)) and day[1] < first.isoformat()]
    lists = [path for path in old if path.startswith(f"{ROOT}/parts/")]
    dest.remove_all(lists)  # first, so that no list names what is gone
    dest.remove_all([path for path in old if path not in set(lists)])
    return len(old)
