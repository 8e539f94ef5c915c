"""Write SARIF 2.1.0 for GitHub code scanning and other viewers of static analysis.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
A finding is a result; its lines of evidence are locations; a symptom names the result that explains it. GitHub reads
at most 25,000 results and shows 5,000. It requires a location for each, complete regions and a help text for each rule,
and recognizes a result of an earlier run by `primaryLocationLineHash` only:
https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
"""

from __future__ import annotations

from typing import Any

from kvdiag.model.report import Evidence, Finding, Report
from kvdiag.model.rule import Rule
from kvdiag.model.values import Severity, Verdict
from kvdiag.report.fingerprint import fingerprint
from kvdiag.report.phrases import explain_command, format_doubt, safe_fix, uri
from kvdiag.report.timeline.row_texts import event_label

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
HOME = "https://github.com/kvdiag/kvdiag"
MOST = 5_000  # results that GitHub shows
MOST_LOCATIONS = 10
FINGERPRINT = "kvdiagFinding/v1"
GITHUB_FINGERPRINT = "primaryLocationLineHash"
Plain = dict[str, Any]
_PROBLEM = {"error": "error", "warning": "warning", "note": "recommendation"}


def value(report: Report, *, redact: bool) -> Plain:
    """One log with one run; findings beyond `MOST`, which are the least grave, are counted in its properties."""
    kept = report.findings[:MOST]
    rules = list({finding.rule.id: finding.rule for finding in kept}.values())
    numbers = {rule.id: number for number, rule in enumerate(rules)}
    driver: Plain = {"name": "kvdiag", "version": report.version, "semanticVersion": report.version}
    driver |= {"informationUri": HOME, "rules": [_rule(rule) for rule in rules]}
    run: Plain = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "invocations": [_invocation(report)],
        "results": [_result(finding, numbers, report, redact=redact) for finding in kept],
        "properties": {"leftOut": len(report.findings) - len(kept)},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _invocation(report: Report) -> Plain:
    fields: Plain = {"executionSuccessful": not report.problems}
    notes = [{"level": "error", "message": {"text": text}} for text in report.problems]
    return fields | ({"toolExecutionNotifications": notes} if notes else {})


def _rule(rule: Rule) -> Plain:
    fields: Plain = {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": " ".join(rule.title.split())},
        "help": {
            "text": f"{rule.title}\n\nWhat it looks for, why it happens and what to do: {explain_command(rule.name)}"
        },
        "defaultConfiguration": {"level": level(rule.severity)},
        "properties": {
            "tags": [str(rule.per), rule.severity.label],
            "problem.severity": _PROBLEM[level(rule.severity)],
        },
    }
    link = next((one for one in rule.references if one.startswith("https://")), "")
    return fields | ({"helpUri": link} if link else {})


def _result(finding: Finding, numbers: dict[str, int], report: Report, *, redact: bool) -> Plain:
    known = fingerprint(finding)
    fields: Plain = {
        "ruleId": finding.rule.id,
        "ruleIndex": numbers[finding.rule.id],
        "level": level(finding.severity) if finding.verdict is Verdict.CONFIRMED else "note",
        "message": {"text": _message(finding, redact=redact)},
        "locations": [_location(one) for one in finding.evidence[:1]] or [_nowhere(report)],
        "relatedLocations": [
            _location(one) | {"id": number, "message": {"text": event_label(one.event)}}
            for number, one in enumerate(finding.evidence[1:MOST_LOCATIONS], start=1)
        ],
        "partialFingerprints": {FINGERPRINT: known, GITHUB_FINGERPRINT: f"{known[:16]}:1"},
        "occurrenceCount": max(1, finding.count),
        "properties": {"severity": finding.severity.label, "verdict": str(finding.verdict), "key": finding.key},
    }
    if finding.explained_by:
        fields["properties"]["explainedBy"] = finding.explained_by
    return fields


def level(severity: Severity) -> str:
    """Return the SARIF level of a severity."""
    return "error" if severity >= Severity.HIGH else "warning" if severity is Severity.MEDIUM else "note"


def _message(finding: Finding, *, redact: bool) -> str:
    steps = [
        f"{number}. {fix.text}{f' Only when {fix.after}.' if fix.after else ''}{f' $ {fix.run}' if fix.run else ''}"
        for number, fix in enumerate((safe_fix(one, redact=redact) for one in finding.texts.all.fix), start=1)
    ]
    doubts = [f"Not certain: {format_doubt(doubt)}" for doubt in finding.doubts]
    sure = "" if finding.verdict is Verdict.CONFIRMED else "Possible: "
    return "\n".join([f"{sure}{finding.says}", " ".join(finding.texts.all.cause.split()), *doubts, *steps])


def _location(evidence: Evidence) -> Plain:
    """Return the place and the text of a line of evidence."""
    origin, text = evidence.event.origin, evidence.event.text
    return _physical(origin.source, max(1, origin.line), text)


def _nowhere(report: Report) -> Plain:
    """Return the first line of the first log, for a finding without evidence: GitHub requires a location."""
    return _physical(report.inputs[0].source if report.inputs else "kvdiag", 1, "")


def _physical(source: str, line: int, text: str) -> Plain:
    """Return the location of a whole line; columns count UTF-16 code units from 1."""
    ends = len(text.encode("utf-16-le", "surrogatepass")) // 2 + 1
    region: Plain = {"startLine": line, "startColumn": 1, "endLine": line, "endColumn": ends}
    region |= {"snippet": {"text": text}} if text else {}
    return {"physicalLocation": {"artifactLocation": {"uri": uri(source)}, "region": region}}
