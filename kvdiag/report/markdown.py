"""Markdown for a comment or a job's summary: a table of the failures, and each in full behind a fold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from kvdiag.base.regex import lazy_regex
from kvdiag.report import RenderOptions
from kvdiag.report.errors import STUCK
from kvdiag.report.phrases import count_noun, explain_command
from kvdiag.report.plain_text import evidence_lines
from kvdiag.report.report_text import FindingText, ReportText, StepText
from kvdiag.report.short import named, short_ids
from kvdiag.report.times import moment_text

LARGEST = 60_000  # bytes of a comment; GitHub takes 65,536 characters
SPARE = 500  # bytes for the head of the table, and for what did not fit
MOST_PROBLEMS = 20
MOST_VICTIMS = 5
MOST_CAUSES = 5  # unexplained groups whose cause is shown
TABLE = ("", "| Severity | Failure | Object | State | Since (UTC) | Count |", "|---|---|---|---|---|---|")
_MARKUP = lazy_regex(r"([\\`*_{}\[\]<>#|~!@])")
_LINKS = lazy_regex(r"(?i)(https?|www)([:.])")


def write(report: ReportText, stream: TextIO, options: RenderOptions) -> None:  # noqa: ARG001 (as every output)
    """What was found, in full, and what nothing explains, as much as a comment may have."""
    write_bounded(report, stream, LARGEST)


def write_bounded(report: ReportText, stream: TextIO, room: int) -> None:
    """The same in so many bytes: a table of failures and notes, and failures in full, of both as many as fit."""
    count = len(report.failures) + len(report.notes)
    ends = [f"### kvdiag: {report.verdict}"], list(_foot(report))
    room -= sum(map(_size, ends)) + SPARE
    both = (finding for found in (report.failures, report.notes) for finding in found)
    rows = _fitting(([_row(finding)] for finding in both), room // 4)
    blocks = (list(_full(finding, is_open=not number)) for number, finding in enumerate(report.failures))
    full = _fitting(blocks, room - sum(map(_size, rows)))
    left = [] if len(rows) == count else ["", f"{count - len(rows)} more are not in the table."]
    if len(full) < len(report.failures):
        left += ["", f"In full: the first {len(full)} of {len(report.failures)}, for want of room."]
    head, foot = ends
    for block in (head, TABLE if rows else (), *rows, *full, left, foot):
        stream.writelines(f"{line}\n" for line in block)


def _fitting(blocks: Iterable[Sequence[str]], room: int) -> list[Sequence[str]]:
    """The first blocks that take no more bytes than there is room for."""
    shown: list[Sequence[str]] = []
    for block in blocks:
        room -= _size(block)
        if room < 0:
            break
        shown.append(block)
    return shown


def _size(block: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8", "backslashreplace")) + 1 for line in block)


def _row(finding: FindingText) -> str:
    cells = (
        finding.severity.label,
        escape_markdown(short_ids(finding.row_title) + _sure(finding)),
        code(short_ids(finding.subject.short)),
        finding.state_word,
        moment_text(finding.begins, finding.undated).removesuffix(" UTC"),
        str(finding.count),
    )
    return f"| {' | '.join(cells)} |"


def _sure(finding: FindingText) -> str:
    return " (possible)" if finding.is_possible else ""


def _foot(report: ReportText) -> Iterator[str]:
    for stuck in report.errors.stuck[:MOST_CAUSES]:
        yield from ("", f"{STUCK}: {code(stuck.name)} {escape_markdown(stuck.wait)}.")
        for group in stuck.groups[:1]:
            cause = f" Cause: {escape_markdown(short_ids(group.cause))}." if group.cause else ""
            yield f"- {code(group.line.place)} {code(group.line.message)}{cause}"
    if groups := len(report.errors.groups):
        rest = f"{count_noun(report.errors.rest, report.errors.noun)} in {count_noun(groups, 'group')}"
        yield from ("", f"Not explained by a rule: {rest}; see `kvdiag errors`.")
        for group in report.errors.groups[:MOST_CAUSES]:
            if group.cause:
                yield f"- {group.count}× {code(group.where)}: {escape_markdown(short_ids(group.cause))}"
    for problem in report.problems[:MOST_PROBLEMS]:
        yield from ("", f"Not read: {escape_markdown(problem)}")
    if len(report.problems) > MOST_PROBLEMS:
        yield from ("", f"Nor {len(report.problems) - MOST_PROBLEMS} more.")


def _full(finding: FindingText, *, is_open: bool) -> Iterator[str]:
    """A failure in the order of the report for a terminal, all its steps and lines with it."""
    head = escape_markdown(f"{finding.severity.label}: {short_ids(finding.title)}{_sure(finding)}")
    yield from ("", f"<details{' open' if is_open else ''}><summary>{head}</summary>", "")
    yield from (
        escape_markdown(finding.state),
        "",
        escape_markdown(named(finding, most=MOST_VICTIMS)),
        "",
        escape_markdown(finding.says),
    )
    for step in finding.steps[:1]:
        yield from ("", f"First: {escape_markdown(step.text)}", *_run(step, ""))
    yield from ("", *_fenced(evidence_lines(finding)), "", f"Why: {escape_markdown(' '.join(finding.why))}")
    yield from (line for text in finding.versions for line in ("", escape_markdown(text)))
    if finding.steps[1:]:
        yield from ("", "Next:", "")
    for number, step in enumerate(finding.steps[1:], start=2):
        yield from (f"{number}. {escape_markdown(step.text)}", *_run(step, "   "))
    yield from (line for doubt in finding.doubts for line in ("", f"Not certain: {escape_markdown(doubt)}"))
    for symptom in finding.symptoms:
        yield from ("", f"Explains {code(symptom.rule)}: {escape_markdown(symptom.text)}")
    yield from ("", f"More: {code(explain_command(finding.rule))}", "", "</details>")


def _run(step: StepText, margin: str) -> Iterator[str]:
    """The command of a step as a block, or why there is none."""
    if step.run:
        yield from (margin + line for line in ("", *_fenced([step.run], "bash"), ""))
    elif step.withheld:
        yield f"{margin}({escape_markdown(step.withheld)})"


def escape_markdown(text: str) -> str:
    """Words in which nothing is a sign of Markdown or HTML, a mention, a reference or a link."""
    return _LINKS.sub(lambda found: f"{found[1]}&#{ord(found[2])};", _MARKUP.sub(r"\\\1", text))


def code(text: str) -> str:
    """Words as code, in a table too; between as many backquotes as they do not have in a row."""
    shown_text = text.replace("|", "\\|")
    quote = "`" * (_longest_run(shown_text) + 1)
    space = " " if shown_text[:1] == "`" or shown_text[-1:] == "`" else ""
    return f"{quote}{space}{shown_text}{space}{quote}"


def _fenced(lines: Sequence[str], language: str = "text") -> list[str]:
    fence = "`" * max(3, max((_longest_run(line) for line in lines), default=0) + 1)
    return [f"{fence}{language}", *lines, fence]


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
