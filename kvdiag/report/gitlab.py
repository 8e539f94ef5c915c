"""Write GitLab's code quality report: https://docs.gitlab.com/ci/testing/code_quality/."""

from __future__ import annotations

from typing import Any

from kvdiag.model.report import Finding, Report
from kvdiag.model.values import Severity, Verdict
from kvdiag.report.fingerprint import fingerprint
from kvdiag.report.phrases import in_checkout

_SEVERITIES = {
    Severity.CRITICAL: "blocker",
    Severity.HIGH: "critical",
    Severity.MEDIUM: "major",
    Severity.LOW: "minor",
    Severity.INFO: "info",
}


def value(report: Report, *, redact: bool) -> list[dict[str, Any]]:  # noqa: ARG001 (as every value; no command in it)
    """A list of causes; GitLab takes one of each fingerprint."""
    causes = {fingerprint(one): one for one in reversed(report.findings) if one.explained_by is None}
    return [_row(key, finding) for key, finding in reversed(causes.items())]


def _row(key: str, finding: Finding) -> dict[str, Any]:
    origin = finding.evidence[0].event.origin if finding.evidence else None
    sure = "" if finding.verdict is Verdict.CONFIRMED else "possible: "
    return {
        "description": f"{sure}{finding.says}",
        "check_name": finding.rule.name,
        "fingerprint": key,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": in_checkout(origin.source) if origin else "kvdiag",
            "lines": {"begin": max(1, origin.line) if origin else 1},
        },
    }
