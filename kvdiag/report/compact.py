"""One line per failure, for CI logs: severity, rule, object, place, start, state, count, title.

HIGH      unmount-device-busy  volume pvc-1 on worker-1  kubelet.log:162  2026-11-20T20:39:21Z  over  8x  Unmount …
"""

from __future__ import annotations

from typing import TextIO

from kvdiag.base.clock import rfc3339
from kvdiag.report import RenderOptions
from kvdiag.report.phrases import count_noun
from kvdiag.report.report_text import FindingText, ReportText


def write(report: ReportText, stream: TextIO, options: RenderOptions) -> None:  # noqa: ARG001 (as every output)
    """Failures, the gravest first; what is for information only is counted."""
    stream.writelines(f"{line(finding)}\n" for finding in report.failures)
    groups = len(report.errors.groups)
    more = [f"{count_noun(groups, 'group')} of errors not explained"] if groups else []
    stream.write("; ".join([f"kvdiag: {report.verdict}", *more]) + "\n")


def line(finding: FindingText) -> str:
    """A finding in a line."""
    parts = [
        f"{finding.severity.label.upper():8}",
        finding.rule,
        finding.subject.name_on_node,
        *([finding.lines[0].place] if finding.lines else []),
        *([rfc3339(finding.begins, "seconds")] if finding.undated is None else []),
        *([finding.state_word] if finding.state_word else []),
        *([f"{finding.count}x"] if finding.count > 1 else []),
    ]
    sure = " (possible)" if finding.is_possible else ""
    symptoms = sum(symptom.count for symptom in finding.symptoms)
    explains = f" (explains {symptoms} more)" if symptoms else ""
    victims = f" ({finding.subject.short})" if len(finding.subject.victims) > 1 else ""
    return "  ".join([*parts, f"{finding.row_title}{sure}{victims}{explains}"])
