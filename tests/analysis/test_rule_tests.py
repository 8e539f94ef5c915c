"""A rule's own tests are run as a user's log would be."""

from __future__ import annotations

import pytest

from kvdiag.analysis.rule_tests import run_tests
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.rules.schema import read_rule

RULE = """\
id: KV199
name: invented
title: Something
severity: low
per: pod
events:
  added: {kind: pod.added}
  created: {kind: pod.worker.created}
  mine: {line: 'my driver lost {pod}', anchor: my driver lost, component: csi-driver}
when: SENTENCE
says: x
cause: y
tests:
  - name: the one
    log: |
      I0312 08:00:00.000000    2201 kubelet.go:1] "SyncLoop ADD" source="api" pods=["shop/web-0"]
      I0312 08:00:01.000000    2201 pod_workers.go:1] "Pod is being synced for the first time" pod="shop/web-0" podUID="1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
      ==> driver.log <==
      I0312 08:00:02.000000       1 a.go:1] my driver lost shop/web-0
    finds: {shop/web-0: confirmed}
    options: OPTIONS
"""


def verdict(sentence, options="{}"):
    """Give what the rule's one test got, and whether it passed."""
    rule = read_rule(RULE.replace("SENTENCE", sentence).replace("OPTIONS", options), "x.yaml")
    (result,) = run_tests(rule, load_vocabulary(builtin_patterns() / "events", rule.lines))
    return dict(result.got), result.passed


@pytest.mark.parametrize(
    ("sentence", "got", "passed"),
    [
        ("added then created", {"shop/web-0": "confirmed low"}, True),
        ("added then created then mine", {"shop/web-0": "confirmed low"}, True),
        ("created then added", {}, False),
        ("mine then created", {}, False),
        ("added and no mine after added within 1m", {}, False),
        ("added and no mine before added", {"shop/web-0": "possible low"}, False),
    ],
)
def test_a_rule_is_tried(sentence, got, passed):
    """The findings of the excerpt, which may be of several files, must be just those that the test names."""
    assert verdict(sentence) == (got, passed)


def test_options_of_a_test():
    """A test may say the year, the zone, and versions that its excerpt does not show."""
    assert verdict("added then created", "{year: 2020, tz: '+08:00', kubelet: v1.29.3}") == (
        {"shop/web-0": "confirmed low"},
        True,
    )
