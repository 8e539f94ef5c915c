"""How often the cause's own line is among the first three of the answer when its rule is missing.

    .venv/bin/python bench/leave_out.py [-v] FOLDER…       each folder in a FOLDER is a case with an expect.json

A case counts if the library finds an expected rule in it. Its cause's own lines are the evidence of that finding which
is of the fault itself: not the steps before it that only name a subject, and not what healed it. The case is analysed
again without that one rule. The answer is what the report prints, from the top: each failure and note with the line
that shows it best, then each stuck subject with its error lines, then the groups under "Not explained". A case is a hit
if one of the first three lines quoted there is one of the cause's own lines, equals one up to names and numbers, or
ends in the same three clauses: each program wraps the error of the program below it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kvdiag.analysis.analyze import analyze_case
from kvdiag.analysis.case import Case, Patterns
from kvdiag.analysis.error_lines.lines import body_of
from kvdiag.analysis.error_lines.wording import cause_of, fold_message
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import EVENTS, load_vocabulary
from kvdiag.model.options import Options
from kvdiag.model.report import Finding, Report
from kvdiag.report.errors import FIRST_LINES, FIRST_STUCK
from kvdiag.report.line_text import LineText
from kvdiag.report.report_text import FindingText, ReportText
from kvdiag.rules.library import load_rule_store

FIRST = 3
SHOWN = 200  # characters of a line
NOT_LOGS = {"case.yaml", "expect.json", "source.txt", "README.md"}


class Line(NamedTuple):
    """A line of a log: its place, its folded words, and the last clauses of its error."""

    source: str
    number: int
    words: str
    clauses: tuple[str, ...]


class Outcome(NamedTuple):
    """A case without its rule: whether one of the first lines is the cause's own, and those lines."""

    case: str
    rule: str
    is_hit: bool
    first: tuple[str, ...]


def main(words: list[str]) -> None:
    """Print the misses, all cases with `-v`, and the share."""
    cases = sorted(path.parent for word in words if word != "-v" for path in Path(word).glob("*/expect.json"))
    with ProcessPoolExecutor(2) as pool:
        outcomes = [outcome for outcomes in pool.map(measured, cases) for outcome in outcomes]
    for one in outcomes:
        if "-v" in words or not one.is_hit:
            print("hit " if one.is_hit else "MISS", one.rule, "·", one.case, *(f"\n      {line}" for line in one.first))
    hits = sum(one.is_hit for one in outcomes)
    print(f"{hits} of {len(outcomes)}: {100 * hits / max(1, len(outcomes)):.1f} %")


def measured(case: Path) -> list[Outcome]:
    """Return the outcome for the first expected finding of a case; nothing if there is none."""
    expected = json.loads((case / "expect.json").read_text())
    wanted = {*expected.get("expect", ()), *expected.get("all", ())}
    logs = tuple(str(path) for path in sorted(case.iterdir()) if path.name not in NOT_LOGS)
    options = Options(paths=logs)
    found, _ = analyze_case(Case(options, judges_only=True))
    finding = next((one for one in found.findings if one.rule.name in wanted), None)
    if finding is None:
        return []
    own = {*_own_lines(finding)}
    report, _ = analyze_case(Case(options, _without(finding.rule.name), judges_only=True))
    first = [*islice(_answer(report), FIRST)]
    known = {part for line in own for part in (line[:2], line.words, line.clauses)}
    is_hit = any(not known.isdisjoint((one[:2], one.words, one.clauses)) for lines, _ in first for one in lines)
    shown = [f"own: {line.source.rpartition('/')[2]}:{line.number} {line.words}" for line in own]
    return [Outcome(case.name, finding.rule.name, is_hit, (*(text[:SHOWN] for _, text in first), *shown[:FIRST]))]


def _without(rule: str) -> Patterns:
    """Return the built-in patterns without a rule and its raw lines."""
    rest = load_rule_store([builtin_patterns()]).filter(lambda head: head.name != rule and head.status != "retired")
    lines = [entry for head in rest.summaries for entry in head.lines]
    return Patterns(load_vocabulary(builtin_patterns() / EVENTS, lines, ()), rest)


def _own_lines(finding: Finding) -> Iterator[Line]:
    """Yield the evidence of the fault itself."""
    rule = finding.rule
    healing = {*(rule.healed.by if rule.healed else ()), *rule.follows}
    evidence = [one for one in finding.evidence if one.step not in healing]
    fault = [one for one in evidence if one.step == rule.counts or one.step in {*rule.alarm, *rule.cause_from}]
    for one in fault or evidence:
        yield _line(one.event.origin.source, one.event.origin.line, one.event.logged)


def _answer(report: Report) -> Iterator[tuple[list[Line], str]]:
    """Yield the lines that a report quotes, from the top: each with the lines below it that it quotes too."""
    text = ReportText(report)
    yield from _finding_lines(text.failures)
    for stuck in text.errors.stuck[:FIRST_STUCK]:
        yield from ((_lines(error.line), f"[stuck] {error.line.message}") for error in stuck.groups[:FIRST_LINES])
    yield from _finding_lines(text.notes)
    yield from ((_lines(error.line), f"[-] {error.line.message}") for error in text.errors.groups)


def _finding_lines(findings: Sequence[FindingText]) -> Iterator[tuple[list[Line], str]]:
    for finding in findings:
        if finding.best_line is not None:
            yield _lines(finding.best_line), f"[{finding.rule}] {finding.best_line.message}"


def _lines(shown: LineText) -> list[Line]:
    below = shown.text.split("\n")[1:]
    first = _line(shown.source, shown.number, shown.text.encode())
    return [first, *(_line(shown.source, at, line.encode()) for at, line in enumerate(below, shown.number + 1))]


def _line(source: str, number: int, text: bytes) -> Line:
    body = body_of(text)
    return Line(source, number, fold_message(body).text, cause_of(body))


if __name__ == "__main__":
    main(sys.argv[1:])
