"""The tables of a fleet's results: one pyarrow schema for the files, the rows and the questions.

Columns may be added: older files are read with NULL there. docs/fleet.md describes the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

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
TABLES: Mapping[str, pa.Schema] = {name: pa.schema({**_OF_ALL, **columns}) for name, columns in _COLUMNS.items()}
COLUMNS = short_digest(f"{name}: {schema}" for name, schema in TABLES.items())
"""A digest of all columns and their types: files with the same one are read together, without a look at each."""
