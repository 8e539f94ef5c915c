"""A known defect against the versions seen: affected, fixed, or not to be told."""

from __future__ import annotations

import pytest

from kvdiag.model.rule import Bug
from kvdiag.model.timeline import SeenVersion
from kvdiag.rules.bugs import applies, find_version, known_bugs, status
from tests.rules.one_rule import one_rule

AFFECTED = "<1.29.13 || >=1.30 <1.30.9"


def banner(version, component="kubelet", node="", time=None):
    """Give a version that a log printed."""
    return SeenVersion(component, version.removeprefix("v"), "banner", node, time=time)


def wording(span, component="kubelet"):
    """Give a version that was only inferred."""
    return SeenVersion(component, "", "wording", span=span)


def option(version, component="kubelet"):
    """Give a version that the user named."""
    return SeenVersion(component, version, "option")


def rule(*bugs, **affected):
    """Give a rule with these defects that applies to these versions."""
    return one_rule(bugs=bugs, applies=affected)


@pytest.mark.parametrize(
    ("version", "state"),
    [
        (banner("v1.29.12"), "affected"),
        (banner("v1.29.13"), "fixed"),
        (banner("v1.30.8+k3s1"), "affected"),
        (banner("v1.30.9-eks-2d5f260"), "fixed"),
        (banner("1.29.3~ds1"), "affected"),
        (banner("devel"), "unknown"),
        (wording(">=1.26 <1.29"), "affected"),
        (wording(">=1.31"), "fixed"),
        (wording(">=1.27"), "unknown"),
        (wording("<1.29.13 || >=1.30 <1.30.5"), "affected"),
        (wording("<1.30"), "unknown"),
    ],
)
def test_status(version, state):
    """A version is affected or not; a range of wordings only when all of it is, and else nobody can tell."""
    assert status(version, AFFECTED) == state


@pytest.mark.parametrize(
    ("versions", "node", "how", "version"),
    [
        ([wording(">=1.27"), banner("v1.28.0"), option("1.29.0")], "", "option", "1.29.0"),
        ([wording(">=1.27"), banner("v1.28.0")], "", "banner", "1.28.0"),
        ([wording(">=1.27")], "", "wording", ""),
        ([banner("v1.28.0", node="a"), banner("v1.29.0", node="b")], "b", "banner", "1.29.0"),
        ([banner("v1.28.0", node="a")], "", "banner", "1.28.0"),
        ([banner("v1.28.0")], "b", "banner", "1.28.0"),
        ([banner("v1.28.0", node="a"), wording(">=1.27")], "b", "wording", ""),
    ],
)
def test_what_is_known_best(versions, node, how, version):
    """What the user says beats what a log printed, that beats what was inferred; another node's version is not mine."""
    found = find_version("kubelet", versions, node)
    assert (found.how, found.version) == (how, version)


@pytest.mark.parametrize(
    ("at", "version"), [(5, "1.24.3"), (10, "1.24.3"), (19, "1.24.3"), (20, "1.25.0"), (99, "1.25.0"), (None, "1.25.0")]
)
def test_the_version_of_the_moment(at, version):
    """Of a component that was upgraded the version that ran at that moment counts, before any banner the first."""
    versions = [banner("v1.25.0", time=20), banner("v1.24.3", time=10)]
    assert find_version("kubelet", versions, "", at).version == version


def test_a_version_never_seen():
    """Of a component that nobody speaks of no version is known, nor from another node."""
    assert find_version("containerd", [banner("v1.28.0")], "") is None
    assert find_version("kubelet", [banner("v1.28.0", node="a")], "b") is None


KUBELET = Bug(component="kubelet", affected=AFFECTED, fixed=("1.30.9", "1.29.13"), reference="https://example.org/1")


