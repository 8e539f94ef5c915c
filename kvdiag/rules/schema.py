"""Read a rule file into a `Rule`; errors have file:line:column and a suggestion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from kvdiag.base.clock import parse_duration
from kvdiag.base.errors import PatternError
from kvdiag.base.suggestions import suggestion
from kvdiag.base.versions import read_range
from kvdiag.base.yamlread import Node, read_yaml
from kvdiag.model.rule import Bug, Condition, Fix, Healing, Proof, Rule, Selector
from kvdiag.model.values import EMPTY, Role, Severity, SubjectKind
from kvdiag.rules.family import members
from kvdiag.rules.grammar import read_condition
from kvdiag.rules.schema_tests import read_tests
from kvdiag.rules.selectors import Groups, SelectorsAndLines, read_events, read_sign, texts

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
    "sign",
    "proof",
    "cut",
    "same",
    "counts",
    "shows",
    "follows",
    "healed",
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
REQUIRED = ["id", "name", "title", "severity", "says", "cause", "tests"]
OR_NODE = " or node"
PER = [str(kind) for kind in SubjectKind] + [f"{kind}{OR_NODE}" for kind in SubjectKind if kind is not SubjectKind.NODE]
STATUSES = ("experimental", "stable", "retired")
RULE_ID = re.compile(r"KV[1-9]\d{2,3}")
RULE_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9.]+)*")


def read_rules(text: str, file: str, groups: Groups = EMPTY) -> list[Rule]:
    """Return the rules in `text`; `file` is the path for messages. Raise PatternError at the first error.

    `groups` are the named groups of kinds, which are words without a dot.
    """
    return [_rule(node, groups) for node in members(read_yaml(text, file), KEYS)]


def _rule(node: Node, groups: Groups) -> Rule:
    top = node.mapping(KEYS, REQUIRED)
    name = _matching(top["name"], RULE_NAME, "use lower-case words joined by dashes, such as csi-nodeunstage-missing")
    ((selectors, lines), when), per = _sentence(node, top, name, groups), _per(node, top)
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
        when=when,
        says=" ".join(top["says"].text().split()),
        cause=top["cause"].text().strip(),
        fix=tuple(_fix(item) for item in _items(top, "fix")),
        applies=_ranges(top["applies"]) if "applies" in top else {},
        bugs=tuple(_bug(item, list(selectors)) for item in _items(top, "bugs")),
        proof=_proof(top["proof"], list(selectors)) if "proof" in top else None,
        same=_text_items(top, "same"),
        cut=tuple(_one_of(item, list(selectors)) for item in _items(top, "cut")),
        counts=_one_of(top["counts"], list(selectors)) if "counts" in top else "",
        shows=tuple(_one_of(item, list(selectors)) for item in _items(top, "shows")),
        follows=tuple(_one_of(item, list(selectors)) for item in _items(top, "follows")),
        references=_text_items(top, "references"),
        alarm=tuple(_one_of(item, list(selectors)) for item in _items(top, "alarm")),
        clocks=tuple(_one_of(item, list(selectors)) for item in _items(top, "clocks")),
        healed=_healing(top["healed"], selectors) if "healed" in top else None,
        look_alikes=tuple(" ".join(item.text().split()) for item in _items(top, "not-when")),
        collect=_text_items(top, "collect"),
        lines=lines,
        survives=_reasons(top),
        tests=read_tests(_items(top, "tests")),
        place=node.place,
        places=dict(node.places()),
    )
    return _with_causes(rule, top)


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


def _sentence(node: Node, top: Mapping[str, Node], name: str, groups: Groups) -> tuple[SelectorsAndLines, Condition]:
    """Return the events and the condition, written out or expanded from `sign`."""
    if "sign" in top:
        for key in ("events", "when"):
            if key in top:
                raise top["sign"].error(f"a rule has either a sign or {key}")
        return read_sign(top["sign"], name)
    for key in ("events", "when"):
        if key not in top:
            raise node.error(f"the key '{key}' is missing")
    named = read_events(top["events"], name, groups)
    return named, read_condition(top["when"].text(), named[0], top["when"].place)


def _per(node: Node, top: Mapping[str, Node]) -> str:
    """Return the kind of subject; `sign` may contain it instead of the rule."""
    nodes = [keys["per"] for keys in (top, top["sign"].table() if "sign" in top else {}) if "per" in keys]
    if not nodes:
        raise node.error("the key 'per' is missing")
    if len(nodes) > 1:
        raise nodes[1].error("'per' is given twice")
    return _one_of(nodes[0], PER)


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


def _healing(node: Node, selectors: Mapping[str, Selector]) -> Healing:
    keys = node.mapping(("by", "says", "severity", "after"), ("by", "says"))
    by = keys["by"].sequence() if isinstance(keys["by"].value, tuple) else (keys["by"],)
    severity = _severity(keys["severity"]) if "severity" in keys else None
    after = parse_duration(keys["after"].text()) if "after" in keys else 0
    if after is None or after < 0:
        raise keys["after"].error(f"{keys['after'].text()!r} is not a duration; write 90s, 5m")
    names = tuple(_one_of(item, list(selectors)) for item in by)
    return Healing(names, " ".join(keys["says"].text().split()), severity, after)


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
