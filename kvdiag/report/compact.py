"""A line a cause, for the log of a CI job: severity, place, of what, what it says.

HIGH      csi-nodeunpublish-state-lost  volume pvc-1 on worker-1  kubelet.log:162  The driver … answers without …
"""

from __future__ import annotations

from typing import TextIO

from kvdiag.model.report import Finding, Report
from kvdiag.model.values import Severity, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.markdown import verdict
from kvdiag.safe.clean import clean


def write(report: Report, stream: TextIO, options: RenderOptions) -> None:
    """Causes, the gravest first; what is for information only is counted."""
    causes = [finding for finding in report.findings if finding.explained_by is None]
    alarms = [finding for finding in causes if finding.severity > Severity.INFO]
    under = [finding.explained_by for finding in report.findings]
    lines = (line(finding, under.count(finding.key)) for finding in alarms)
    stream.writelines(clean(line, redact=options.redact) + "\n" for line in lines)
    groups = len(report.errors.groups)
    more = [f"{groups} group{'' if groups == 1 else 's'} of errors not explained"] if groups else []
    stream.write("; ".join([f"kvdiag: {verdict(report)}", *more]) + "\n")


def line(finding: Finding, symptoms: int = 0) -> str:
    """What a finding is in a line; words of a log in it are not made safe to show yet."""
    node = finding.subject.ids.get("node", "")
    where = f" on {node}" if node and node != finding.subject.name else ""
    place = f"  {finding.evidence[0].event.origin}" if finding.evidence else ""
    sure = "" if finding.verdict is Verdict.CONFIRMED else " (possible)"
    explains = f" (explains {symptoms} more)" if symptoms else ""
    subject = f"{finding.subject.kind} {finding.subject.name}{where}"
    return f"{finding.severity.label.upper():8}  {finding.rule.name}  {subject}{place}  {finding.says}{sure}{explains}"
