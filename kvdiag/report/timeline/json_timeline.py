"""Write timelines as a JSON list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from kvdiag.base.clock import rfc3339
from kvdiag.model.lifecycle import TimelineRow, TimelineView
from kvdiag.model.report import Finding
from kvdiag.model.timeline import Entity
from kvdiag.report import RenderOptions
from kvdiag.report.jsontext import write_json
from kvdiag.report.timeline.row_texts import row_text, step_name


def write(views: Sequence[TimelineView], stream: TextIO, options: RenderOptions) -> None:
    """Write an indented list of objects with a newline at the end."""
    write_json(map(plain, views), stream, redact=options.redact)


def plain(view: TimelineView) -> dict[str, Any]:
    """Return one timeline as plain JSON values: times are RFC 3339 in UTC, gaps and durations are in seconds."""
    life = view.life
    return {
        "subject": {"kind": str(life.subject.kind), "name": life.subject.name, "ids": dict(life.subject.ids)},
        "machine": life.machine,
        "state": life.state,
        "since": rfc3339(life.since),
        "waits_for": life.waits_for,
        "rows": (_row(row, life.subject) for row in view.rows),
        "phases": [
            {
                "name": p.name,
                "begins": rfc3339(p.begins),
                "ends": rfc3339(p.ends),
                "by": p.by,
            }
            for p in view.phases
        ],
        "clocks": [{"node": s.node, "least": _seconds(s.low), "most": _seconds(s.high)} for s in view.skews],
        "findings": [_finding(finding, view) for finding in view.findings],
    }


def _finding(finding: Finding, view: TimelineView) -> dict[str, Any]:
    fields = {"rule": finding.rule.name, "verdict": str(finding.verdict), "says": finding.says}
    cause = view.causes.get(finding.key)
    subject = {"kind": str(cause.subject.kind), "name": cause.subject.name} if cause else None
    return {**fields, "because": {"rule": cause.rule.name, "subject": subject, "says": cause.says} if cause else None}


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1_000_000


def _row(row: TimelineRow, subject: Entity) -> dict[str, Any]:
    event = row.transition.event
    return {
        "time": rfc3339(event.time),
        "gap": round(row.gap / 1_000_000, 6),
        "component": event.component,
        "kind": event.kind,
        "step": step_name(row, subject),
        "state": row.transition.state,
        "legal": row.transition.legal,
        "certain": row.transition.certain,
        "says": row_text(row),
        "marks": list(row.marks),
        "foreign": row.foreign,
        "repeats": row.repeats,
        "until": rfc3339(row.until),
        "source": event.origin.source,
        "line": event.origin.line,
        "text": event.text,
    }
