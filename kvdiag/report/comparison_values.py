"""A comparison as plain JSON values."""

from __future__ import annotations

from typing import Any

from kvdiag.model.views import ComparedFinding, Comparison, StepTaken


def plain_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return what `-o json` prints."""

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
