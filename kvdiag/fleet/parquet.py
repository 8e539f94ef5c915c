"""Write rows as zstd Parquet with the published schema, and read them."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kvdiag.fleet.schema import OF_ALL, TABLES

pa.set_cpu_count(1)  # one core per bundle: other bundles run in parallel
pa.set_io_thread_count(1)
AT_ONCE = 4_000  # rows in memory at a time
_MOMENT = pa.timestamp("us", "UTC")
_TYPES: Mapping[str, Any] = {
    "text": pa.string(),
    "time": _MOMENT,
    "number": pa.int64(),
    "flag": pa.bool_(),
    "texts": pa.list_(pa.string()),
    "names": pa.list_(pa.struct([("kind", pa.string()), ("value", pa.string())])),
    "gaps": pa.list_(
        pa.struct([("begins", _MOMENT), ("ends", _MOMENT), ("why", pa.string()), ("component", pa.string())])
    ),
}


def schema_of(table: str) -> pa.Schema:
    """Return the schema of a table's files."""
    return pa.schema([(name, _TYPES[word]) for name, word in {**OF_ALL, **TABLES[table]}.items()])


def packed(table: str, rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return one file with these rows; empty if there are none."""
    stream, rest, schema = io.BytesIO(), iter(rows), schema_of(table)
    part = list(islice(rest, AT_ONCE))
    if not part:
        return b""
    with pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        while part:
            writer.write_table(pa.Table.from_pylist(part, schema=schema))
            part = list(islice(rest, AT_ONCE))
    return stream.getvalue()


def merged(table: str, files: Sequence[bytes], dead: Collection[str]) -> bytes:
    """Return one file with the rows of many, without those of `dead` results; empty if there are none."""
    parts = [pq.read_table(io.BytesIO(data), schema=schema_of(table)) for data in files]
    merged_table = pa.concat_tables(parts)
    if dead:
        is_dead = pc.is_in(merged_table["result_key"], value_set=pa.array(sorted(dead), pa.string()))
        merged_table = merged_table.filter(pc.invert(is_dead))
    if not len(merged_table):
        return b""
    order = [(name, "ascending") for name in _ORDER if name in merged_table.column_names]
    stream = io.BytesIO()
    pq.write_table(merged_table.sort_by(order), stream, compression="zstd")
    return stream.getvalue()


_ORDER = ("volume", "rule", "time", "begins", "node")
"""Sort order of merged files, so that queries read few row groups."""
