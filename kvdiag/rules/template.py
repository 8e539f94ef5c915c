"""The template of a new rule: everything that a rule must have, for its author to fill in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from kvdiag.base.errors import UsageError
from kvdiag.model.rule import Rule
from kvdiag.rules.schema import RULE_NAME


class _Family(NamedTuple):
    """The first draft for a family of rules: the failure of a subject, and what ends it."""

    digit: int  # first digit of the family's ids
    per: str
    breaks: str
    failed: str
    done: str
    look: str  # a command that shows the state of the subject


FAMILIES: Mapping[str, _Family] = {
    "pod": _Family(
        *(1, "pod", "container.make", "container.start.failed", "container.started.recorded"),
        "kubectl describe pod -n {namespace} {pod_name}",
    ),
    "volume": _Family(
        *(2, "volume", "volume.unpublish", "volume.unpublish.failed", "volume.unpublish.succeeded"),
        "findmnt {target_path}",
    ),
    "csi": _Family(
        *(3, "volume", "volume.stage", "csi.nodestage.failed", "csi.nodestage.succeeded"),
        "findmnt {staging_path}",
    ),
    "sandbox": _Family(
        *(4, "pod", "sandbox.make", "sandbox.create.failed", "sandbox.created"),
        "crictl pods --namespace {namespace} --name {pod_name}",
    ),
    "runtime": _Family(
        *(5, "node", "runtime.serve", "runtime.call.failed", "runtime.booted"),
        "crictl info",
    ),
    "node": _Family(
        *(6, "node", "node.ready", "node.not-ready", "node.ready"),
        "kubectl describe node {node}",
    ),
}

_TEXT = """\
id: {id}
name: {name}
title: What went wrong, in one line
# heading: the title of a finding, with its object: "OOMKilled: container {{container_name}}[[ of pod {{pod}}]]"
severity: medium                # info low medium high critical
status: experimental            # stable when it has met real logs
per: {per}
breaks: [{breaks}]              # or suffers: what patterns/capabilities.yaml calls it
events:                         # names for the sentence below; kinds are in docs/event-kinds.md
  failed: {{kind: {failed}}}
  done: {{kind: {done}}}
when: at least 3 failed and no done after failed until end
says: What is wrong with {{{says}}}, in one sentence.
cause: |
  Why it happens, in two to five lines.
fix:
  - text: Look first.
    run: {look}
references: []
not-when: []
tests:
  - name: a log in which it is found
    log: |
      paste the lines here
    finds: {{the-subject: confirmed}}
  - name: a log that looks alike
    log: |
      paste the lines here
    finds: {{}}
"""


FIRST_USER_ID = 900
PLACEHOLDER_TEXTS = ("What went wrong, in one line", "What is wrong with", "Why it happens, in two to five lines.")
LOG, SUBJECT = "paste the lines here", "the-subject"


def unfilled(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield texts of the template that the author has not changed, with the path of their key."""
    for path, text in (("title", rule.title), ("says", rule.says), ("cause", rule.cause)):
        if text.startswith(PLACEHOLDER_TEXTS):
            yield path, f"'{text}' is text of the template; replace it"
    for number, test in enumerate(rule.tests):
        if LOG in test.log:
            yield f"tests.{number}.log", f"'{LOG}' is text of the template; paste lines of a log"
        if SUBJECT in test.finds:
            yield (
                f"tests.{number}.finds.{SUBJECT}",
                f"'{SUBJECT}' is text of the template; name the pod, volume or node",
            )


def new_rule(name: str, family: str, used_ids: Collection[str], *, is_user_rule: bool = False) -> str:
    """Return the text of a new rule with the next free id of its family. Raise UsageError for an invalid name.

    Ids of users' rules have four digits and end in 900 to 999, which no built-in rule uses.
    """
    if not RULE_NAME.fullmatch(name):
        raise UsageError(f"{name!r}: use lower-case words joined by dashes, such as csi-nodeunstage-missing")
    draft = FAMILIES[family]
    digit = draft.digit
    builtin_numbers = chain(
        range(digit * 100 + 1, digit * 100 + 100), range(digit * 1000, digit * 1000 + FIRST_USER_ID)
    )
    numbers = range(digit * 1000 + FIRST_USER_ID, digit * 1000 + 1000) if is_user_rule else builtin_numbers
    free = next(f"KV{number}" for number in numbers if f"KV{number}" not in used_ids)
    fields = draft._asdict() | {"id": free, "name": name, "says": draft.per}
    return _TEXT.format(**fields)
