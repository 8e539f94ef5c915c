"""A report without the findings that are known, and without the symptoms that only they explain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from kvdiag.analysis.baselines.suppressions import Suppression, expired
from kvdiag.model.report import Finding, Report
from kvdiag.report.fingerprint import fingerprint


def leave_out(report: Report, known: Collection[str], suppressions: Sequence[Suppression], today: date) -> Report:
    """The report without findings whose fingerprint is known or that a suppression covers; notes say how many."""
    over = expired(suppressions, today)
    valid = [one for one in suppressions if one not in over]
    old = {finding.key for finding in report.findings if known and fingerprint(finding) in known}
    borne = {finding.key for finding in report.findings if any(one.covers(finding) for one in valid)}
    gone = _with_symptoms(report.findings, old | borne)
    notes = [f"{len(old)} known from the baseline"] if old else []
    notes += [f"{len(borne - old)} suppressed"] if borne - old else []
    notes += [f"{len(gone - old - borne)} of their symptoms"] if gone - old - borne else []
    said = [f"left out: {', '.join(notes)}"] if notes else []
    said += [f"{one.place}: expired on {one.expires}; {one.rule} counts again" for one in over]
    return report._replace(
        findings=tuple(finding for finding in report.findings if finding.key not in gone),
        needs=tuple(need for need in report.needs if not gone.issuperset(need.findings)),
        notes=(*report.notes, *said),
    )


def _with_symptoms(findings: Sequence[Finding], keys: set[str]) -> set[str]:
    """The keys, and those of the symptoms under them."""
    gone = set(keys)
    for _ in findings:
        more = {finding.key for finding in findings if finding.explained_by in gone} - gone
        if not more:
            break
        gone |= more
    return gone
