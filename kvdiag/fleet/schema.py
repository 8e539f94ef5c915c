"""The tables of a fleet's results: their columns, with types that `kvdiag.fleet.parquet` translates.

Every table also has OF_ALL, and `cluster` and `day` from the folders of its files. docs/fleet.md describes the columns.
"""

from __future__ import annotations

from collections.abc import Mapping

SCHEMA = 1
"""A new number invalidates all stored results."""
ROOT = f"v{SCHEMA}"

Columns = Mapping[str, str]
OF_ALL: Columns = {"node": "text", "bundle": "text", "result_key": "text"}
_SPAN: Columns = {"begins": "time", "ends": "time"}
_FINDING: Columns = {
    "rule": "text",
    "rule_id": "text",
    "title": "text",
    "severity": "text",
    "severity_rank": "number",
    "verdict": "text",
    "role": "text",
    "subject_kind": "text",
    "subject": "text",
    "subject_key": "text",
    "subject_node": "text",
    "volume_handle": "text",
    "pod": "text",
    "driver": "text",
    "driver_version": "text",
    "kubelet_version": "text",
    "runtime_version": "text",
    **_SPAN,
    "healed": "time",
    "count": "number",
    "says": "text",
    "cause": "text",
    "finding": "text",
    "explained_by": "text",
    "incident": "text",
    "nodes": "texts",
    "affected": "texts",
    "surer_than": "texts",
    "json": "text",
}
TABLES: Mapping[str, Columns] = {
    "findings": _FINDING,
    "joined": _FINDING,
    "events": {
        "time": "time",
        "ends": "time",
        "kind": "text",
        "component": "text",
        "log_node": "text",
        "volume": "text",
        "refs": "names",
        "attrs": "names",
        "source": "text",
        "line": "number",
        "count": "number",
        "text": "text",
    },
    "volumes": {
        "volume": "text",
        "name": "text",
        "volume_handle": "text",
        "driver": "text",
        "pv": "text",
        "names": "texts",
        "pods": "texts",
        **_SPAN,
        "last_event": "text",
    },
    "inputs": {
        "source": "text",
        "format": "text",
        "component": "text",
        "log_node": "text",
        "lines": "number",
        "records": "number",
        "recognised": "number",
        "unread": "number",
        **_SPAN,
        "clock": "text",
    },
    "coverage": {"component": "text", "log_node": "text", **_SPAN, "verbosity": "number", "gaps": "gaps"},
    "versions": {
        "component": "text",
        "version": "text",
        "how": "text",
        "span": "text",
        "log_node": "text",
        "source": "text",
        "line": "number",
        "time": "time",
    },
    "errors": {
        "component": "text",
        "call": "text",
        "level": "text",
        "says": "text",
        "count": "number",
        **_SPAN,
        "goes_on": "flag",
        "subjects": "texts",
        "source": "text",
        "line": "number",
        "explained_by": "text",
        "benign": "text",
    },
    "failed": {"place": "text", "reason": "text", "next_step": "text", "at": "time", "is_partial": "flag"},
}
