"""A comparison as plain JSON values."""

from __future__ import annotations

from typing import Any

from kvdiag.model.views import ComparedFinding, Comparison, StepTaken


def plain_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return what `-o json` prints."""
    left, right = comparison.left, comparison.right
    return {
        "left": left.name,
        "right": right.name,
        "common": comparison.common,
        "parted_left": _plain_step(left.parted),
        "parted_right": _plain_step(right.parted),
        "only_left": [_plain_step(one) for one in left.only],
        "only_right": [_plain_step(one) for one in right.only],
        "slower": [{"step": s, "left": a / 1_000_000, "right": b / 1_000_000} for s, a, b in comparison.slower],
        "state_left": left.state,
        "state_right": right.state,
        "found_left": [_plain_finding(one) for one in left.findings],
        "found_right": [_plain_finding(one) for one in right.findings],
    }


def _plain_step(step: StepTaken | None) -> dict[str, Any] | None:
    if step is None:
        return None
    origin = step.event.origin
    return {"step": step.step, "seconds": step.took / 1_000_000, "source": origin.source, "line": origin.line}


def _plain_finding(found: ComparedFinding) -> dict[str, Any]:
    finding, cause = found
    return {"rule": finding.rule.name, "says": finding.says, "because": cause.rule.name if cause else None}
