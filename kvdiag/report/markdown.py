"""Write Markdown for a comment or a job summary: a table of causes, and each cause in a `<details>` block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from kvdiag.base.regex import lazy_regex
from kvdiag.model.report import Finding, Report
from kvdiag.model.values import Severity, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.doubts import format_doubt
from kvdiag.report.incidents import failures, notes
from kvdiag.report.plain_text import evidence_lines
from kvdiag.report.safe_commands import safe_fix
from kvdiag.safe.clean import clean

LARGEST = 60_000  # bytes of a comment; GitHub accepts 65,536 characters
SPARE = 500  # bytes kept free for the head of the table and the sentences about what did not fit
MOST_PROBLEMS = 20
TABLE = ("", "| Severity | What | Of what |", "|---|---|---|")
_MARKUP = lazy_regex(r"([\\`*_{}\[\]<>#|~!@])")
_LINKS = lazy_regex(r"(?i)(https?|www)([:.])")


def write(report: Report, stream: TextIO, options: RenderOptions) -> None:
    """Write the report within the size limit of a comment."""
    write_within(report, stream, options, LARGEST)


def write_within(report: Report, stream: TextIO, options: RenderOptions, room: int) -> None:
    """Write the report in at most `room` bytes: a table of the causes, and as many causes in full as fit."""
    causes = [finding for finding in report.findings if finding.explained_by is None]
    graver = [finding for finding in causes if finding.severity > Severity.INFO]
    ends = [f"### kvdiag: {verdict(report)}"], list(_foot(report, options))
    room -= sum(map(_size, ends)) + SPARE
    rows = _fitting(([_row(finding, options)] for finding in causes), room // 4)
    full = _fitting(
        (list(_full(one, _symptoms_of(one, report), options)) for one in graver), room - sum(map(_size, rows))
    )
    left = [] if len(rows) == len(causes) else ["", f"{len(causes) - len(rows)} more causes are not in the table."]
    left += (
        [] if len(full) == len(graver) else ["", f"In full: the first {len(full)} of {len(graver)}, for want of room."]
    )
    head, foot = ends
    for block in (head, TABLE if rows else (), *rows, *full, left, foot):
        stream.writelines(f"{line}\n" for line in block)


def _fitting(blocks: Iterable[Sequence[str]], room: int) -> list[Sequence[str]]:
    """Return the first blocks that fit into `room` bytes."""
    fitting: list[Sequence[str]] = []
    for block in blocks:
        room -= _size(block)
        if room < 0:
            break
        fitting.append(block)
    return fitting


def _size(block: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8", "backslashreplace")) + 1 for line in block)


def _row(finding: Finding, options: RenderOptions) -> str:
    sure = "" if finding.verdict is Verdict.CONFIRMED else " (possible)"
    subject = code(f"{finding.subject.kind} {finding.subject.name}", options)
    return f"| {finding.severity.label} | {escape_markdown(finding.row_title + sure, options)} | {subject} |"


def _symptoms_of(cause: Finding, report: Report) -> list[Finding]:
    return [one for one in report.findings if one.explained_by == cause.key]


def _foot(report: Report, options: RenderOptions) -> Iterator[str]:
    if report.errors.groups:
        groups = len(report.errors.groups)
        yield from (
            "",
            f"Not explained: {report.errors.unexplained} error lines in {groups} groups; see `kvdiag errors`.",
        )
    for problem in report.problems[:MOST_PROBLEMS]:
        yield from ("", f"Not read: {escape_markdown(problem, options)}")
    if len(report.problems) > MOST_PROBLEMS:
        yield from ("", f"Nor {len(report.problems) - MOST_PROBLEMS} more.")


def verdict(report: Report) -> str:
    """Return a one-line summary: the number of failures, the highest severity, the number of notes."""
    found, noted = failures(report.findings), notes(report.findings)
    more = f"; {len(noted)} note{'' if len(noted) == 1 else 's'}" if noted else ""
    if not found:
        is_read = any(reading.records for reading in report.inputs)
        return f"no failure found{more}" if is_read else "no log lines recognized"
    worst = max(incident[0].severity for incident in found)
    return f"{len(found)} failure{'' if len(found) == 1 else 's'} found, the worst {worst.label}{more}"


def _full(finding: Finding, symptoms: Sequence[Finding], options: RenderOptions) -> Iterator[str]:
    head = f"{finding.severity.label}: {finding.title}"
    yield from (
        "",
        f"<details><summary>{escape_markdown(head, options)}</summary>",
        "",
        escape_markdown(finding.says, options),
        "",
    )
    yield escape_markdown(" ".join(finding.cause.split()), options)
    for one in finding.doubts:
        yield from ("", f"Not certain: {escape_markdown(format_doubt(one), options)}")
    yield from ("", "Evidence", "", *_fenced(evidence_lines(finding, options)))
    if finding.fix:
        yield from ("", "What to do", "")
    for number, fix in enumerate((safe_fix(one, redact=options.redact) for one in finding.fix), start=1):
        guard = f" Only when {fix.after}." if fix.after else ""
        yield f"{number}. {escape_markdown(fix.text + guard, options)}"
        if fix.run:
            yield from (f"   {line}" for line in _fenced([clean(fix.run, redact=options.redact)]))
    for symptom in symptoms:
        yield from ("", f"Explains {code(symptom.rule.name, options)}: {escape_markdown(symptom.says, options)}")
    yield from ("", "</details>")


def escape_markdown(text: str, options: RenderOptions) -> str:
    """Escape text so that it contains no Markdown, HTML, mention, issue reference or link."""
    return _LINKS.sub(
        lambda found: f"{found[1]}&#{ord(found[2])};", _MARKUP.sub(r"\\\1", clean(text, redact=options.redact))
    )


def code(text: str, options: RenderOptions) -> str:
    """Return text as inline code that is also valid in a table, fenced by enough backquotes."""
    shown_text = clean(text, redact=options.redact).replace("|", "\\|")
    quote = "`" * (_longest_run(shown_text) + 1)
    space = " " if shown_text[:1] == "`" or shown_text[-1:] == "`" else ""
    return f"{quote}{space}{shown_text}{space}{quote}"


def _fenced(lines: Sequence[str]) -> list[str]:
    fence = "`" * max(3, max((_longest_run(line) for line in lines), default=0) + 1)
    return [f"{fence}text", *lines, fence]


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
