"""What a team knows of is left out, as long as it said so, and nothing else is."""

from __future__ import annotations

from datetime import date
from functools import cache

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.analysis.baselines import leave_out, read_baseline, read_suppressions, write_baseline
from kvdiag.base.errors import PatternError, UsageError
from kvdiag.model.options import Options
from kvdiag.model.report import Finding, Report
from kvdiag.report.fingerprint import fingerprint

TODAY = date(2026, 11, 22)
RULES = ("csi-nodeunpublish-state-lost", "KV310")
ENTRY = """
- rule: {}
  subject: "volume pvc-*"
  reason: the driver is replaced in spring
  expires: {}
"""


@cache
def incident() -> Report:
    """A cause with two symptoms."""
    return analyze(Options(paths=("sample-logs/hostpath-driver-lost-state",)))


def called(name: str, **ids: str) -> Finding:
    """The cause, of a subject of this name."""
    cause = incident().findings[0]
    return cause._replace(subject=cause.subject._replace(name=name, ids=ids))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("shop/web-6d4cf56db6-x7k2p", "shop/web-7f9bc8d5c4-q8zwt", True),
        ("shop/web-x7k2p", "shop/web-q8zwt", True),
        ("shop/web-0", "shop/web-1", False),
        ("shop/web-app", "shop/web-api", False),
        ("pvc-3126ba07-e71e-4ea5-bf21-3bdb0bd507e4", "pvc-1c09e90a-26ae-4a19-9093-b321d0982bb1", True),
        ("shop/web-blue", "shop/web-green", False),
    ],
)
def test_a_fingerprint_stays_when_a_pod_is_made_anew(one, other, same):
    """What is generated counts for nothing, what people call it does."""
    assert (fingerprint(called(one, node="n1")) == fingerprint(called(other, node="n1"))) is same
    assert fingerprint(called(one, node="n1")) != fingerprint(called(one, node="n2"))


def test_a_baseline_knows_what_it_was_written_of(tmp_path):
    """Findings of the baseline are left out with their symptoms, and counted."""
    path = tmp_path / "baseline.json"
    write_baseline(path, incident().findings[:1])
    left = leave_out(incident(), read_baseline(path), (), TODAY)
    assert left.findings == ()
    assert left.notes[-1] == "left out: 1 known from the baseline, 2 of their symptoms"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "kvdiag.baseline/9", "findings": []}', "[" * 100_000, "\xff"]
)
def test_what_is_no_baseline(tmp_path, text):
    """A file of another kind is said to be none."""
    path = tmp_path / "baseline.json"
    path.write_text(text, "latin-1")
    with pytest.raises(UsageError, match="--write-baseline"):
        read_baseline(path)
    with pytest.raises(UsageError, match="no such file"):
        read_baseline(tmp_path / "missing.json")


@pytest.mark.parametrize(("expires", "counts"), [("2026-11-22", 0), ("2026-11-21", 3)])
@pytest.mark.parametrize("rule", RULES)
def test_a_suppression_counts_to_its_last_day(tmp_path, rule, expires, counts):
    """On the day after, what it covers is reported again, and that it ended is said with its place."""
    path = tmp_path / "known.yaml"
    path.write_text(ENTRY.format(rule, expires), "utf-8")
    left = leave_out(incident(), (), read_suppressions(path, RULES), TODAY)
    assert len(left.findings) == counts
    assert ("left out: 1 suppressed" in left.notes[-1]) is (counts == 0)
    assert (f"known.yaml:2:3: expired on {expires}" in left.notes[-1]) is (counts > 0)


def test_another_subject_is_not_covered(tmp_path):
    """A suppression of another volume covers nothing."""
    path = tmp_path / "known.yaml"
    path.write_text(ENTRY.format("KV310", "2027-01-01").replace("pvc-*", "pvc-9*"), "utf-8")
    assert leave_out(incident(), (), read_suppressions(path, RULES), TODAY) == incident()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ENTRY.format("no-such-rule", "2027-01-01"), "known.yaml:2:9: unknown rule 'no-such-rule'"),
        (ENTRY.format("KV310", "soon"), "known.yaml:5:12: expires: write a day such as 2027-03-31, not 'soon'"),
        ("- {rule: KV310, expires: 2027-01-01}", "known.yaml:1:3: the key 'reason' is missing"),
        ("- {rule: KV310, reason: x, until: 2027-01-01, expires: 2027-01-01}", "known.yaml:1:28: unknown key 'until'"),
        ("rule: KV310", "known.yaml:1:1: a list is expected here"),
    ],
)
def test_what_is_no_suppression(tmp_path, text, said):
    """A fault is told with its place."""
    path = tmp_path / "known.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(PatternError) as caught:
        read_suppressions(path, RULES)
    assert said in str(caught.value)
