"""The tables of a fleet's results: one pyarrow schema for the files, the rows and the questions.

Columns may be added: older files are read with NULL there. docs/fleet.md describes the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.json

from kvdiag.fleet.values import short_digest

_TEXT, _NUMBER, _FLAG = pa.string(), pa.int64(), pa.bool_()
_TIME = pa.timestamp("us", "UTC")
_TEXTS = pa.list_(_TEXT)
_PAIRS = pa.list_(pa.struct([("kind", _TEXT), ("value", _TEXT)]))
_GAPS = pa.list_(pa.struct([("begins", _TIME), ("ends", _TIME), ("why", _TEXT), ("component", _TEXT)]))
_SPAN = {"begins": _TIME, "ends": _TIME}
# `kvdiag` is the version and the digest of the rules that judged.
_OF_ALL = {"node": _TEXT, "bundle": _TEXT, "result_key": _TEXT, "kvdiag": _TEXT}
_FINDING = {
    **dict.fromkeys(("rule", "rule_id", "title", "severity"), _TEXT),
    "severity_rank": _NUMBER,
    **dict.fromkeys(("verdict", "role", "subject_kind", "subject", "subject_key", "subject_node"), _TEXT),
    **dict.fromkeys(("volume_handle", "pod", "driver", "driver_version", "kubelet_version", "runtime_version"), _TEXT),
    **_SPAN,
    "healed": _TIME,
    "count": _NUMBER,
    **dict.fromkeys(("says", "cause", "first_step", "first_command", "finding", "explained_by", "incident"), _TEXT),
    **dict.fromkeys(("nodes", "affected", "surer_than"), _TEXTS),
    "json": _TEXT,
}
_COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "findings": _FINDING,
    "joined": {**_FINDING, "judged": _TEXT},
    "judged": {"judged": _TEXT, "volumes": _TEXTS},
    "events": {
        "time": _TIME,
        "ends": _TIME,
        **dict.fromkeys(("kind", "component", "log_node", "volume"), _TEXT),
        "refs": _PAIRS,
        "attrs": _PAIRS,
        "source": _TEXT,
        "line": _NUMBER,
        "count": _NUMBER,
        "text": _TEXT,
    },
    "volumes": {
        **dict.fromkeys(("volume", "name", "volume_handle", "driver", "pv"), _TEXT),
        "names": _TEXTS,
        "pods": _TEXTS,
        **_SPAN,
        "last_event": _TEXT,
    },
    "inputs": {
        **dict.fromkeys(("source", "format", "component", "log_node"), _TEXT),
        **dict.fromkeys(("lines", "records", "recognised", "unread"), _NUMBER),
        **_SPAN,
        "clock": _TEXT,
    },
    "coverage": {"component": _TEXT, "log_node": _TEXT, **_SPAN, "verbosity": _NUMBER, "gaps": _GAPS},
    "versions": {
        **dict.fromkeys(("component", "version", "how", "span", "log_node", "source"), _TEXT),
        "line": _NUMBER,
        "time": _TIME,
    },
    "errors": {
        **dict.fromkeys(("component", "call", "level", "says"), _TEXT),
        "count": _NUMBER,
        **_SPAN,
        "goes_on": _FLAG,
        "subjects": _TEXTS,
        "source": _TEXT,
        "line": _NUMBER,
        "explained_by": _TEXT,
        "benign": _TEXT,
    },
    "failed": {"place": _TEXT, "reason": _TEXT, "next_step": _TEXT, "at": _TIME, "is_partial": _FLAG},
}
CLUSTER = pa.field("cluster", _TEXT)
PARTITION = [CLUSTER, pa.field("day", _TEXT)]
"""The columns that all rows of a result share; the day is in the paths, not in the files."""
TABLES: Mapping[str, pa.Schema] = {name: pa.schema({**_OF_ALL, **columns}) for name, columns in _COLUMNS.items()}
COLUMNS = short_digest(f"{name}: {schema}" for name, schema in TABLES.items())
"""A digest of all columns and their types: files with the same one are read together, without a look at each."""


def stored_schema(table: str) -> pa.Schema:
    """Return the columns of a table's files."""
    return TABLES[table].append(CLUSTER)


def table_of(name: str, results: Iterable[tuple[Mapping[str, str], Sequence[bytes]]]) -> pa.Table:
    """Return the rows of results as a table: of each the columns that all its rows share, and rows as JSON.

    Arrow parses them in a tenth of the time and memory of Python.
    """
    schema = TABLES[name]
    plain = pa.schema([(field.name, _as_numbers(field.type)) for field in schema])
    options = pyarrow.json.ParseOptions(explicit_schema=plain, unexpected_field_behavior="ignore")
    tables = [pa.schema([*schema, *PARTITION]).empty_table()]
    for shared, rows in results:
        data = b"\n".join(rows)
        read = pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1)
        table = pyarrow.json.read_json(BytesIO(data), read, options).select(schema.names).cast(schema)
        for field in PARTITION:
            table = table.append_column(field, [pa.repeat(pa.scalar(shared[field.name]), len(table))])
        tables.append(table)
    return pa.concat_tables(tables)


def _as_numbers(kind: pa.DataType) -> pa.DataType:
    """Return a type with numbers in place of times, as JSON has them: microseconds."""
    if pa.types.is_list(kind):
        return pa.list_(_as_numbers(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _as_numbers(field.type)) for field in kind])
    return _NUMBER if kind == _TIME else kind
