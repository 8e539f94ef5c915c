"""Error lines as values: the groups of a report, and the outputs of `kvdiag errors`."""

from __future__ import annotations

from typing import Any, TextIO

from kvdiag.base.clock import rfc3339
from kvdiag.model.error_groups import ErrorGroup, Errors
from kvdiag.model.report import Report
from kvdiag.report import RenderOptions
from kvdiag.report.outputs import write_value

SCHEMA = "kvdiag.errors/1"
OUTPUTS = ("text", "json", "yaml")
Plain = dict[str, Any]


def write_errors(report: Report, output: str, stream: TextIO, options: RenderOptions, *, show_benign: bool) -> None:
    """Print the figures and groups of a report, and what the other groups belong to; `output` is one of OUTPUTS."""
    if output == "text":
        from kvdiag.report.errors import write_text  # rich takes 40 ms, which JSON need not wait for

        write_text(report, stream, options, show_benign=show_benign)
    else:
        write_value(_shown(report.errors, show_benign=show_benign), output, stream, redact=options.redact)


def _shown(errors: Errors, *, show_benign: bool) -> Plain:
    known = [group for group in errors.known if group.explained_by or show_benign]
    return {"schema": SCHEMA, **plain_errors(errors), "known": [_plain_group(group) for group in known]}


def plain_errors(errors: Errors) -> Plain:
    """The figures and groups in JSON's own types."""
    return {
        "lines": errors.lines,
        "explained": errors.explained,
        "benign": errors.benign,
        "unlisted": errors.unlisted,
        "groups": [_plain_group(group) for group in errors.groups],
        "stuck": [
            {
                "kind": stuck.kind,
                "name": stuck.name,
                "node": stuck.node,
                "state": stuck.state,
                "waits_for": stuck.waits_for,
                "since": rfc3339(stuck.since),
                "failure": stuck.failure,
                "retries": stuck.retries,
                "groups": [_plain_group(group) for group in stuck.groups],
            }
            for stuck in errors.stuck
        ],
        "retried": [
            {
                "pod": pod.pod,
                "count": pod.count,
                "begins": rfc3339(pod.begins),
                "ends": rfc3339(pod.ends),
                "goes_on": pod.is_ongoing,
            }
            for pod in errors.retried
        ],
    }


def _plain_group(group: ErrorGroup) -> Plain:
    plain: Plain = {
        "component": group.component,
        "where": group.where,
        "level": str(group.level),
        "says": group.message,
        "count": group.count,
        "begins": rfc3339(group.begins),
        "ends": rfc3339(group.ends),
        "goes_on": group.is_ongoing,
        "subjects": list(group.subjects),
        "source": group.origin.source,
        "line": group.origin.line,
        "sample": group.sample,
    }
    if group.anatomy is not None:
        plain["anatomy"] = group.anatomy.plain()
    reasons = {"explained_by": group.explained_by, "benign": group.benign}
    return plain | {name: reason for name, reason in reasons.items() if reason}
