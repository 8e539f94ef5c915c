"""Print a comparison of two subjects or logs as text or JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from kvdiag.base.clock import format_duration, to_datetime
from kvdiag.model.comparison import ComparedFinding, Comparison, StepTaken
from kvdiag.report import RenderOptions
from kvdiag.report.ansi import file_uri, linked
from kvdiag.report.jsontext import json_text
from kvdiag.report.phrases import cause_phrase, explain_command
from kvdiag.safe.clean import clean

OUTPUTS = ("text", "json")
LEAST = 40  # columns
MOST = 12  # steps of one side that are named


def write_comparison(comparison: Comparison, output: str, stream: TextIO, options: RenderOptions) -> None:
    """Print the comparison; `output` is one of OUTPUTS."""
    if output == "json":
        stream.write(json_text(_plain(comparison), redact=options.redact, indent=1))
        return
    stream.writelines(line + "\n" for line in _ComparisonText(comparison, options).lines())


class _ComparisonText:
    """The comparison as lines of text, escaped and redacted."""

    def __init__(self, comparison: Comparison, options: RenderOptions) -> None:
        self.comparison, self.options = comparison, options
        self.left, self.right = self._clean(comparison.left), self._clean(comparison.right)

    def lines(self) -> Iterator[str]:
        """Yield the point where both diverge, then steps of one side only, slower steps, states and findings."""
        comparison = self.comparison
        if comparison.parted_left is None and comparison.parted_right is None:
            yield f"{self.left} and {self.right} took the same steps."
        else:
            yield f"They diverge after: {self._clean(comparison.common) or 'no step in common'}"
            for name, stage in ((self.left, comparison.parted_left), (self.right, comparison.parted_right)):
                yield f"  {name}: {self._stage(stage) if stage else 'no step that the other lacks'}"
        yield from self._only(self.left, comparison.only_left)
        yield from self._only(self.right, comparison.only_right)
        if comparison.slower:
            yield from ("", "Much slower in one of them")
        for step, left, right in comparison.slower:
            took = f"{format_duration(left)} in {self.left}, {format_duration(right)} in {self.right}"
            yield f"  {self._clean(step)}: {took}"
        if comparison.state_left or comparison.state_right:
            yield ""
            yield f"{self.left} is {comparison.state_left}, {self.right} is {comparison.state_right}"
        yield from self._found(self.left, comparison.found_left)
        yield from self._found(self.right, comparison.found_right)

    def _only(self, name: str, stages: Sequence[StepTaken]) -> Iterator[str]:
        if stages:
            yield from ("", f"Only {name} ({len(stages)} steps)")
            yield from (f"  {self._stage(stage)}" for stage in stages[:MOST])
        if len(stages) > MOST:
            yield f"  and {len(stages) - MOST} more"

    def _found(self, name: str, found: Sequence[ComparedFinding]) -> Iterator[str]:
        """Yield the findings about one side, with the command that explains the cause, or the finding without one."""
        if found:
            yield from ("", f"Found of {name}")
        for finding, cause in found[:MOST]:
            yield from self._wrapped(f"{finding.rule.name}: {finding.says}", 2)
            if cause is not None:
                yield from self._wrapped(cause_phrase(cause, is_listed=any(cause is one.finding for one in found)), 4)
            yield f"    $ {explain_command((cause or finding).rule.name)}"
        if len(found) > MOST:
            yield f"  and {len(found) - MOST} more"

    def _stage(self, stage: StepTaken) -> str:
        after = f" after {format_duration(stage.took)}" if stage.took >= 1000 else ""
        origin, redact = stage.event.origin, self.options.redact
        place = linked(self._clean(str(origin)), file_uri(origin, redact=redact) if self.options.links else "")
        return f"{to_datetime(stage.event.time).strftime('%H:%M:%S')} {self._clean(stage.step)}{after}  {place}"

    def _wrapped(self, text: str, indent: int) -> list[str]:
        margin = " " * indent
        return textwrap.wrap(
            self._clean(text),
            max(LEAST, self.options.width),
            initial_indent=margin,
            subsequent_indent=margin,
            break_on_hyphens=False,
        )

    def _clean(self, text: str) -> str:
        return clean(text, redact=self.options.redact)


def _plain(comparison: Comparison) -> dict[str, Any]:
    def stage(one: StepTaken | None) -> dict[str, Any] | None:
        if one is None:
            return None
        origin = one.event.origin
        return {"step": one.step, "seconds": one.took / 1_000_000, "source": origin.source, "line": origin.line}

    return {
        "left": comparison.left,
        "right": comparison.right,
        "common": comparison.common,
        "parted_left": stage(comparison.parted_left),
        "parted_right": stage(comparison.parted_right),
        "only_left": [stage(one) for one in comparison.only_left],
        "only_right": [stage(one) for one in comparison.only_right],
        "slower": [{"step": s, "left": a / 1_000_000, "right": b / 1_000_000} for s, a, b in comparison.slower],
        "state_left": comparison.state_left,
        "state_right": comparison.state_right,
        "found_left": [_found(one) for one in comparison.found_left],
        "found_right": [_found(one) for one in comparison.found_right],
    }


def _found(found: ComparedFinding) -> dict[str, Any]:
    finding, cause = found
    return {"rule": finding.rule.name, "says": finding.says, "because": cause.rule.name if cause else None}
