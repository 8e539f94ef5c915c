"""The graph of what needs what: as a file, and along which a failure spreads."""

from __future__ import annotations

import pytest

from kvdiag.base.errors import PatternError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.model.values import Role
from kvdiag.rules.capabilities import CAPABILITIES, Capabilities, capabilities, capability_faults
from kvdiag.rules.capability_file import read_capabilities
from tests.rules.one_rule import one_rule

FILE = """\
- {capability: disk, label: the disk, on: node, collect: ["df -h"]}
- {capability: runtime, label: the runtime, on: node, needs: [disk], collect: ["{journal:runtime since 1h}"]}
- {capability: pod, label: the pod, on: pod, needs: [runtime]}
"""
KNOWN = Capabilities(read_capabilities(FILE, "x.yaml"))


def test_the_file_that_comes_with_kvdiag():
    """It can be read, each word of a label is there, and the cache gives the same."""
    path = builtin_patterns() / CAPABILITIES
    assert tuple(capabilities()) == read_capabilities(path.read_text("utf-8"), str(path))


def test_a_failure_spreads_to_what_needs_it():
    """Along any number of steps, and never downwards."""
    assert KNOWN.spreads("disk", "pod")
    assert KNOWN.spreads("pod", "pod")
    assert not KNOWN.spreads("pod", "disk")
    assert KNOWN.needs_of("pod") == {"disk", "runtime"}
    assert [KNOWN.depth(one_rule(breaks=(name,))) for name in ("disk", "runtime", "pod", "unknown")] == [0, 1, 2, 0]


def test_what_to_collect():
    """The rule's own, then what shows the capability, then what shows its needs."""
    rule = one_rule(suffers=("pod",), collect=("own",))
    assert KNOWN.to_collect(rule) == ["own", "{journal:runtime since 1h}", "df -h"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("on: pod", "on: cloud", "x.yaml:3:41: unknown 'cloud'"),
        ("needs: [disk]", "needs: [dsk]", "unknown capability 'dsk'; did you mean 'disk'?"),
        ("needs: [disk]", "needs: [pod]", "needs itself, directly or indirectly"),
        ("capability: pod", "capability: disk", "disk is given twice"),
        ("{journal:runtime since 1h}", "{journal:cloud since 1h}", "no distribution defines {journal:cloud since 1h}"),
        ("label: the pod, ", "", "label"),
    ],
)
def test_faults_of_the_file(old, new, said):
    """A fault is told with its place and what was meant."""
    with pytest.raises(PatternError) as caught:
        read_capabilities(FILE.replace(old, new), "x.yaml")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({}, "give 'breaks' or 'suffers'"),
        ({"breaks": ("dsk",)}, "unknown capability 'dsk'; did you mean 'disk'?"),
        ({"breaks": ("disk",), "suffers": ("pod",)}, "it suffers from pod, which needs disk, that it breaks itself"),
        ({"breaks": ("disk",), "role": Role.SYMPTOM}, "a symptom cannot have 'breaks'; use 'suffers'"),
    ],
)
def test_faults_of_a_rule(parts, said):
    """Lint demands of every rule what it breaks or suffers from, in this order of needs."""
    assert any(said in fault for fault in capability_faults(one_rule(**parts), KNOWN))
    assert list(capability_faults(one_rule(breaks=("pod",), suffers=("disk",)), KNOWN)) == []
