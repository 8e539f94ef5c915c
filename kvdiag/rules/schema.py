"""Read a rule file into a `Rule`; errors have file:line:column and a suggestion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from kvdiag.base.clock import parse_duration
from kvdiag.base.errors import PatternError
from kvdiag.base.suggestions import suggestion
from kvdiag.base.versions import read_range
from kvdiag.base.yamlread import Node, read_yaml
from kvdiag.model.rule import Bug, Fix, Healing, Proof, Rule, Selector
from kvdiag.model.values import EMPTY, Role, Severity, SubjectKind
from kvdiag.rules.grammar import aliases, position, read_condition
from kvdiag.rules.schema_tests import read_tests
from kvdiag.rules.selectors import Groups, read_events, texts

KEYS = [
    "id",
    "name",
    "title",
    "heading",
    "severity",
    "possible",
    "status",
    "role",
    "per",
    "applies",
    "bugs",
    "events",
    "when",
    "proof",
    "cut",
    "same",
    "counts",
    "shows",
    "follows",
    "healed",
    "recovers",
    "clocks",
    "alarm",
    "says",
    "cause",
    "fix",
    "references",
    "not-when",
    "breaks",
    "suffers",
    "explains",
    "never-explains",
    "collect",
    "survives",
    "tests",
]
REQUIRED = ["id", "name", "title", "severity", "per", "events", "when", "says", "cause", "tests"]
OR_NODE = " or node"
PER = [str(kind) for kind in SubjectKind] + [f"{kind}{OR_NODE}" for kind in SubjectKind if kind is not SubjectKind.NODE]
STATUSES = ("experimental", "stable", "retired")
RULE_ID = re.compile(r"KV[1-9]\d{2,3}")
RULE_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9.]+)*")


def _names(top: Mapping[str, Node], key: str, selectors: Mapping[str, Selector]) -> tuple[str, ...]:
    """Return the names of selectors that a key lists."""
    return tuple(_one_of(item, list(selectors)) for item in _items(top, key))


def _recovers(top: Mapping[str, Node], selectors: Mapping[str, Selector]) -> tuple[str, ...]:
    """Return the names whose events end the fault. Raise PatternError if there is no text for a fault that is over."""
    if "recovers" in top and "healed" not in top:
        raise top["recovers"].error("'recovers' needs 'healed': the text of a finding whose fault is over")
    return _names(top, "recovers", selectors)


def read_rule(text: str, file: str, groups: Groups = EMPTY) -> Rule:
    """Return the rule in `text`; `file` is the path for messages. Raise PatternError at the first error.

    `groups` are the named groups of kinds, which are words without a dot.
    """
    node = read_yaml(text, file)
    top = node.mapping(KEYS, REQUIRED)
    name = _matching(top["name"], RULE_NAME, "use lower-case words joined by dashes, such as csi-nodeunstage-missing")
    events, lines = read_events(top["events"], name, groups)
    selectors, per = _with_aliases(events, top["when"]), _one_of(top["per"], PER)
    recovers = _recovers(top, selectors)
    rule = Rule(
        id=_matching(top["id"], RULE_ID, "an id is KV and three or four digits, the first of them the family"),
        name=name,
        title=top["title"].text(),
        severity=_severity(top["severity"]),
        status=_one_of(top["status"], STATUSES) if "status" in top else "experimental",
        role=Role.CAUSE,
        per=SubjectKind(per.removesuffix(OR_NODE)),
        or_node=per.endswith(OR_NODE),
        possible=_severity(top["possible"]) if "possible" in top else None,
        events=selectors,
        when=read_condition(top["when"].text(), selectors, top["when"].place, recovers),
        says=" ".join(top["says"].text().split()),
        cause=top["cause"].text().strip(),
        fix=tuple(_fix(item) for item in _items(top, "fix")),
        bugs=tuple(_bug(item, list(selectors)) for item in _items(top, "bugs")),
        proof=_proof(top["proof"], list(selectors)) if "proof" in top else None,
        same=_text_items(top, "same"),
        cut=_names(top, "cut", selectors),
        counts=_one_of(top["counts"], list(selectors)) if "counts" in top else "",
        shows=_names(top, "shows", selectors),
        follows=_names(top, "follows", selectors),
        alarm=_names(top, "alarm", selectors),
        clocks=_names(top, "clocks", selectors),
        healed=_healing(top["healed"], recovers) if "healed" in top else None,
        lines=lines,
    )
    return _with_causes(_with_page(rule, node, top), top)


def _with_page(rule: Rule, node: Node, top: Mapping[str, Node]) -> Rule:
    """Return the rule with what does not decide whether it matches: its versions, page, tests and places."""
    return rule._replace(
        applies=_ranges(top["applies"]) if "applies" in top else {},
        references=_text_items(top, "references"),
        look_alikes=tuple(" ".join(item.text().split()) for item in _items(top, "not-when")),
        collect=_text_items(top, "collect"),
        survives=_reasons(top),
        tests=read_tests(_items(top, "tests")),
        place=node.place,
        places=dict(node.places()),
    )


def _with_causes(rule: Rule, top: Mapping[str, Node]) -> Rule:
    """Return the rule with its heading and its causes. A rule with `suffers` and without `breaks` is a symptom."""
    default = Role.SYMPTOM if "suffers" in top and "breaks" not in top else Role.CAUSE
    return rule._replace(
        heading=" ".join(top["heading"].text().split()) if "heading" in top else "",
        role=Role(_one_of(top["role"], list(Role))) if "role" in top else default,
        breaks=_text_items(top, "breaks"),
        suffers=_text_items(top, "suffers"),
        explains=_text_items(top, "explains"),
        never_explains=_text_items(top, "never-explains"),
    )


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


def _reasons(top: Mapping[str, Node]) -> Mapping[str, str]:
    return dict(top["survives"].texts()) if "survives" in top else {}


def _items(top: Mapping[str, Node], key: str) -> tuple[Node, ...]:
    return top[key].sequence() if key in top else ()


def _text_items(top: Mapping[str, Node], key: str) -> tuple[str, ...]:
    return tuple(item.text() for item in _items(top, key))


def _matching(node: Node, pattern: re.Pattern[str], rule: str) -> str:
    if not pattern.fullmatch(node.text()):
        raise node.error(f"{node.text()!r}: {rule}")
    return node.text()


def _one_of(node: Node, words: list[str] | tuple[str, ...]) -> str:
    if node.text() not in words:
        raise node.error(f"unknown {node.text()!r}{suggestion(node.text(), words)}")
    return node.text()


def _ranges(node: Node) -> dict[str, str]:
    for child in node.table().values():
        read_range(child.text(), child.place)
    return dict(node.texts())


def _fix(node: Node) -> Fix:
    keys = node.mapping(("text", "run", "after"), ("text",))
    values = {key: " ".join(child.text().split()) for key, child in keys.items()}
    return Fix(text=values["text"], run=values.get("run", ""), after=values.get("after", ""))


def _healing(node: Node, recovers: tuple[str, ...]) -> Healing:
    keys = node.mapping(("says", "severity", "after"), ("says",))
    if not recovers:
        raise node.error("'healed' needs 'recovers': the names of the events that end the fault")
    severity = _severity(keys["severity"]) if "severity" in keys else None
    after = parse_duration(keys["after"].text()) if "after" in keys else 0
    if after is None or after < 0:
        raise keys["after"].error(f"{keys['after'].text()!r} is not a duration; write 90s, 5m")
    return Healing(recovers, " ".join(keys["says"].text().split()), severity, after)


def _bug(node: Node, names: list[str]) -> Bug:
    allowed = ("component", "affected", "fixed", "reference", "where", "doubt", "by")
    keys = node.mapping(allowed, ("component", "affected"))
    read_range(keys["affected"].text(), keys["affected"].place)
    return Bug(
        component=keys["component"].text(),
        affected=keys["affected"].text(),
        fixed=texts(keys["fixed"]) if "fixed" in keys else (),
        reference=keys["reference"].text() if "reference" in keys else "",
        where=keys["where"].texts() if "where" in keys else {},
        doubt=keys["doubt"].text() if "doubt" in keys else "",
        by=tuple(_one_of(item, names) for item in keys["by"].sequence()) if "by" in keys else (),
    )


def _proof(node: Node, names: list[str]) -> Proof:
    keys = node.mapping(("by", "doubt"), ("by", "doubt"))
    by = tuple(_one_of(item, names) for item in keys["by"].sequence())
    return Proof(by, " ".join(keys["doubt"].text().split()))


def _severity(node: Node) -> Severity:
    return Severity.from_label(_one_of(node, [severity.label for severity in Severity]))


def unique(rules: Iterable[Rule]) -> Iterator[PatternError]:
    """Yield an error for every id or name that two rules share."""
    seen: dict[str, Rule] = {}
    for rule in rules:
        for key, word in (("id", rule.id), ("name", rule.name)):
            if word in seen:
                yield PatternError(rule.place_of(key), f"{word} is already used at {seen[word].place_of(key)}")
            seen.setdefault(word, rule)
