"""Render a finding as plain text lines, for JUnit and for agents: cause, evidence, steps, symptoms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvdiag.model.report import Evidence, Finding
from kvdiag.report import RenderOptions
from kvdiag.report.doubts import format_doubt
from kvdiag.report.safe_commands import safe_fix
from kvdiag.safe.clean import clean, shortened

LONGEST = 600  # characters of a log line


def plain_lines(
    finding: Finding, symptoms: Sequence[Finding], options: RenderOptions, *, quote: str = "", longest: int = LONGEST
) -> Iterator[str]:
    """Yield escaped and redacted lines; `quote` is put before each log line."""

    def safe(text: str) -> str:
        return clean(text, redact=options.redact)

    yield f"Why: {safe(' '.join(finding.cause.split()))}"
    yield from (f"Not certain: {safe(format_doubt(one))}" for one in finding.doubts)
    yield from (quote + line for line in evidence_lines(finding, options, longest))
    for number, fix in enumerate((safe_fix(one, redact=options.redact) for one in finding.fix), start=1):
        yield safe(f"{number}. {fix.text}{f' Only when {fix.after}.' if fix.after else ''}")
        if fix.run:
            yield f"   $ {safe(fix.run)}"
    yield from (safe(f"Explains {symptom.rule.name}: {symptom.says}") for symptom in symptoms)


def evidence_lines(finding: Finding, options: RenderOptions, longest: int = LONGEST) -> list[str]:
    """Return the lines of evidence, each after its place."""
    return [_evidence(one, options, longest) for one in finding.evidence]


def _evidence(evidence: Evidence, options: RenderOptions, longest: int) -> str:
    many = f" ×{evidence.total}" if evidence.total > 1 else ""
    text = shortened(clean(evidence.event.text, redact=options.redact), longest)
    return f"{clean(str(evidence.event.origin))}{many}  {text}"
