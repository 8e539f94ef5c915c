"""A message, or a piece of one, and the rules whose words it shares."""

from __future__ import annotations

import pytest

from kvdiag.analysis.explain import Explainer
from kvdiag.base.errors import InputError
from kvdiag.explain.page import LinePage
from kvdiag.explain.text import line_text
from kvdiag.history.ingest.log_reader import TextInput


@pytest.fixture(scope="module")
def explainer():
    return Explainer()


def page_of(explainer: Explainer, line: str) -> LinePage:
    problems: list[InputError] = []
    (page,) = explainer.lines(TextInput("line", line.encode()), problems.append)
    assert not problems
    return page


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        ("device or resource busy", "unmount-device-busy"),
        ("Still not  fully TERMINATED", "pod-worker-not-terminated"),
        ('lstat /x/vol_data.json: no such file or directory"', "csi-vol-data-json-missing"),
        ("rbd: image disk-1 is locked by other nodes", "rbd-image-still-used"),
    ],
)
def test_rules_of_a_message(explainer, message, rule):
    """A glob that asks for less, a glob or wording that says more; quotes, blanks and case tell nothing apart."""
    assert rule in [fit.rule for fit in explainer.fits(message)]


def test_best_first(explainer):
    """More that is shared comes first."""
    fits = explainer.fits("failed to remove dir /x: device or resource busy")
    assert [fit.letters for fit in fits] == sorted((fit.letters for fit in fits), reverse=True)
    assert fits[0].rule == "csi-nodeunpublish-state-lost"


@pytest.mark.parametrize("message", ["what a nice day it is", "busy", "is", "* ? [a"])
def test_no_rule(explainer, message):
    """Nothing in common, or too little of it."""
    assert not explainer.fits(message)


def test_page_of_a_message(explainer):
    """Of what has no head of a line the rules are told by their words, unless it is an event that rules look at."""
    text = line_text(page_of(explainer, "umount /x: device or resource busy"))
    assert "Fits       " in text
    page = page_of(explainer, "no basic auth credentials")
    assert page.rules == ("image-pull-not-found",)
    assert not page.fits


def test_whole_line(explainer):
    """A line as a program writes it says what it is."""
    page = page_of(explainer, 'E0312 08:00:00.000000 1 a.go:1] "No" err="device or resource busy"')
    assert not page.fits
