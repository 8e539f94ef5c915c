"""Compare a rule with sample log lines: globs that match nothing, unreachable raw lines, anchors that match too much.

The sample lines are those of the vocabulary and of the rule's own tests.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.base.yamlread import read_yaml
from kvdiag.events.template import Matcher
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.model.rule import Rule
from kvdiag.model.vocabulary import Entry, Wording
from kvdiag.rules.selection import ANATOMY, TEXTS

SHORTEST_PIECE = 4  # letters of a literal in a glob; shorter ones occur in any text
FREQUENT = "frequent.yaml"
MOST_FREQUENT = 0.03  # share of all lines that may contain an anchor
_WILD = re.compile(r"[*?]|\[[^\]]*\]")
_WORD = re.compile(r"[A-Za-z]")

Fault = tuple[str, str]


class LogSamples(NamedTuple):
    """Sample log lines: a vocabulary with the raw lines of all rules, and the samples of its entries by kind.

    `frequent_lines` are the most frequent lines of logs, each with its share.
    """

    vocabulary: Vocabulary
    by_kind: Mapping[str, tuple[str, ...]]
    lines: tuple[str, ...]
    frequent_lines: Mapping[str, float]

    @classmethod
    def from_entries(cls, vocabulary: Vocabulary, entries: Iterable[Entry]) -> LogSamples:
        """Collect the samples of entries."""
        by_kind: dict[str, tuple[str, ...]] = {}
        for entry in entries:
            by_kind[entry.kind] = by_kind.get(entry.kind, ()) + entry.samples
        return cls(
            vocabulary, by_kind, tuple(line for lines in by_kind.values() for line in lines), load_frequent_lines()
        )


def load_frequent_lines() -> dict[str, float]:
    """Return the most frequent lines of logs, each with its share of an average log."""
    path = builtin_patterns() / FREQUENT
    rows = (node.table() for node in read_yaml(path.read_text("utf-8"), str(path)).sequence())
    return {row["line"].text(): float(row["of"].text()) / 1000 for row in rows}


def unmatched(rule: Rule, samples: LogSamples) -> Iterator[Fault]:
    """Yield the parts of a rule that match no sample line, with the path of their key."""
    tests = tuple(line for test in rule.tests for line in test.log.splitlines())
    for selector in rule.events.values():
        lines = tuple(line for kind in selector.kinds for line in samples.by_kind.get(kind, ())) + tests
        for path, where in selector.placed_conditions:
            for name, glob in ((name, glob) for name, globs in where.items() if name not in ANATOMY for glob in globs):
                yield from ((f"{path}.{name}", problem) for problem in _glob_faults(name, glob, lines))
    for entry in rule.lines:
        name = next(name for name, selector in rule.events.items() if entry.kind in selector.kinds)
        path = f"events.{name}"
        for wording in entry.wordings:
            yield from ((f"{path}.anchor", problem) for problem in frequent_anchor(wording.anchor, samples))
            yield from ((path, problem) for problem in _shadowed_wording(rule, entry.kind, wording, samples))


def _glob_faults(name: str, glob: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield a fault if a sample line has the glob's text only in different upper and lower case."""
    pattern = glob.removeprefix("!")
    pieces = [piece for piece in _WILD.split(pattern) if len(_WORD.findall(piece)) >= SHORTEST_PIECE]
    if any(not any(piece in line for line in lines) for piece in pieces):
        regex = re.compile(fnmatch.translate(f"*{pattern}*"), re.IGNORECASE)
        found = next(filter(regex.match, lines), "")
        for piece in (piece for piece in pieces if found and piece not in found):
            at = found.lower().index(piece.lower())
            logged = found[at : at + len(piece)]
            yield f"the glob {glob!r} is case-sensitive, but logs contain {logged!r}"
    if name in {*TEXTS, "text"} - {"reason"} and " " in glob and not _WILD.search(glob):
        yield f"the glob {glob!r} must match the whole text; write '*' where there may be more"


def frequent_anchor(anchor: str, samples: LogSamples) -> Iterator[str]:
    """Yield a fault if an anchor is in so many lines that the scanner would not filter."""
    kinds = sum(anchor in line for line in samples.lines) / max(1, len(samples.lines))
    share = sum(part for line, part in samples.frequent_lines.items() if anchor in line)
    if max(kinds, share) > MOST_FREQUENT:
        where = "of all kinds of lines" if kinds > share else "of the lines of an average log"
        problem = f"the anchor {anchor!r} is in {round(100 * max(kinds, share))} % {where}"
        yield f"{problem}; take words that only this line has"


def _shadowed_wording(rule: Rule, kind: str, wording: Wording, samples: LogSamples) -> Iterator[str]:
    """Yield a fault if another wording with the same anchor matches the raw line first."""
    vocabulary = samples.vocabulary
    own_numbers = [
        number
        for number, other in enumerate(vocabulary.wordings)
        if vocabulary.owner(number).kind == kind and other.message == wording.message
    ]
    if not own_numbers:
        return
    rivals = [
        number
        for candidates in vocabulary.by_literal
        if own_numbers[0] in candidates
        for number in candidates[: candidates.index(own_numbers[0])]
    ]
    if not rivals:
        return
    matcher = vocabulary.matcher(own_numbers[0])
    logged = (line.encode() for test in rule.tests for line in test.log.splitlines())
    shown = [line for line in (*logged, _example(wording).encode()) if _fits(matcher, line)]
    matched = [number for line in shown for number, _ in vocabulary.readings(line) if number in {*rivals, *own_numbers}]
    if not matched or own_numbers[0] in matched:
        return
    others = ", ".join(dict.fromkeys(vocabulary.owner(number).kind for number in matched))
    yield f"this line is never matched: {others} has its anchor and is tried first; use that kind instead"


def _example(wording: Wording) -> str:
    """Return a shortest line that the wording matches."""
    text = re.sub(r"\{\w+\}|\.\.\.", "x", re.sub(r"\[\[.*?\]\]", "", wording.message))
    return text.replace("{{", "{").replace("}}", "}") + "".join(f" {key}=x" for key in wording.fields.values())


def _fits(matcher: Matcher, line: bytes) -> bool:
    at = line.find(matcher.wording.anchor.encode())
    return at >= 0 and matcher.match(line, at) is not None
