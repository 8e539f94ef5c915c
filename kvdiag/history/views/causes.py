"""What explains a finding in the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kvdiag.model.report import Finding


def causes(findings: Iterable[Finding]) -> Mapping[str, Finding]:
    """By the key of each symptom the cause at the top of its chain, as far as that was found."""
    known = {finding.key: finding for finding in findings}
    tops = ((key, _top(finding, known)) for key, finding in known.items())
    return {key: top for key, top in tops if top is not known[key]}


def _top(finding: Finding, known: Mapping[str, Finding]) -> Finding:
    for _ in known:  # no chain is longer
        above = known.get(finding.explained_by or "")
        if above is None:
            break
        finding = above
    return finding
