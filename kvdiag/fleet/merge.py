"""Merge the results of many bundles of a day into a few files: one part.

The list of what a part holds is written last: until then the old files are valid, afterwards the part. A run that is
interrupted leaves files that are ignored, and two runs at once merge the same results twice, of which readers take one.
"""

from __future__ import annotations

import io
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kvdiag.fleet.places import Place
from kvdiag.fleet.results import Part, Result, Stored, read_lines, stored, unmerged
from kvdiag.fleet.schema import CLUSTER, COLUMNS, TABLES, stored_schema, table_of
from kvdiag.fleet.values import short_digest

pa.set_cpu_count(1)  # one core for each process: others run in parallel
pa.set_io_thread_count(1)
_ORDER = ("cluster", "volume", "rule", "time", "begins", "node")  # so that queries read few row groups
_ROWS = 1 << 17  # of a row group: DuckDB looks at less than a whole part for one cluster, volume or rule


def merge(dest: Place, day: str, names: Collection[str]) -> int:
    """Merge new results of a day with these paths and parts with these digests; return the number of replaced files.

    What another run has merged meanwhile is left out. The old files are deleted, their lists last.
    """
    chosen = set(names)
    is_new = all("/" in name for name in chosen)  # then the lists of other parts, which may be many, are not read
    found = Stored(list(unmerged(dest)), {}) if is_new else stored(dest)
    new = [one for one in found.results if one.path in chosen]
    old = [part for digest, part in found.parts.items() if digest in chosen]
    if not new and not any(part.outdated for part in old) and len(old) <= 1:
        return 0
    results = [*new, *(one for one in found.results if one.part in chosen)]
    digest = short_digest(sorted([*(one.key for one in results), *(part.digest for part in old)]))
    part = Part(digest, day, columns=COLUMNS)
    new_rows = list(read_lines(dest, new))
    tables = []
    for name in TABLES:
        table = pa.concat_tables(
            [table_of(name, _new_rows(name, new_rows)).select(stored_schema(name).names), *_old_rows(dest, name, old)]
        )
        if len(table):
            order = [(column, "ascending") for column in _ORDER if column in table.column_names]
            stream = io.BytesIO()
            pq.write_table(table.sort_by(order), stream, compression="zstd", row_group_size=_ROWS)
            dest.put(part.path(name), stream.getvalue())
            tables.append(name)
    clusters: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for one in results:
        clusters[one.cluster].append((one.bundle, one.key, one.state))
    # also what is replaced by the parts that are deleted now: without them it would be valid again
    replaces = sorted(one.digest for one in (*old, *found.replaced))
    words = {"clusters": clusters, "replaces": replaces, "tables": tables, "columns": COLUMNS}
    dest.put(part.list_path, json.dumps(words).encode())
    stale = [*(one.path for one in new), *(one.path(name) for one in old for name in one.tables)]
    dest.remove_all(stale)
    dest.remove_all([one.list_path for one in old])
    return len(stale)


def _new_rows(
    table: str, results: Iterable[tuple[Result, Mapping[str, list[bytes]]]]
) -> Iterator[tuple[Mapping[str, str], list[bytes]]]:
    for one, rows in results:
        if table in rows:
            yield {"cluster": one.cluster, "day": one.day}, rows[table]


def _old_rows(dest: Place, name: str, parts: Iterable[Part]) -> Iterator[pa.Table]:
    """Yield the valid rows of parts, with NULL in the columns that an older kvdiag did not have."""
    schema = stored_schema(name)
    for part in parts:
        if name in part.tables:
            table = pq.read_table(io.BytesIO(dest.read(part.path(name))))
            if part.cluster:
                table = table.append_column(CLUSTER, pa.repeat(pa.scalar(part.cluster), len(table)))
            table = pa.concat_tables([schema.empty_table(), table], promote_options="default").select(schema.names)
            yield table.filter(pc.invert(pc.is_in(table["result_key"], pa.array(part.outdated, pa.string()))))
