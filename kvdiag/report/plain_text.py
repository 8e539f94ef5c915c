"""Render a finding as plain text lines, for JUnit and for agents: cause, evidence, steps, symptoms."""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.report.report_text import FindingText
from kvdiag.safe.clean import shortened

LONGEST = 600  # characters of a log line


def plain_lines(finding: FindingText, *, quote: str = "", longest: int = LONGEST) -> Iterator[str]:
    """Lines about a finding; those of a log begin with `quote`."""
    yield f"Why: {' '.join(finding.why)}"
    yield from (f"Not certain: {doubt}" for doubt in finding.doubts)
    yield from (quote + line for line in evidence_lines(finding, longest))
    for number, step in enumerate(finding.steps, start=1):
        yield f"{number}. {step.text}"
        if step.run:
            yield f"   $ {step.run}"
    yield from (f"Explains {symptom.rule}: {symptom.text}" for symptom in finding.symptoms)


def evidence_lines(finding: FindingText, longest: int = LONGEST) -> list[str]:
    """The lines that a finding rests on, each behind its place."""
    return [
        f"{line.place}{f' ×{line.count}' if line.count > 1 else ''}  {shortened(line.text, longest)}"
        for line in finding.lines
    ]
