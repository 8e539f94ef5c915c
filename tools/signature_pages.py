"""Generate docs/signatures: all rules by family, each with a sample line of its first test.

`python -m tools.signature_pages docs/signatures` regenerates them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kvdiag.analysis.rule_tests import history_of, logs_of_test
from kvdiag.base.errors import PatternError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.base.regex import lazy_regex
from kvdiag.events.vocabulary import EVENTS, Vocabulary, load_vocabulary
from kvdiag.model.report import Evidence, Finding
from kvdiag.model.rule import Bug, Fix, Rule
from kvdiag.rules.distribution import default_dialect
from kvdiag.rules.findings import find
from kvdiag.rules.library import Library, load

INDEX = "README"
LONGEST_LINE = 420  # characters of a sample line; the middle of a longer one is left out
TITLES = {
    "csi": "CSI drivers",
    "node": "The node",
    "pod": "Pods and containers",
    "runtime": "The container runtime",
    "sandbox": "Sandboxes and networks",
    "volume": "Volumes",
}
_MARKUP = lazy_regex(r"[*<|]|(?<!\w)_|_(?!\w)")
_OPTIONAL = lazy_regex(r"\[\[(.*?)\]\]")
_SLOT = lazy_regex(r"\{([a-z][a-z0-9_]*)\}")
_COMMAND = "python -m tools.signature_pages docs/signatures"


def pages(library: Library) -> dict[str, str]:
    """Return each page by file name without `.md`: the index, and one page per family.

    Raise PatternError for an invalid rule.
    """
    for fault in library.errors:
        raise fault
    families = by_family(library.rules)
    vocabulary = load_vocabulary(
        builtin_patterns() / EVENTS, [entry for rule in library.rules for entry in rule.lines], []
    )
    return {INDEX: _index(families)} | {name: _family(name, rules, vocabulary) for name, rules in families.items()}


def by_family(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """Return the rules of each folder of patterns, by name."""
    families: dict[str, list[Rule]] = {}
    for rule in sorted(rules, key=lambda rule: rule.name):
        families.setdefault(Path(rule.place.partition(":")[0]).parent.name, []).append(rule)
    return dict(sorted(families.items()))


def _index(families: Mapping[str, Sequence[Rule]]) -> str:
    lines = [
        "# Signatures",
        "",
        f"What kvdiag finds, one page a family, generated from `patterns/` by `{_COMMAND}`.",
        "",
        '`kvdiag explain "MESSAGE"` finds signatures by a message or a piece of one, `kvdiag rules list --search TEXT`',
        "lists all that have it, and `kvdiag rules show NAME` shows the exact condition.",
    ]
    for name, rules in families.items():
        lines += ["", f"## [{TITLES.get(name, name)}]({name}.md)", ""]
        lines += ["| signature | id | severity | what it is |", "|---|---|---|---|"]
        lines += [
            f"| [{rule.name}]({name}.md#{rule.name}) | {rule.id} | {rule.severity.label} | {_prose(rule.title)} |"
            for rule in rules
        ]
    return "\n".join(lines) + "\n"


def _family(name: str, rules: Sequence[Rule], vocabulary: Vocabulary) -> str:
    lines = [
        f"# {TITLES.get(name, name)}",
        "",
        f"Generated from `patterns/{name}/` by `{_COMMAND}`.",
        f"All families are in the [index]({INDEX}.md). Names in the samples are invented.",
    ]
    for rule in rules:
        lines += ["", *_rule(rule, vocabulary)]
    return "\n".join(lines) + "\n"


def _rule(rule: Rule, vocabulary: Vocabulary) -> Iterator[str]:
    yield f"## {rule.name}"
    yield ""
    per = f"per {rule.per}{' or node' if rule.or_node else ''}"
    yield f"**{_prose(rule.title)}** · {rule.id} · {rule.severity.label} · {rule.status} · {per}"
    finding = first_found(rule, vocabulary)
    if finding:
        yield from ("", _MARKUP.sub(_literal, finding.says), "", "```text", sample_line(rule, finding.evidence), "```")
    yield from ("", "**Why.** " + _prose(default_dialect().expand(rule.cause)))
    if rule.fix:
        yield from ("", "**What to do**", "")
        yield from (line for number, fix in enumerate(rule.fix, 1) for line in _fix(number, fix))
    yield from _list("Versions", [f"{component} {span}" for component, span in rule.applies.items()])
    yield from _list("Known defects", [_bug(bug) for bug in rule.bugs])
    yield from _list("Looks alike and is not", [_prose(default_dialect().expand(one)) for one in rule.look_alikes])
    yield from _list("See", [f"<{reference}>" for reference in rule.references])


def first_found(rule: Rule, vocabulary: Vocabulary) -> Finding | None:
    """Return the finding of the first test that expects one."""
    for test in (test for test in rule.tests if test.finds):
        for log in logs_of_test(rule, test):
            history = history_of(log.log, test, vocabulary)
            return next(iter(find((rule,), history, vocabulary.kinds)), None)
    return None


def sample_line(rule: Rule, evidence: Sequence[Evidence]) -> str:
    """Return the best sample line: one with conditions on its values, or a raw line of the rule."""
    rule_kinds = {entry.kind for entry in rule.lines}
    matching = (one for one in evidence if one.event.kind in rule_kinds or rule.events[one.step].conditions[0])
    text = " ".join(next(matching, evidence[0]).event.text.split())
    half = LONGEST_LINE // 2
    return text if len(text) <= LONGEST_LINE else f"{text[:half]} … {text[-half:]}"


def _fix(number: int, fix: Fix) -> Iterator[str]:
    text, run, after = map(default_dialect().expand, fix[:3])
    yield f"{number}. {_prose(text)}" + (f" Only when {_prose(after)}." if after else "")
    if run:
        yield from ("   ```sh", f"   {_open(run).strip()}", "   ```")


def _bug(bug: Bug) -> str:
    where = "".join(f" ({name} {value})" for name, value in bug.where.items())
    fixed = f"fixed in {', '.join(bug.fixed)}" if bug.fixed else "no release is known to fix it"
    doubt = f". Not verified: {_prose(bug.doubt)}" if bug.doubt else ""
    link = f": <{bug.reference}>" if bug.reference else ""
    return f"{bug.component}{where} {_prose(bug.affected)}, {fixed}{link}{doubt}"


def _list(title: str, items: Iterable[str]) -> Iterator[str]:
    lines = list(items)
    if lines:
        yield from ("", f"**{title}**", "", *(f"- {item}" for item in lines))


def _prose(text: str) -> str:
    """Escape text for Markdown."""
    return _MARKUP.sub(_literal, " ".join(_open(text).split()))


def _literal(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def _open(text: str) -> str:
    """Return a template without its optional parts, and with its slots as names in capitals."""
    text = _OPTIONAL.sub(lambda part: "" if _SLOT.search(part[1]) else part[1], text)
    return _SLOT.sub(lambda slot: slot[1].upper().replace("_", "-"), text)


if __name__ == "__main__":
    _folder = Path(sys.argv[1])
    _folder.mkdir(parents=True, exist_ok=True)
    try:
        for _name, _text in pages(load([builtin_patterns()])).items():
            (_folder / f"{_name}.md").write_text(_text, encoding="utf-8")
    except PatternError as _fault:
        sys.exit(str(_fault))
