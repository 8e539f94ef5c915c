"""Write the report as JSON; the schema is report.schema.json."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kvdiag.base.clock import rfc3339
from kvdiag.base.versions import format_range, read_range
from kvdiag.model.report import BugMatch, Evidence, Finding, Need, Reading, Report
from kvdiag.model.rule import Fix
from kvdiag.model.timeline import SeenVersion
from kvdiag.report.errors_json import plain_errors
from kvdiag.report.incidents import failures
from kvdiag.report.phrases import format_doubt, safe_fix

SCHEMA = "kvdiag.report/1"
Plain = dict[str, Any]


def value(report: Report, *, redact: bool = True) -> Plain:
    """The report in JSON's own types, what may be long one by one; times are RFC 3339 in UTC."""
    severities = Counter(finding.severity.label for finding in report.findings)
    alarms = failures(report.findings)
    return {
        "schema": SCHEMA,
        "tool": {"name": "kvdiag", "version": report.version},
        "inputs": map(_input, report.inputs),
        "problems": [*report.problems, *_nothing_recognized(report)],
        "versions": [_version(version) for version in report.versions],
        "findings": (finding(one, redact=redact) for one in report.findings),
        "to_be_certain": [_need(need) for need in report.needs],
        "errors": plain_errors(report.errors),
        "summary": {
            "failures": len(alarms),
            "worst": max(one[0].severity for one in alarms).label if alarms else "none",
            "findings": len(report.findings),
            "by_severity": dict(severities),
            "unread_lines": sum(reading.unread for reading in report.inputs),
        },
    }


def _nothing_recognized(report: Report) -> list[str]:
    """Return the problem that no line was recognized; the exit code is 3 then."""
    if any(reading.records for reading in report.inputs) or report.problems or not report.inputs:
        return []
    return [f"{reading.source}: no log lines recognized" for reading in report.inputs]


def _input(reading: Reading) -> Plain:
    fields: Plain = {
        "source": reading.source,
        "format": reading.format,
        "component": reading.component,
        "node": reading.node,
        "lines": reading.lines,
        "records": reading.records,
        "recognised": reading.recognised,
        "unread": reading.unread,
        "truncated": reading.truncated,
        "begins": rfc3339(reading.begins),
        "ends": rfc3339(reading.ends),
        "clock": reading.clock,
    }
    return fields | ({"sampled": True} if reading.sampled else {})


def _version(version: SeenVersion) -> Plain:
    shown = version.version or format_range(read_range(version.span))
    fields: Plain = {"component": version.component, "version": shown, "how": version.how}
    if version.node:
        fields["node"] = version.node
    if version.origin:
        fields |= {"source": version.origin.source, "line": version.origin.line}
    return fields


def finding(found: Finding, *, redact: bool = True) -> Plain:
    """Return one finding as plain JSON values."""
    found = found._replace(texts=found.texts.all)
    fields: Plain = {
        "rule": found.rule.name,
        "id": found.rule.id,
        "key": found.key,
        "title": found.rule.title,
        "title_object": found.title,
        "severity": found.severity.label,
        "verdict": str(found.verdict),
        "role": str(found.role),
        "subject": {
            "kind": str(found.subject.kind),
            "name": found.subject.name,
            "ids": {name.replace("volume_handle", "handle"): value for name, value in found.subject.ids.items()},
        },
        "begins": rfc3339(found.begins),
        "ends": rfc3339(found.ends),
        "state": str(found.state),
        "healed": rfc3339(found.healed),
        "deleted": rfc3339(found.deleted),
        "count": found.count,
        "says": found.says,
        "cause": found.texts.all.cause,
        "bugs": [_bug(bug) for bug in found.texts.all.bugs],
        "fix": [_fix(safe_fix(fix, redact=redact)) for fix in found.texts.all.fix],
        "evidence": [_evidence(evidence) for evidence in found.evidence],
        "doubts": [format_doubt(doubt) for doubt in found.doubts],
        "references": list(found.rule.references),
        "explains": list(dict.fromkeys((*found.rule.explains, *found.explains))),
        "explained_by": found.explained_by,
        "through": list(found.through),
        "incident": found.incident,
        "collect": list(found.collect),
    }
    return fields | ({"anatomy": found.anatomy.plain()} if found.anatomy else {})


def _fix(fix: Fix) -> Plain:
    fields = {"text": fix.text, "run": fix.run, "after": fix.after}
    return fields | ({"withheld": fix.withheld} if fix.withheld else {})


def _bug(bug: BugMatch) -> Plain:
    return {
        "component": bug.component,
        "version": bug.version,
        "status": bug.status,
        "fixed": list(bug.fixed),
        "reference": bug.reference,
        "says": bug.sentence,
    }


def _need(need: Need) -> Plain:
    return {
        "component": need.component,
        "verbosity": need.verbosity,
        "begins": rfc3339(need.begins),
        "ends": rfc3339(need.ends),
        "findings": list(need.findings),
        "run": need.run,
    }


def _evidence(evidence: Evidence) -> Plain:
    event = evidence.event
    return {
        "step": evidence.step,
        "kind": event.kind,
        "source": event.origin.source,
        "line": event.origin.line,
        "time": rfc3339(event.time),
        "text": event.text,
        "of": evidence.total,
    }
