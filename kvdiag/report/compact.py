"""One line per failure, for CI logs: severity, rule, object, place, start, state, count, title.

HIGH      unmount-device-busy  volume pvc-1 on worker-1  kubelet.log:162  2026-11-20T20:39:21Z  over  8x  Unmount …
"""

from __future__ import annotations

from typing import TextIO

from kvdiag.base.clock import to_datetime
from kvdiag.model.report import Finding, Report
from kvdiag.model.values import State, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.incidents import failures, incident_label, merged_finding
from kvdiag.report.markdown import verdict
from kvdiag.safe.clean import clean


def write(report: Report, stream: TextIO, options: RenderOptions) -> None:
    """Print one line for each failure, most severe first, then the number of notes and of unexplained error groups."""
    under = [finding.explained_by for finding in report.findings]
    for incident in failures(report.findings):
        symptoms = sum(under.count(one.key) for one in incident)
        text = line(merged_finding(incident), symptoms, incident_label(incident) if len(incident) > 1 else "")
        stream.write(clean(text, redact=options.redact) + "\n")
    groups = len(report.errors.groups)
    more = [f"{groups} group{'' if groups == 1 else 's'} of errors not explained"] if groups else []
    stream.write("; ".join([f"kvdiag: {verdict(report)}", *more]) + "\n")


def line(finding: Finding, symptoms: int = 0, victims: str = "") -> str:
    """Return a finding in one line. The caller must escape and redact it."""
    node = finding.subject.ids.get("node", "")
    where = f" on {node}" if node and node != finding.subject.name else ""
    parts = [
        f"{finding.severity.label.upper():8}",
        finding.rule.name,
        f"{finding.subject.kind} {finding.subject.name}{where}",
        *([str(finding.evidence[0].event.origin)] if finding.evidence else []),
        to_datetime(finding.begins).strftime("%Y-%m-%dT%H:%M:%SZ"),
        *([str(finding.state)] if finding.state is not State.UNKNOWN else []),
        *([f"{finding.count}x"] if finding.count > 1 else []),
    ]
    sure = "" if finding.verdict is Verdict.CONFIRMED else " (possible)"
    victims = f" ({victims})" if victims else ""
    explains = f" (explains {symptoms} more)" if symptoms else ""
    return "  ".join([*parts, f"{finding.row_title}{sure}{victims}{explains}"])
