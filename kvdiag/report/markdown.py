"""Markdown for a comment or a job summary: a table of causes, and each in full behind a fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from kvdiag.model.report import Finding, Report
from kvdiag.model.values import Severity, Verdict
from kvdiag.regex import lazy_regex
from kvdiag.report import RenderOptions
from kvdiag.report.clean import clean
from kvdiag.report.doubts import say_doubt
from kvdiag.report.plain import evidence_lines
from kvdiag.report.runnable import shown

MOST = 50  # causes in full: a comment on GitHub has 65,536 characters
_MEANS = lazy_regex(r"([\\`*_{}\[\]<>#|~!@])")
_LINKS = lazy_regex(r"(?i)(https?|www)([:.])")


def write(report: Report, stream: TextIO, options: RenderOptions) -> None:
    """What was found, in full, and what nothing explains."""
    causes = [finding for finding in report.findings if finding.explained_by is None]
    stream.writelines(f"{line}\n" for line in _lines(report, causes, options))


def _lines(report: Report, causes: Sequence[Finding], options: RenderOptions) -> Iterator[str]:
    yield f"### kvdiag: {verdict(report, causes)}"
    if causes:
        yield from ("", "| Severity | What | Of what |", "|---|---|---|")
    for finding in causes:
        sure = "" if finding.verdict is Verdict.CONFIRMED else " (possible)"
        subject = f"{finding.subject.kind} {finding.subject.name}"
        title = words(finding.rule.title + sure, options)
        yield f"| {finding.severity.label} | {title} | {code(subject, options)} |"
    for finding in causes[:MOST]:
        if finding.severity > Severity.INFO:
            yield from _full(finding, [one for one in report.findings if one.explained_by == finding.key], options)
    if len(causes) > MOST:
        yield from ("", f"{len(causes) - MOST} more are in the table only.")
    if report.errors.groups:
        groups = len(report.errors.groups)
        yield from ("", f"Not explained: {report.errors.rest} error lines in {groups} groups; see `kvdiag errors`.")
    for problem in report.problems:
        yield from ("", f"Not read: {words(problem, options)}")


def verdict(report: Report, causes: Sequence[Finding]) -> str:
    """In a few words how it stands."""
    alarms = [finding for finding in causes if finding.severity > Severity.INFO]
    if not alarms:
        return "no failure found" if any(reading.records for reading in report.inputs) else "no log lines recognized"
    worst = max(finding.severity for finding in alarms)
    return f"{len(alarms)} failure{'' if len(alarms) == 1 else 's'} found, the worst {worst.label}"


def _full(finding: Finding, symptoms: Sequence[Finding], options: RenderOptions) -> Iterator[str]:
    head = f"{finding.severity.label}: {finding.rule.title}"
    yield from ("", f"<details><summary>{words(head, options)}</summary>", "", words(finding.says, options), "")
    yield words(" ".join(finding.cause.split()), options)
    for one in finding.doubts:
        yield from ("", f"Not certain: {words(say_doubt(one), options)}")
    yield from ("", "Evidence", "", *_fenced(evidence_lines(finding, options)))
    if finding.fix:
        yield from ("", "What to do", "")
    for number, fix in enumerate((shown(one, redact=options.redact) for one in finding.fix), start=1):
        guard = f" Only when {fix.after}." if fix.after else ""
        yield f"{number}. {words(fix.text + guard, options)}"
        if fix.run:
            yield from (f"   {line}" for line in _fenced([clean(fix.run, redact=options.redact)]))
    for symptom in symptoms:
        yield from ("", f"Explains {code(symptom.rule.name, options)}: {words(symptom.says, options)}")
    yield from ("", "</details>")


def words(text: str, options: RenderOptions) -> str:
    """Words in which nothing is a sign of Markdown or HTML, a mention, a reference or a link."""
    return _LINKS.sub(
        lambda found: f"{found[1]}&#{ord(found[2])};", _MEANS.sub(r"\\\1", clean(text, redact=options.redact))
    )


def code(text: str, options: RenderOptions) -> str:
    """Words as code, in a table too; between as many backquotes as they do not have in a row."""
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
