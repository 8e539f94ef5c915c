"""Remove known findings from a report, together with the symptoms that only they explain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from kvdiag.analysis.baselines.suppressions import Suppression, expired
from kvdiag.model.report import Finding, Report
from kvdiag.report.fingerprint import fingerprint


def leave_out(report: Report, known: Collection[str], suppressions: Sequence[Suppression], today: date) -> Report:
    """Return the report without findings in the baseline or covered by a suppression; its notes contain the number."""
    outdated = expired(suppressions, today)
    valid = [one for one in suppressions if one not in outdated]
    in_baseline = {finding.key for finding in report.findings if known and fingerprint(finding) in known}
    suppressed = {finding.key for finding in report.findings if any(one.covers(finding) for one in valid)}
    removed = _with_symptoms(report.findings, in_baseline | suppressed)
    notes = [f"{len(in_baseline)} known from the baseline"] if in_baseline else []
    notes += [f"{len(suppressed - in_baseline)} suppressed"] if suppressed - in_baseline else []
    notes += (
        [f"{len(removed - in_baseline - suppressed)} of their symptoms"] if removed - in_baseline - suppressed else []
    )
    lines = [f"left out: {', '.join(notes)}"] if notes else []
    lines += [f"{one.place}: expired on {one.expires}; {one.rule} counts again" for one in outdated]
    return report._replace(
        findings=tuple(finding for finding in report.findings if finding.key not in removed),
        needs=tuple(need for need in report.needs if not removed.issuperset(need.findings)),
        notes=(*report.notes, *lines),
    )


def _with_symptoms(findings: Sequence[Finding], keys: set[str]) -> set[str]:
    """Return the keys together with those of their symptoms."""
    removed = set(keys)
    for _ in findings:
        more = {finding.key for finding in findings if finding.explained_by in removed} - removed
        if not more:
            break
        removed |= more
    return removed
