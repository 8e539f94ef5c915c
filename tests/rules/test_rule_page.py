"""A rule as a page of text."""

from __future__ import annotations

from kvdiag.rules.rule_page import show_rule
from kvdiag.rules.schema import read_rule

RULE = """\
id: KV399
name: csi-invented-fault
title: Something went wrong
severity: high
status: stable
per: volume
applies: {kubelet: ">=1.22"}
bugs:
  - {component: kubelet, affected: "<1.27", fixed: ["1.27.0"], reference: "https://example.org/1"}
  - {component: csi-driver, affected: "<2.0"}
events:
  failed: {kind: [volume.unpublish.failed, volume.unstage.failed], error: ["*busy*", "*found*"]}
  done: {kind: volume.unpublish.succeeded}
when: at least 3 failed lasting 90s and no done after failed until end
says: x
cause: |
  One line,
  and another.
fix:
  - text: Look.
    run: findmnt {target_path}
  - {text: Unmount., run: "umount {target_path}", after: nothing uses it}
not-when: [it looks alike]
explains: [csi-other]
references: ["https://example.org/2"]
tests: []
"""

PAGE = """\
KV399 csi-invented-fault
Something went wrong (high, stable, per volume)

Found when
  at least 3 failed lasting 90s and no done after failed until end

Where
  failed: volume.unpublish.failed or volume.unstage.failed, error like *busy* or *found*
  done: volume.unpublish.succeeded

Applies to
  kubelet >=1.22

Why
  One line,
  and another.

Known defects
  kubelet <1.27: fixed in 1.27.0 https://example.org/1
  csi-driver <2.0: fixed in no known release

What to do
  1. Look.
     $ findmnt {target_path}
  2. Unmount. Only when nothing uses it.
     $ umount {target_path}

Look-alikes
  it looks alike

Explains
  csi-other

See
  https://example.org/2"""


def test_a_page():
    """Everything a rule says stands under fixed headings."""
    assert [line.rstrip() for line in show_rule(read_rule(RULE, "x.yaml")).split("\n")] == PAGE.split("\n")


def test_what_a_rule_does_not_say_has_no_heading():
    """A heading without anything under it is left out."""
    text = "\n".join(line for line in RULE.split("\n") if not line.startswith(("not-when", "explains", "references")))
    assert [
        line for line in show_rule(read_rule(text, "x.yaml")).split("\n") if line in {"Look-alikes", "Explains", "See"}
    ] == []
