"""Read a rule file into a `Rule`; errors have file:line:column and a suggestion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from kvdiag.base.decode import (
    Record,
    block,
    duration,
    each,
    known,
    line,
    matching,
    one_of,
    one_or_more,
    table,
    version_range,
)
from kvdiag.base.errors import PatternError
from kvdiag.base.suggestions import suggestion
from kvdiag.base.yamlread import Node, read_yaml
from kvdiag.model.rule import Bug, Fix, Healing, Proof, Rule, Selector
from kvdiag.model.values import EMPTY, Role, SubjectKind
from kvdiag.rules.grammar import aliases, position, read_condition
from kvdiag.rules.schema_tests import read_tests
from kvdiag.rules.selectors import Groups, read_events

OR_NODE = " or node"
PER = [str(kind) for kind in SubjectKind] + [f"{kind}{OR_NODE}" for kind in SubjectKind if kind is not SubjectKind.NODE]
RULE_ID = re.compile(r"KV[1-9]\d{2,3}")
RULE_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9.]+)*")


def _per(node: Node) -> SubjectKind:
    return SubjectKind(one_of(PER)(node).removesuffix(OR_NODE))


_NAMES = each(Node.word)  # of selectors
_RULE = Record(
    Rule,
    keys={"look_alikes": "not-when"},
    given=("events", "lines", "or_node", "places"),
    others=("events", "recovers"),
    required=("events", "tests"),
    missing={"status": "experimental", "role": Role.CAUSE},
    id=matching(RULE_ID, "an id is KV and three or four digits, the first of them the family"),
    name=matching(RULE_NAME, "use lower-case words joined by dashes, such as csi-nodeunstage-missing"),
    heading=line,
    status=one_of(("experimental", "stable", "retired")),
    per=_per,
    when=Node.word,
    says=line,
    cause=block,
    fix=each(Record(Fix, given=("withheld",), text=line, run=line, after=line, causes=each(Node.text))),
    applies=table(version_range),
    bugs=each(Record(Bug, affected=version_range, fixed=one_or_more(Node.text), by=_NAMES)),
    proof=Record(Proof, by=_NAMES, doubt=line),
    cut=_NAMES,
    counts=Node.word,
    shows=_NAMES,
    follows=_NAMES,
    alarm=_NAMES,
    cause_from=_NAMES,
    clocks=_NAMES,
    healed=Record(Healing, given=("by",), missing={"by": ()}, says=line, after=duration),
    look_alikes=each(line),
    tests=lambda node: read_tests(node.sequence()),
)


KEYS = _RULE.keys


def read_rule(text: str, file: str, groups: Groups = EMPTY) -> Rule:
    """Return the rule in `text`; `file` is the path for messages. Raise PatternError at the first error.

    `groups` are the named groups of kinds, which are words without a dot.
    """
    node = read_yaml(text, file)
    top = _RULE.table(node)
    events, lines = read_events(top["events"], top["name"].text(), groups)
    selectors = _with_aliases(events, top["when"])
    or_node = top["per"].text().endswith(OR_NODE)
    rule = _RULE(node, events=selectors, lines=lines, or_node=or_node, places=dict(node.places()))
    for fault in known(_named(rule), selectors):
        raise fault
    recovers = _recovers(top, selectors)
    when = read_condition(top["when"].text(), selectors, top["when"].place, recovers)
    is_symptom = "role" not in top and "suffers" in top and "breaks" not in top
    return rule._replace(
        when=when,
        role=Role.SYMPTOM if is_symptom else rule.role,
        healed=rule.healed and rule.healed._replace(by=recovers),
    )


def _named(rule: Rule) -> Iterator[str]:
    """Yield the names of selectors that the keys of a rule list."""
    yield from (
        *rule.cut,
        *rule.shows,
        *rule.follows,
        *rule.alarm,
        *rule.cause_from,
        *rule.clocks,
        *([rule.counts] if rule.counts else []),
    )
    yield from (*(rule.proof.by if rule.proof else ()), *(name for bug in rule.bugs for name in bug.by))


def _recovers(top: Mapping[str, Node], selectors: Mapping[str, Selector]) -> tuple[str, ...]:
    """Return the names whose events end the fault. Raise PatternError without a text for a fault that is over."""
    if "recovers" in top and "healed" not in top:
        raise top["recovers"].error("'recovers' needs 'healed': the text of a finding whose fault is over")
    names = _NAMES(top["recovers"]) if "recovers" in top else ()
    for fault in known(names, selectors):
        raise fault
    if "healed" in top and not names:
        raise top["healed"].error("'healed' needs 'recovers': the names of the events that end the fault")
    return names


def _with_aliases(selectors: Mapping[str, Selector], when: Node) -> dict[str, Selector]:
    """Return the selectors, and those of the names that the condition adds with `as`."""
    added = dict(selectors)
    text = " ".join(when.text().split())
    for name, alias in aliases(text):
        if name not in selectors:
            problem = f"unknown event {name!r}{suggestion(name, selectors)}"
            raise PatternError(when.place, problem, text, position(name, text), len(name))
        if alias in added:
            raise PatternError(when.place, f"{alias!r} is already an event", text, position(alias, text), len(alias))
        added[alias] = selectors[name]._replace(name=alias)
    return added


def unique(rules: Iterable[Rule]) -> Iterator[PatternError]:
    """Yield an error for every id or name that two rules share."""
    seen: dict[str, Rule] = {}
    for rule in rules:
        for key, word in (("id", rule.id), ("name", rule.name)):
            if word in seen:
                yield PatternError(rule.place_of(key), f"{word} is already used at {seen[word].place_of(key)}")
            seen.setdefault(word, rule)
