"""One signature file → `Rule`; every fault told with file:line:column and what was meant instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kvdiag.errors import PatternError
from kvdiag.model.rule import Bug, Fix, Healing, Proof, Rule, Selector
from kvdiag.model.values import Role, Severity, SubjectKind
from kvdiag.model.vocabulary import Entry, Wording
from kvdiag.rules.grammar import read_condition
from kvdiag.rules.trials import read_tests
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
    "explains",
    "collect",
    "survives",
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
    return Rule(
        id=_matching(top["id"], RULE_ID, "an id is KV and three or four digits, the first of them the family"),
        name=name,
        title=top["title"].text(),
        severity=_severity(top["severity"]),
        status=_one_of(top["status"], STATUSES) if "status" in top else "experimental",
        role=Role(_one_of(top["role"], [str(r) for r in Role])) if "role" in top else Role.CAUSE,
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
        same=tuple(item.text() for item in _items(top, "same")),
        counts=_one_of(top["counts"], list(selectors)) if "counts" in top else "",
        shows=tuple(_one_of(item, list(selectors)) for item in _items(top, "shows")),
        follows=tuple(_one_of(item, list(selectors)) for item in _items(top, "follows")),
        references=tuple(item.text() for item in _items(top, "references")),
        alarm=tuple(_one_of(item, list(selectors)) for item in _items(top, "alarm")),
        clocks=tuple(_one_of(item, list(selectors)) for item in _items(top, "clocks")),
        healed=_healing(top["healed"], selectors) if "healed" in top else None,
        look_alikes=tuple(" ".join(item.text().split()) for item in _items(top, "not-when")),
        explains=tuple(item.text() for item in _items(top, "explains")),
        collect=tuple(item.text() for item in _items(top, "collect")),
        lines=lines,
        survives=dict(top["survives"].texts()) if "survives" in top else {},
        tests=read_tests(_items(top, "tests")),
        place=node.place,
    )


def _items(top: Mapping[str, Node], key: str) -> tuple[Node, ...]:
    return top[key].sequence() if key in top else ()


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
    keys = node.mapping(("by", "says", "severity"), ("by", "says"))
    by = keys["by"].sequence() if isinstance(keys["by"].value, tuple) else (keys["by"],)
    severity = _severity(keys["severity"]) if "severity" in keys else None
    return Healing(
        tuple(_one_of(item, list(selectors)) for item in by), " ".join(keys["says"].text().split()), severity
    )


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


def unique(rules: list[Rule]) -> Iterator[PatternError]:
    """An error for every id or name that two files claim."""
    seen: dict[str, Rule] = {}
    for rule in rules:
        for word in (rule.id, rule.name):
            if word in seen:
                yield PatternError(rule.place, f"{word} is already used at {seen[word].place}")
            seen[word] = rule
