"""A comparison as text that may be shown: secrets are redacted, control characters escaped."""

from __future__ import annotations

from typing import NamedTuple

from kvdiag.base.clock import to_datetime
from kvdiag.model.views import ComparedSide, Comparison, StepTaken
from kvdiag.report.ansi import file_uri
from kvdiag.report.line_text import FindingLine, finding_line
from kvdiag.safe.clean import SafeText, clean


class StepText(NamedTuple):
    """A step of one side: `took` microseconds since the step before. `link` leads to its line, or is empty."""

    clock: str
    step: SafeText
    took: int
    place: SafeText
    link: str


class SlowerText(NamedTuple):
    """A step that took much longer in one side, in microseconds."""

    step: SafeText
    left: int
    right: int


class SideText(NamedTuple):
    """One of the two: its steps that are not in the other, its state, and its findings."""

    name: SafeText
    only: tuple[StepText, ...]
    state: str
    findings: tuple[FindingLine, ...]


class ComparisonText:
    """A comparison, as the outputs for people get it."""

    def __init__(self, comparison: Comparison, *, redact: bool) -> None:
        """`redact` is off only where the user asked for it."""
        self._redact = redact
        self.common = self._clean(comparison.common)
        self.slower = [SlowerText(self._clean(step), left, right) for step, left, right in comparison.slower]
        self.sides = (self._side(comparison.left), self._side(comparison.right))

    def _side(self, side: ComparedSide) -> SideText:
        listed = [one.finding for one in side.findings]
        findings = tuple(finding_line(one, cause, listed, redact=self._redact) for one, cause in side.findings)
        return SideText(self._clean(side.name), tuple(map(self._step, side.only)), side.state, findings)

    def _step(self, step: StepTaken) -> StepText:
        event = step.event
        return StepText(
            f"{to_datetime(event.time):%H:%M:%S}",
            self._clean(step.step),
            step.took,
            self._clean(str(event.origin)),
            file_uri(event.origin, redact=self._redact),
        )

    def _clean(self, text: str) -> SafeText:
        return clean(text, redact=self._redact)
