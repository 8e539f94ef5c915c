"""Print a comparison of two subjects or logs as text or JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from kvdiag.base.clock import format_duration
from kvdiag.model.views import Comparison
from kvdiag.report import RenderOptions
from kvdiag.report.ansi import linked
from kvdiag.report.comparison_text import ComparisonText, SideText, StepText
from kvdiag.report.comparison_values import plain_comparison
from kvdiag.report.jsontext import write_json
from kvdiag.report.line_text import FindingLine

OUTPUTS = ("text", "json")
LEAST = 40  # columns
MOST = 12  # steps of one side that are named


def write_comparison(comparison: Comparison, output: str, stream: TextIO, options: RenderOptions) -> None:
    """Print the comparison; `output` is one of OUTPUTS."""
    if output == "json":
        write_json(plain_comparison(comparison), stream, redact=options.redact)
        return
    text = ComparisonText(comparison, redact=options.redact)
    stream.writelines(line + "\n" for line in _Renderer(text, options).lines())


class _Renderer:
    def __init__(self, text: ComparisonText, options: RenderOptions) -> None:
        self.text, self.options = text, options

    def lines(self) -> Iterator[str]:
        """Yield the point where both diverge, then steps of one side only, slower steps, states and findings."""
        text = self.text
        left, right = text.sides
        if not left.only and not right.only:
            yield f"{left.name} and {right.name} took the same steps."
        else:
            yield f"They diverge after: {text.common or 'no step in common'}"
            for side in text.sides:
                yield f"  {side.name}: {self._step(side.only[0]) if side.only else 'no step that the other lacks'}"
        for side in text.sides:
            yield from self._only(side)
        if text.slower:
            yield from ("", "Much slower in one of them")
        for slower in text.slower:
            took = f"{format_duration(slower.left)} in {left.name}, {format_duration(slower.right)} in {right.name}"
            yield f"  {slower.step}: {took}"
        if left.state or right.state:
            yield ""
            yield f"{left.name} is {left.state}, {right.name} is {right.state}"
        for side in text.sides:
            yield from self._findings(side.name, side.findings)

    def _only(self, side: SideText) -> Iterator[str]:
        if side.only:
            yield from ("", f"Only {side.name} ({len(side.only)} steps)")
            yield from (f"  {self._step(step)}" for step in side.only[:MOST])
        if len(side.only) > MOST:
            yield f"  and {len(side.only) - MOST} more"

    def _findings(self, name: str, found: Sequence[FindingLine]) -> Iterator[str]:
        """Yield the findings about one side, with the command that explains the cause, or the finding without one."""
        if found:
            yield from ("", f"Found of {name}")
        for one in found[:MOST]:
            yield from self._wrapped(one.text, 2)
            yield from self._wrapped(one.cause, 4)
            yield f"    $ {one.command}"
        if len(found) > MOST:
            yield f"  and {len(found) - MOST} more"

    def _step(self, step: StepText) -> str:
        after = f" after {format_duration(step.took)}" if step.took >= 1000 else ""
        return f"{step.clock} {step.step}{after}  {linked(step.place, step.link if self.options.links else '')}"

    def _wrapped(self, text: str, indent: int) -> list[str]:
        margin = " " * indent
        return textwrap.wrap(
            text,
            max(LEAST, self.options.width),
            initial_indent=margin,
            subsequent_indent=margin,
            break_on_hyphens=False,
        )
