"""Write the page of `analyze -o html`: verdict, causes, timeline picture, each cause in full, inputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

from kvdiag.model.lanes import Lane, Lanes
from kvdiag.model.record import Origin
from kvdiag.model.report import Excerpt, Finding, Report
from kvdiag.model.values import Severity
from kvdiag.report import RenderOptions
from kvdiag.report.errors import error_lines
from kvdiag.report.incidents import failures, notes
from kvdiag.report.line_text import ErrorsText
from kvdiag.report.page.columns import Sources, columns
from kvdiag.report.page.findings import MOST_ROWS, FindingRenderer, anchor
from kvdiag.report.page.model import MissingLog, Page, Strip
from kvdiag.report.phrases import common_folder, input_lines, input_summary, nothing_found, verdict, versions_seen
from kvdiag.report.report_text import need_words
from kvdiag.report.times import format_span, undated_logs

MOST_STRIPS = 12
WHOLE = 1000  # parts of a strip
NARROWEST = 4  # parts that a state has at least, so that short ones are visible


def page_of(report: Report, options: RenderOptions) -> Page:
    """Return the values that the template shows for a report."""
    lanes = report.lanes or Lanes((), 0, 0)
    sources = Sources(reading.source for reading in report.inputs)
    renderer = FindingRenderer(report.findings, lanes, sources, options, undated_logs(report.inputs))
    alarms, noted = failures(report.findings), notes(report.findings)
    causes = [*alarms, *noted]
    found = tuple(renderer.full(causes))
    rows = renderer.rows(causes[:MOST_ROWS], found[:MOST_ROWS])
    worst = max((one[0].severity for one in alarms), default=None)
    return Page(
        title=f"kvdiag: {verdict(report)}",
        verdict=_capital(verdict(report)) if report.findings else nothing_found(report).removesuffix("."),
        level=worst.label if worst is not None else "none",
        lead=f"{input_summary(report.inputs, common_folder(report))}." if report.inputs else "",
        rows=tuple(row for row in rows if row.severity != Severity.INFO.label),
        more=max(0, len(causes) - MOST_ROWS),
        notes=tuple(row for row in rows if row.severity == Severity.INFO.label),
        found=found,
        strips=tuple(strips(lanes, report.findings)),
        needs=tuple(MissingLog(need_words(need), need.run) for need in report.needs),
        errors=tuple(error_lines(ErrorsText(report, redact=options.redact), width=110)),
        read=tuple(_read(report)),
        problems=(*report.problems, *report.notes),
        data=picture(lanes, report.findings, sources, options, report.excerpts),
        cut=cut(lanes),
        version=report.version,
    )


def picture(
    lanes: Lanes,
    findings: Sequence[Finding],
    sources: Sources,
    options: RenderOptions,
    excerpts: Sequence[Excerpt] = (),
) -> str:
    """Return the data that script.js draws; empty if there are no lanes."""
    subjects = {(lane.kind, lane.key) for lane in lanes.lanes}
    lines = {mark.event.origin for lane in lanes.lanes for mark in lane.marks}
    found = {anchor(one): one for one in findings if _is_drawn(one, subjects, lines)}
    return columns(lanes, found, sources, options, excerpts) if lanes.lanes else ""


def _is_drawn(finding: Finding, subjects: AbstractSet[tuple[str, str]], lines: AbstractSet[Origin]) -> bool:
    """Return whether the picture has the finding's subject, or a line of its evidence."""
    of_subject = (str(finding.subject.kind), finding.subject.key) in subjects
    return of_subject or any(evidence.event.origin in lines for evidence in finding.evidence)


def cut(lanes: Lanes) -> str:
    """Return a sentence with the number of lanes and events that were left out of the picture."""
    left = [
        f"{count:,} {what}{'' if count == 1 else 's'}"
        for count, what in ((lanes.unlisted, "lane"), (lanes.cut, "event"))
        if count
    ]
    return (
        f"Not drawn, for want of room: {' and '.join(left)}; narrow the time with --since and --until." if left else ""
    )


def strips(lanes: Lanes, findings: Sequence[Finding]) -> Iterator[Strip]:
    """Yield the states of each subject with a finding, for readers without the picture: paper, no JavaScript."""
    of_subject: dict[tuple[str, str], list[Lane]] = defaultdict(list)
    for lane in lanes.lanes:
        if lane.bars:
            of_subject[lane.kind, lane.key].append(lane)
    about = dict.fromkeys((str(one.subject.kind), one.subject.key) for one in findings)
    chosen = [lane for key in about for lane in of_subject.get(key, ())]
    begins = min((lane.bars[0].begins for lane in chosen[:MOST_STRIPS]), default=0)
    ends = max((bar.ends for lane in chosen[:MOST_STRIPS] for bar in lane.bars), default=0)
    for lane in chosen[:MOST_STRIPS]:
        yield strip(lane, begins, max(ends, begins + 1))


def strip(lane: Lane, begins: int, ends: int) -> Strip:
    """Return the states of one lane between two times."""
    parts = []
    for bar in lane.bars:
        at = (bar.begins - begins) * WHOLE // (ends - begins)
        wide = max(NARROWEST, (bar.ends - bar.begins) * WHOLE // (ends - begins))
        parts.append(
            (min(at, WHOLE - NARROWEST), wide, str(bar.tone), f"{bar.state} {format_span(bar.begins, bar.ends)}")
        )
    return Strip(f"{lane.kind} {lane.name}", tuple(parts))


def _read(report: Report) -> Iterator[str]:
    seen = ", ".join(versions_seen(report.versions))
    return chain([seen] if seen else [], input_lines(report, is_all=len(report.inputs) <= MOST_STRIPS))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
