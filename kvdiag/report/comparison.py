"""A comparison → text or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

from kvdiag.clock import say_duration, to_datetime
from kvdiag.model.comparison import Comparison, StepTaken
from kvdiag.report import RenderOptions
from kvdiag.report.clean import clean
from kvdiag.report.jsontext import json_text

OUTPUTS = ("text", "json")
MOST = 12  # steps of one side that are named


def write_comparison(comparison: Comparison, output: str, stream: TextIO, options: RenderOptions) -> None:
    """`output` is one of OUTPUTS."""
    if output == "json":
        stream.write(json_text(_plain(comparison), redact=options.redact, indent=1))
        return
    stream.writelines(clean(line, redact=options.redact) + "\n" for line in _lines(comparison))


def _lines(comparison: Comparison) -> Iterator[str]:
    sides = ((comparison.left, comparison.parted_left), (comparison.right, comparison.parted_right))
    if comparison.parted_left is None and comparison.parted_right is None:
        yield f"{comparison.left} and {comparison.right} took the same steps."
    else:
        yield f"They diverge after: {comparison.common or 'no step in common'}"
        for name, stage in sides:
            yield f"  {name}: {_stage(stage) if stage else 'no step that the other lacks'}"
    for name, stages in ((comparison.left, comparison.only_left), (comparison.right, comparison.only_right)):
        if stages:
            yield from ("", f"Only {name} ({len(stages)} steps)")
            yield from (f"  {_stage(stage)}" for stage in stages[:MOST])
            if len(stages) > MOST:
                yield f"  and {len(stages) - MOST} more"
    if comparison.slower:
        yield from ("", "Much slower in one of them")
    for step, left, right in comparison.slower:
        yield f"  {step}: {say_duration(left)} in {comparison.left}, {say_duration(right)} in {comparison.right}"
    if comparison.state_left or comparison.state_right:
        yield ""
        yield f"{comparison.left} is {comparison.state_left}, {comparison.right} is {comparison.state_right}"


def _stage(stage: StepTaken) -> str:
    after = f" after {say_duration(stage.took)}" if stage.took >= 1000 else ""
    return f"{to_datetime(stage.event.time).strftime('%H:%M:%S')} {stage.step}{after}  {stage.event.origin}"


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
    }
