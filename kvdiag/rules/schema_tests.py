"""Read `tests:` of a rule file: a log, a story, or a variation of another story."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvdiag.base.decode import Record, one_or_more
from kvdiag.base.suggestions import suggestion
from kvdiag.base.yamlread import Node
from kvdiag.model.rule import SUBJECT, RuleTest
from kvdiag.model.values import Severity, Verdict
from kvdiag.rules.story import CHANGES, read_story, vary

SEVERITIES = [severity.label for severity in Severity]
VERDICTS = [str(verdict) for verdict in Verdict]


def read_tests(nodes: Sequence[Node]) -> tuple[RuleTest, ...]:
    """Return the tests of a rule in order. Raise PatternError at the first error."""
    stories: dict[str, RuleTest] = {}
    tests = []
    for node in nodes:
        test = _test(node, stories)
        tests.append(test)
        if test.story:
            stories[test.name] = test
    return tuple(tests)


def _test(node: Node, stories: Mapping[str, RuleTest]) -> RuleTest:
    keys = _TEST.table(node)
    sources = [key for key in ("log", "story", "near") if key in keys]
    if len(sources) != 1:
        raise node.error("a test has exactly one of 'log', 'story' and 'near'")
    changes = [key for key in CHANGES if key in keys]
    if changes and sources != ["near"]:
        raise node.error(f"'{changes[0]}' needs 'near', the name of the test whose story it changes")
    base = _base(keys["near"], stories) if "near" in keys else None
    if base is None and "name" not in keys:
        raise node.error("the key 'name' is missing")
    test = _TEST(node, story=vary(base.story, keys) if base else read_story(keys["story"]) if "story" in keys else ())
    if base is None:
        return test
    return test._replace(
        name=test.name or _variant_name(base, keys, changes),
        options=test.options if "options" in keys else base.options,
        but=test.but if "except" in keys else base.but,
        near=base.name,
    )


def _numbers(node: Node) -> tuple[int, ...]:
    """Return one number or several, starting from 1."""
    found = [one.text() for one in (node.sequence() if isinstance(node.value, tuple) else [node])]
    if not all(text.isdecimal() and int(text) > 0 for text in found):
        raise node.error("'not-when' of a test has the numbers of entries in the rule's 'not-when', from 1 on")
    return tuple(map(int, found))


def _base(node: Node, stories: Mapping[str, RuleTest]) -> RuleTest:
    if node.text() not in stories:
        raise node.error(f"no earlier story has the name {node.text()!r}{suggestion(node.text(), stories)}")
    return stories[node.text()]


def _variant_name(base: RuleTest, keys: Mapping[str, Node], changes: Sequence[str]) -> str:
    changed = (f"{key} {' '.join(str(keys[key].plain()).split())}" for key in changes)
    return f"{base.name}: {', '.join(changed)}"


def _finds(node: Node) -> Mapping[str, str]:
    """Return verdicts by subject; a single verdict is that of the story's only subject."""
    if isinstance(node.value, str) and not node.empty:
        return {SUBJECT: _verdict(node)}
    return {name: _verdict(child) for name, child in node.table().items()}


def _verdict(node: Node) -> str:
    """Return `confirmed`, `info` or `confirmed info`: the verdict, the severity, or both."""
    words = node.text().split()
    for word in words:
        if word not in (*VERDICTS, *SEVERITIES):
            raise node.error(f"unknown {word!r}{suggestion(word, [*VERDICTS, *SEVERITIES])}")
    return " ".join(words)


_TEST = Record(
    RuleTest,
    keys={"but": "except", "look_alikes": "not-when"},
    given=("story", "near"),
    others=("story", "near", *CHANGES),
    missing={"name": "", "log": ""},
    finds=_finds,
    but=one_or_more(Node.text),
    look_alikes=_numbers,
)
