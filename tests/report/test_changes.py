"""Findings told one by one, in each output that has no end."""

from __future__ import annotations

import io
import json
from functools import cache

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.base.clock import to_datetime
from kvdiag.model.options import Options
from kvdiag.model.report import Finding
from kvdiag.report import RenderOptions
from kvdiag.report.changes import CHANGES
from tests.conftest import SAMPLES


@cache
def cause() -> Finding:
    """Give a finding."""
    return analyze(Options(paths=(str(SAMPLES / "hostpath-driver-lost-state"),))).findings[0]


def told(output: str, *, is_over: bool = False) -> str:
    """Give what is printed of a change."""
    out = io.StringIO()
    CHANGES[output](cause(), cause().ends, out, RenderOptions(), is_over=is_over)
    return out.getvalue()


def test_compact():
    """A change is a line: when it was seen, what came of it, and the finding."""
    when = to_datetime(cause().ends).strftime("%Y-%m-%dT%H:%M:%SZ")
    for is_over, word in ((False, "FOUND"), (True, "OVER ")):
        said = told("compact", is_over=is_over)
        assert said.startswith(f"{when}  {word}  MEDIUM    csi-nodeunpublish-state-lost  volume pvc-")
        assert said.count("\n") == 1


@pytest.mark.parametrize("output", ["json", "ndjson"])
def test_json(output):
    """A change is an object on a line."""
    said = told(output)
    assert said.count("\n") == 1
    assert json.loads(said)["finding"]["rule"] == "csi-nodeunpublish-state-lost"
