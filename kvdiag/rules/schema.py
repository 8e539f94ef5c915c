"""One signature file → `Rule`; every fault told with file:line:column and what was meant instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kvdiag.clock import duration
from kvdiag.errors import PatternError
from kvdiag.model.rule import Bug, Fix, Healing, Proof, Rule, RuleTest, Selector
from kvdiag.model.values import Role, Severity, SubjectKind, Verdict
from kvdiag.model.vocabulary import Entry, Wording
from kvdiag.rules.grammar import read_condition
from kvdiag.versions import read_range
from kvdiag.yamlread import Node, read_yaml, suggestion

KEYS = [
    "id",
    "name",
    "title",
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
    "tests",
]
REQUIRED = ["id", "name", "title", "severity", "per", "events", "when", "says", "cause", "tests"]
OR_NODE = " or node"
PER = [str(kind) for kind in SubjectKind] + [f"{kind}{OR_NODE}" for kind in SubjectKind if kind is not SubjectKind.NODE]
STATUSES = ("experimental", "stable", "retired")
LINE_KEYS = ("line", "anchor", "fields", "component", "verbosity", "scope", "poll")
RULE_ID = re.compile(r"KV[1-9]\d{2,3}")
RULE_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9.]+)*")


def read_rule(text: str, file: str) -> Rule:
    """The signature in `text`; `file` is what the user knows it as. Raises PatternError at the first fault."""
    node = read_yaml(text, file)
    top = node.mapping(KEYS, REQUIRED)
    name = _matching(top["name"], RULE_NAME, "use lower-case words joined by dashes, such as csi-nodeunstage-missing")
    selectors, lines = _events(top["events"], name)
    rule = Rule(
        id=_matching(top["id"], RULE_ID, "an id is KV and three or four digits, the first of them the family"),
        name=name,
        title=top["title"].text(),
        severity=_severity(top["severity"]),
        status=_one_of(top["status"], STATUSES) if "status" in top else "experimental",
        role=Role.CAUSE,
        per=SubjectKind(_one_of(top["per"], PER).removesuffix(OR_NODE)),
        or_node=top["per"].text().endswith(OR_NODE),
        possible=_severity(top["possible"]) if "possible" in top else None,
        events=selectors,
        when=read_condition(top["when"].text(), selectors, top["when"].place),
        says=" ".join(top["says"].text().split()),
        cause=top["cause"].text().strip(),
        fix=tuple(_fix(item) for item in _items(top, "fix")),
        applies=_ranges(top["applies"]) if "applies" in top else {},
        bugs=tuple(_bug(item) for item in _items(top, "bugs")),
        proof=_proof(top["proof"], list(selectors)) if "proof" in top else None,
        same=_listed(top, "same"),
        counts=_one_of(top["counts"], list(selectors)) if "counts" in top else "",
        shows=tuple(_one_of(item, list(selectors)) for item in _items(top, "shows")),
        follows=tuple(_one_of(item, list(selectors)) for item in _items(top, "follows")),
        references=_listed(top, "references"),
        alarm=tuple(_one_of(item, list(selectors)) for item in _items(top, "alarm")),
        clocks=tuple(_one_of(item, list(selectors)) for item in _items(top, "clocks")),
        healed=_healing(top["healed"], selectors) if "healed" in top else None,
        look_alikes=tuple(" ".join(item.text().split()) for item in _items(top, "not-when")),
        collect=_listed(top, "collect"),
        lines=lines,
        tests=tuple(_test(item) for item in _items(top, "tests")),
        place=node.place,
    )
    return _spreading(rule, top)


def _spreading(rule: Rule, top: Mapping[str, Node]) -> Rule:
    """The rule with what it says of causes; what breaks nothing and suffers from something is a symptom."""
    usual = Role.SYMPTOM if "suffers" in top and "breaks" not in top else Role.CAUSE
    return rule._replace(
        role=Role(_one_of(top["role"], list(Role))) if "role" in top else usual,
        breaks=_listed(top, "breaks"),
        suffers=_listed(top, "suffers"),
        explains=_listed(top, "explains"),
        never_explains=_listed(top, "never-explains"),
    )


def _items(top: Mapping[str, Node], key: str) -> tuple[Node, ...]:
    return top[key].sequence() if key in top else ()


def _listed(top: Mapping[str, Node], key: str) -> tuple[str, ...]:
    return tuple(item.text() for item in _items(top, key))


def _matching(node: Node, pattern: re.Pattern[str], rule: str) -> str:
    if not pattern.fullmatch(node.text()):
        raise node.error(f"{node.text()!r}: {rule}")
    return node.text()


def _one_of(node: Node, words: list[str] | tuple[str, ...]) -> str:
    if node.text() not in words:
        raise node.error(f"unknown {node.text()!r}{suggestion(node.text(), words)}")
    return node.text()


def _events(node: Node, rule: str) -> tuple[dict[str, Selector], tuple[Entry, ...]]:
    selectors: dict[str, Selector] = {}
    lines: list[Entry] = []
    for name, item in node.table().items():
        keys = item.table()
        if "line" in keys:
            entry = _line_entry(item, rule, name)
            lines.append(entry)
            selectors[name] = Selector(name=name, kinds=(entry.kind,), where=_where(keys, LINE_KEYS))
        elif "kind" in keys:
            selectors[name] = Selector(name=name, kinds=_texts(keys["kind"]), where=_where(keys, ("kind",)))
        else:
            raise item.error(f"{name!r} names neither a kind nor a line")
    return selectors, tuple(lines)


def _line_entry(item: Node, rule: str, name: str) -> Entry:
    keys = item.table()
    if "anchor" not in keys:
        raise item.error(f"the line of {name!r} needs an anchor: a literal part of it for the scanner to look for")
    verbosity = keys["verbosity"].integer() if "verbosity" in keys else 0
    wording = Wording(
        anchor=keys["anchor"].text(),
        message=keys["line"].text(),
        fields=keys["fields"].texts() if "fields" in keys else {},
        verbosity=verbosity,
        place=item.place,
    )
    return Entry(
        kind=f"line.{rule}.{name.replace('_', '-')}",
        component=keys["component"].text() if "component" in keys else "",
        wordings=(wording,),
        verbosity=verbosity,
        scope=_one_of(keys["scope"], ("subject", "node")) if "scope" in keys else "subject",
        poll="poll" in keys and keys["poll"].flag(),
        place=item.place,
    )


def _where(keys: Mapping[str, Node], own: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {key: _texts(value) for key, value in keys.items() if key not in own}


def _texts(node: Node) -> tuple[str, ...]:
    """A text, or a list of alternatives."""
    return tuple(item.text() for item in node.sequence()) if isinstance(node.value, tuple) else (node.text(),)


def _ranges(node: Node) -> dict[str, str]:
    for child in node.table().values():
        read_range(child.text(), child.place)
    return dict(node.texts())


def _fix(node: Node) -> Fix:
    keys = node.mapping(("text", "run", "after"), ("text",))
    said = {key: " ".join(child.text().split()) for key, child in keys.items()}
    return Fix(text=said["text"], run=said.get("run", ""), after=said.get("after", ""))


def _healing(node: Node, selectors: Mapping[str, Selector]) -> Healing:
    keys = node.mapping(("by", "says", "severity", "after"), ("by", "says"))
    by = keys["by"].sequence() if isinstance(keys["by"].value, tuple) else (keys["by"],)
    severity = _severity(keys["severity"]) if "severity" in keys else None
    after = duration(keys["after"].text()) if "after" in keys else 0
    if after is None or after < 0:
        raise keys["after"].error(f"{keys['after'].text()!r} is no duration; write 90s, 5m")
    names = tuple(_one_of(item, list(selectors)) for item in by)
    return Healing(names, " ".join(keys["says"].text().split()), severity, after)


def _bug(node: Node) -> Bug:
    keys = node.mapping(("component", "affected", "fixed", "reference", "where", "doubt"), ("component", "affected"))
    read_range(keys["affected"].text(), keys["affected"].place)
    return Bug(
        component=keys["component"].text(),
        affected=keys["affected"].text(),
        fixed=_texts(keys["fixed"]) if "fixed" in keys else (),
        reference=keys["reference"].text() if "reference" in keys else "",
        where=keys["where"].texts() if "where" in keys else {},
        doubt=keys["doubt"].text() if "doubt" in keys else "",
    )


def _proof(node: Node, names: list[str]) -> Proof:
    keys = node.mapping(("by", "doubt"), ("by", "doubt"))
    by = tuple(_one_of(item, names) for item in keys["by"].sequence())
    return Proof(by, " ".join(keys["doubt"].text().split()))


def _severity(node: Node) -> Severity:
    return Severity.of(_one_of(node, [severity.label for severity in Severity]))


def _test(node: Node) -> RuleTest:
    keys = node.mapping(("name", "log", "finds", "options"), ("name", "log", "finds"))
    finds = keys["finds"]
    for child in finds.table().values():
        _one_of(child, [str(v) for v in Verdict])
    return RuleTest(
        name=keys["name"].text(),
        log=keys["log"].text(),
        finds=finds.texts(),
        options=keys["options"].texts() if "options" in keys else {},
        place=node.place,
    )


def unique(rules: list[Rule]) -> Iterator[PatternError]:
    """An error for every id or name that two files claim."""
    seen: dict[str, Rule] = {}
    for rule in rules:
        for word in (rule.id, rule.name):
            if word in seen:
                yield PatternError(rule.place, f"{word} is already used at {seen[word].place}")
            seen[word] = rule
