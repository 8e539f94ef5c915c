"""A comparison as text that may be shown: secrets are redacted, control characters escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvdiag.base.clock import to_datetime
from kvdiag.model.views import ComparedFinding, ComparedSide, Comparison, StepTaken
from kvdiag.report.ansi import file_uri
from kvdiag.report.phrases import cause_phrase, explain_command
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


class ComparedText(NamedTuple):
    """A finding about one side; `cause` is empty for a finding that is a cause itself."""

    text: SafeText
    cause: SafeText
    command: str


class SideText(NamedTuple):
    """One of the two: its steps that are not in the other, its state, and its findings."""

    name: SafeText
    only: tuple[StepText, ...]
    state: str
    findings: tuple[ComparedText, ...]


class ComparisonText:
    """A comparison, as the outputs for people get it."""

    def __init__(self, comparison: Comparison, *, redact: bool) -> None:
        """`redact` is off only where the user asked for it."""
        self._redact = redact
        self.common = self._clean(comparison.common)
        self.slower = [SlowerText(self._clean(step), left, right) for step, left, right in comparison.slower]
        self.sides = (self._side(comparison.left), self._side(comparison.right))

    def _side(self, side: ComparedSide) -> SideText:
        only = tuple(map(self._step, side.only))
        return SideText(self._clean(side.name), only, side.state, tuple(self._findings(side.findings)))

    def _step(self, step: StepTaken) -> StepText:
        event = step.event
        return StepText(
            f"{to_datetime(event.time):%H:%M:%S}",
            self._clean(step.step),
            step.took,
            self._clean(str(event.origin)),
            file_uri(event.origin, redact=self._redact),
        )

    def _findings(self, found: Sequence[ComparedFinding]) -> Iterator[ComparedText]:
        listed = [one.finding for one in found]
        for finding, cause in found:
            yield ComparedText(
                self._clean(f"{finding.rule.name}: {finding.says}"),
                self._clean(cause_phrase(cause, is_listed=cause in listed) if cause else ""),
                explain_command((cause or finding).rule.name),
            )

    def _clean(self, text: str) -> SafeText:
        return clean(text, redact=self._redact)
