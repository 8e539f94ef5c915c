"""A message, or a piece of one, without the line that carried it: which rules and events its words fit.

A rule's globs may ask for less than the message says, or the message may be a piece of what a glob or a wording says.
What shares more letters with it comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.model.rule import Rule, Selector
from kvdiag.model.vocabulary import Entry

LEAST = 8  # letters that must agree
MOST = 10  # rules that are told
TEXTS = frozenset(("error", "text", "reason", "message"))
_HOLES = lazy_regex(r"[*?]+|\[[^\]]*\]|\{[a-z_]+\}|\.\.\.|\[\[|\]\]")
_BLANKS = lazy_regex(r"\s+")


class Fit(NamedTuple):
    """A rule that a message fits: by which words of it, and how many letters they share."""

    rule: str
    title: str
    words: str
    letters: int


def matching_rules(
    message: str, selectors: Iterable[tuple[Rule, Selector]], kinds: Mapping[str, Entry]
) -> tuple[Fit, ...]:
    """The rules that a message fits, the best first; `asked` are the rules with what each of them looks for."""
    text = _plain(message)
    best: dict[str, Fit] = {}
    for rule, selector in selectors:
        for words in (*_globs(selector), *_wordings(rule, selector, kinds)):
            letters = _shared(text, words)
            if letters and (rule.name not in best or letters > best[rule.name].letters):
                best[rule.name] = Fit(rule.name, rule.title, words, letters)
    return tuple(sorted(best.values(), key=lambda fit: (-fit.letters, fit.rule))[:MOST])


def _globs(selector: Selector) -> Iterator[str]:
    """What the selector asks of the words of an error or a reason."""
    for where in selector.conditions:
        for name, globs in where.items():
            if name in TEXTS:
                yield from (glob for glob in globs if not glob.startswith("!"))


def _wordings(rule: Rule, selector: Selector, kinds: Mapping[str, Entry]) -> Iterator[str]:
    """What its lines say, where the selector takes every such line."""
    if not any(selector.conditions):
        rule_lines = {entry.kind: entry for entry in rule.lines}
        entries = (rule_lines.get(kind) or kinds.get(kind) for kind in selector.kinds)
        yield from (wording.message.removeprefix("] ") for entry in entries if entry for wording in entry.wordings)


def _shared(text: str, pattern: str) -> int:
    """How many letters a message shares with a pattern: all of the pattern's, or all of its own."""
    parts = [part for hole in _HOLES.split(_plain(pattern)) if (part := hole.strip())]
    letters = sum(map(len, parts))
    if letters >= LEAST and _in_order(text, parts):
        return letters
    return len(text) if len(text) >= LEAST and any(text in part for part in parts) else 0


def _in_order(text: str, parts: Iterable[str]) -> bool:
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", text.replace('\\"', '"').replace('"', "")).strip().casefold()
