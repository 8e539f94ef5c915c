"""A comparison as text that may be shown: secrets are redacted, control characters escaped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvdiag.base.clock import to_datetime
from kvdiag.model.views import ComparedFinding, Comparison, StepTaken
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
    """One of the two: the step where it diverges, if any, its steps that are not in the other, and its findings."""

    name: SafeText
    parted: StepText | None
    only: tuple[StepText, ...]
    state: str
    found: tuple[ComparedText, ...]


class ComparisonText:
    """A comparison, as the outputs for people get it."""

    def __init__(self, comparison: Comparison, *, redact: bool) -> None:
        """`redact` is off only where the user asked for it."""
        self._redact, one = redact, comparison
        self.common = self._clean(one.common)
        self.slower = [SlowerText(self._clean(step), left, right) for step, left, right in one.slower]
        self.sides = (
            SideText(
                self._clean(one.left),
                self._step(one.parted_left) if one.parted_left else None,
                tuple(map(self._step, one.only_left)),
                one.state_left,
                self._found(one.found_left),
            ),
            SideText(
                self._clean(one.right),
                self._step(one.parted_right) if one.parted_right else None,
                tuple(map(self._step, one.only_right)),
                one.state_right,
                self._found(one.found_right),
            ),
        )

    def _step(self, step: StepTaken) -> StepText:
        event = step.event
        return StepText(
            f"{to_datetime(event.time):%H:%M:%S}",
            self._clean(step.step),
            step.took,
            self._clean(str(event.origin)),
            file_uri(event.origin, redact=self._redact),
        )

    def _found(self, found: Sequence[ComparedFinding]) -> tuple[ComparedText, ...]:
        listed = [one.finding for one in found]
        return tuple(
            ComparedText(
                self._clean(f"{finding.rule.name}: {finding.says}"),
                self._clean(cause_phrase(cause, is_listed=cause in listed) if cause else ""),
                explain_command((cause or finding).rule.name),
            )
            for finding, cause in found
        )

    def _clean(self, text: str) -> SafeText:
        return clean(text, redact=self._redact)
