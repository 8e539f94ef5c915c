"""What is smaller than a pod or a node is told by `same`: a container of a pod, an image or a registry of a node."""

from __future__ import annotations

import io

import pytest

from kvdiag.analysis.rule_tests import history_of
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.model.report import Finding, FindingTexts, Report
from kvdiag.model.rule import RuleTest
from kvdiag.model.timeline import Entity
from kvdiag.model.values import SubjectKind, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.fingerprint import fingerprint
from kvdiag.report.outputs import write_report
from kvdiag.rules.findings import find
from kvdiag.rules.incidents import with_incidents
from kvdiag.rules.schema import read_rule
from tests.rules.one_rule import one_rule
from tests.rules.test_rank import finding

RULE = """
id: KV999
name: mine
title: Something again and again
severity: medium
status: experimental
role: cause
per: {per}
breaks: [pod.end]
events:
  told: {{line: '{line}', anchor: 'tried'}}
when: at least 3 told
same: [{same}]
counts: told
says: "{{{same}}} again and again"
cause: Nobody knows.
fix: [{{text: Look at it.}}]
not-when: [It happens once.]
references: [https://kubernetes.io/docs/]
tests: [{{name: none, log: nothing, finds: {{}}}}]
"""
HEAD = "E0312 08:1{}:00.000000    2201 mine.go:1] "
POD = 'pod="shop/web-0" podUID="1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"'


@pytest.mark.parametrize(
    ("per", "same", "line", "one", "other"),
    [
        ("pod", "container_name", 'tried container {container_name} pod="{pod}" podUID="{pod_uid}"', "app", "proxy"),
        ("node", "image", "tried image {image}", "registry.example.com/app:1", "registry.example.com/other:1"),
        ("node", "server", "tried registry {server}", "registry.example.com", "mirror.example.com"),
    ],
)
def test_a_part_of_a_subject(per, same, line, one, other):
    """Three times for one of them is a finding that names it; two times for each of two are none.

    Of a node each part has its finding, of a pod the first.
    """
    rule = read_rule(RULE.format(per=per, same=same, line=line), "mine.yaml", {})
    vocabulary = load_vocabulary(builtin_patterns() / "events", list(rule.lines))
    what = {"container_name": "container", "image": "image", "server": "registry"}[same]
    rest = f" {POD}" if per == "pod" else ""

    def findings(*names: str) -> list[Finding]:
        log = "".join(f"{HEAD.format(n)}tried {what} {name}{rest}\n" for n, name in enumerate(names))
        return list(find((rule,), history_of(log, RuleTest("t", log, {}), vocabulary), vocabulary.kinds))

    assert findings(one, other, one, other) == []
    (first,) = findings(one, other, one, other, one)
    assert (first.verdict, first.count, first.subject.ids[same]) == (Verdict.CONFIRMED, 3, one)
    both = findings(*[one, other] * 3)
    assert [it.subject.part for it in both] == ([one, other] if per == "node" else [""])
    assert len({it.key for it in both}) == len({fingerprint(it) for it in both}) == len(both)


def test_parts_of_a_node_are_one_incident():
    """They are told once, each by its name; with one of them the subject's line says which."""
    node = Entity(SubjectKind.NODE, "worker-1", "worker-1", {"node": "worker-1"})
    rule = one_rule(per=SubjectKind.NODE, same=("device",), title="The disk fails", name="bad-disk")
    disks = [
        finding("bad-disk", SubjectKind.NODE, "worker-1", 0, 60)._replace(
            rule=rule,
            subject=node._replace(part=part, ids={"node": "worker-1", "device": part}),
            texts=FindingTexts(says=f"{part} fails"),
        )
        for part in ("sda", "sdb")
    ]
    stream = io.StringIO()
    write_report("text", Report("1", (), (), tuple(with_incidents(disks))), stream, RenderOptions())
    assert "2 devices of worker-1: sda, sdb" in stream.getvalue()
    stream = io.StringIO()
    write_report("text", Report("1", (), (), tuple(with_incidents(disks[:1]))), stream, RenderOptions())
    assert "device sda of node worker-1" in stream.getvalue()
