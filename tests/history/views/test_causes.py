"""What explains a finding in the end: the top of its chain, as far as that was found."""

from __future__ import annotations

from functools import cache

from kvdiag.analysis.analyze import analyze
from kvdiag.history.views.causes import causes
from kvdiag.model.options import Options
from kvdiag.model.report import Finding
from tests.conftest import SAMPLES


@cache
def incident() -> tuple[Finding, ...]:
    """Give a cause, its symptom and the symptom of that."""
    cause, near, far = analyze(Options(paths=(str(SAMPLES / "hostpath-driver-lost-state"),))).findings
    return cause, near._replace(explained_by=cause.key), far._replace(explained_by=near.key)


def test_the_top_of_the_chain():
    """A symptom of a symptom has the cause of both; a cause has none."""
    cause, near, far = incident()
    assert causes(incident()) == {near.key: cause, far.key: cause}


def test_a_cause_that_was_left_out():
    """What is not among the findings explains nothing."""
    _, near, far = incident()
    assert causes((near, far)) == {far.key: near}