@pytest.mark.parametrize(
    ("versions", "state", "shown", "says"),
    [
        ([banner("v1.29.3")], "affected", "1.29.3", "kubelet 1.29.3: affected, fixed in 1.30.9, 1.29.13"),
        (
            [banner("v1.29.3+k3s1")],
            "affected",
            "1.29.3+k3s1",
            (
                "kubelet 1.29.3+k3s1: upstream 1.29.3 is affected, fixed in 1.30.9, 1.29.13; "
                "vendor build +k3s1 may include the fix"
            ),
        ),
        (
            [banner("v1.31.0")],
            "fixed",
            "1.31.0",
            f"kubelet 1.31.0: not affected (affected: {AFFECTED}); look for another cause",
        ),
        (
            [wording(">=1.22 <1.27")],
            "affected",
            "1.22–1.26",
            "kubelet 1.22–1.26 (from log wording): affected, fixed in 1.30.9, 1.29.13",
        ),
        (
            [wording(">=1.27")],
            "unknown",
            "≥ 1.27",
            f"kubelet ≥ 1.27 (from log wording): cannot tell; affected: {AFFECTED}, fixed in 1.30.9, 1.29.13",
        ),
        (
            [],
            "unknown",
            "",
            f"kubelet version not found in these logs; affected: {AFFECTED}, fixed in 1.30.9, 1.29.13",
        ),
    ],
)
def test_what_is_said_of_a_defect(versions, state, shown, says):
    """A defect is told with the version seen, how it is known, and the releases with the fix."""
    (bug,) = known_bugs(rule(KUBELET), versions, "", {})
    assert (bug.status, bug.version, bug.sentence) == (state, shown, says)
    assert (bug.fixed, bug.reference) == (KUBELET.fixed, KUBELET.reference)


def test_a_defect_nobody_has_fixed():
    """A defect without a release that fixes it says so, and with it what could not be verified."""
    (bug,) = known_bugs(
        rule(Bug(component="kubelet", affected="<2.0", doubt="read in the source only")), [banner("v1.29.3")], "", {}
    )
    assert bug.sentence == "kubelet 1.29.3: affected, no fixed release known (read in the source only)"


def test_a_defect_of_one_driver():
    """A defect of a CSI driver concerns the findings about that driver, by the version of that driver."""
    bug = Bug(component="csi-driver", affected="<1.12", where={"driver": "*.example.org"})
    versions = [
        banner("v1.11.0", "disk.example.org"),
        banner("v1.13.0", "other.example.com"),
        banner("v9", "csi-driver"),
    ]
    assert [b.status for b in known_bugs(rule(bug), versions, "", {"driver": "disk.example.org"})] == ["affected"]
    assert list(known_bugs(rule(bug), versions, "", {"driver": "other.example.com"})) == []
    assert list(known_bugs(rule(bug), versions, "", {})) == []


@pytest.mark.parametrize(
    ("versions", "node", "applied"),
    [
        ([], "", True),
        ([banner("v1.25.0")], "", True),
        ([banner("v1.27.0")], "", False),
        ([banner("v1.27.0", node="a")], "b", True),
        ([wording(">=1.26")], "", True),
        ([wording(">=1.27")], "", False),
        ([wording(">=1.27"), option("1.25.0")], "", True),
    ],
)
def test_where_a_rule_applies(versions, node, applied):
    """A rule is left out only where a version seen rules it out for sure."""
    assert applies(rule(kubelet=">=1.22 <1.27"), versions, node, 0) is applied


def test_a_defect_of_one_way_to_match():
    """A defect with names concerns a finding only if one of them is part of the match."""
    bug = Bug(component="kubelet", affected="<1.30", by=("timed_out",))
    versions = [banner("v1.29.3")]
    assert [b.status for b in known_bugs(rule(bug), versions, "", {}, bound=("timed_out", "released"))] == ["affected"]
    assert list(known_bugs(rule(bug), versions, "", {}, bound=("staged", "released"))) == []
    assert list(known_bugs(rule(bug), versions, "", {})) == []
