"""Write the page of `timeline -o html`: the timeline of each subject, with every row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from kvdiag import __version__
from kvdiag.base.clock import format_clock
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.history.views.lanes import bars_between
from kvdiag.model.event import Event
from kvdiag.model.lanes import Bar, Lane, Lanes, Mark
from kvdiag.model.lifecycle import TimelineRow, TimelineView
from kvdiag.model.values import Severity
from kvdiag.report import RenderOptions
from kvdiag.report.incidents import incidents
from kvdiag.report.page.analysis import picture, strip
from kvdiag.report.page.columns import Sources
from kvdiag.report.page.findings import LONGEST, FindingRenderer
from kvdiag.report.page.model import Line, Page, Strip, SubjectTimeline, SubjectTimelineRow
from kvdiag.report.page.render import write_page
from kvdiag.report.timeline.row_texts import event_message, gap_text, phase_text, row_text, skew_text, step_name
from kvdiag.report.times import format_time
from kvdiag.safe.clean import clean, shortened

ROOM = 1_500_000  # characters of all rows
MARKUP = 450  # of one row


def write(views: Sequence[TimelineView], stream: TextIO, options: RenderOptions) -> None:
    """Write one page with all timelines."""
    write_page(page_of(views, options), stream, options)


def page_of(views: Sequence[TimelineView], options: RenderOptions) -> Page:
    """Return the values that the template shows for these timelines."""
    all_findings = (one for view in views for one in (*view.causes.values(), *view.findings))
    findings = list({one.key: one for one in all_findings}.values())
    sources = Sources(row.transition.event.origin.source for view in views for row in view.rows)
    lanes = _lanes(views)
    renderer = FindingRenderer(findings, lanes, sources, options)
    groups = incidents(findings)
    found = tuple(renderer.full(groups))
    rows = renderer.rows(groups, found)
    title = ", ".join(dict.fromkeys(f"{view.life.subject.kind} {view.life.subject.name}" for view in views))
    return Page(
        title=f"kvdiag: {title}",
        verdict=title,
        level=max((one.severity for one in findings), default=Severity.INFO).label if findings else "none",
        lead="; ".join(map(_state, views)),
        rows=tuple(row for row in rows if row.severity != Severity.INFO.label),
        more=0,
        notes=tuple(row for row in rows if row.severity == Severity.INFO.label),
        found=found,
        strips=tuple(_strips(lanes)),
        stories=tuple(_subject_timeline(view, ROOM // len(views), sources, options) for view in views),
        data=picture(lanes, findings, sources, options),
        version=__version__,
    )


def _state(view: TimelineView) -> str:
    life = view.life
    waits = f", waits for {life.waits_for}" if life.waits_for else ""
    return f"{life.state} since {format_time(life.since)} UTC{waits}"


def _subject_timeline(view: TimelineView, room: int, sources: Sources, options: RenderOptions) -> SubjectTimeline:
    life = view.life
    rows = tuple(_fitting_rows(room, (_row(row, view, sources, options) for row in view.rows)))
    return SubjectTimeline(
        name=f"{life.subject.kind} {life.subject.name}",
        ids=tuple(f"{name} {value}" for name, value in life.subject.ids.items()),
        state=life.state,
        since=f"{format_time(life.since)} UTC",
        waits=life.waits_for,
        phases=" · ".join(map(phase_text, view.phases)),
        clocks=tuple(map(skew_text, view.skews)),
        rows=rows,
        more=len(view.rows) - len(rows),
    )


def _fitting_rows(room: int, rows: Iterable[SubjectTimelineRow]) -> Iterator[SubjectTimelineRow]:
    """Yield the first rows that fit into `room` characters, markup included."""
    for row in rows:
        room -= MARKUP + len(row.says) + len(row.line.text) + len(row.line.place)
        if room < 0:
            return
        yield row


def _row(row: TimelineRow, view: TimelineView, sources: Sources, options: RenderOptions) -> SubjectTimelineRow:
    event, transition = row.transition.event, row.transition
    moved = transition.state != transition.before and not row.foreign
    text = shortened(clean(event.text, redact=options.redact), LONGEST)
    label, at = step_name(row, view.life.subject), sources.at(event.origin)
    return SubjectTimelineRow(
        line=Line(sources.place(event.origin), format_time(event.time)[:10], format_clock(event.time), label, text, at),
        gap=gap_text(row),
        unusual=row.unusual,
        who=event.component,
        marks=row.marks,
        state=transition.state if moved else "",
        says=shortened(clean(row_text(row) or event_message(event), redact=options.redact), LONGEST),
        legal=transition.legal,
        foreign=row.foreign,
    )


def _lanes(views: Sequence[TimelineView]) -> Lanes:
    """Return one lane for each subject, phase, and program that logged about the subject or its node."""
    lanes = [lane for view in views for lane in _lanes_of_view(view)]
    times = [row.transition.event.time for view in views for row in view.rows]
    ends = max((row.until for view in views for row in view.rows), default=0)
    return Lanes(tuple(lanes), min(times, default=0), max([ends, *(bar.ends for lane in lanes for bar in lane.bars)]))


def _lanes_of_view(view: TimelineView) -> Iterator[Lane]:
    subject = view.life.subject
    node, kind = subject.ids.get("node", ""), str(subject.kind)
    subject_rows = [row for row in view.rows if not row.foreign]
    ends = max((row.until for row in view.rows), default=view.life.since)
    entered = [(row.transition.event.time, row.transition.state) for row in subject_rows]
    bars = tuple(bars_between(entered, ends, lifecycles().machine(view.life.machine)))
    yield Lane(kind, subject.key, subject.name, node, bars, tuple(map(_mark, subject_rows)))
    for phase in view.phases:
        bar = Bar(phase.begins, ends if phase.ends is None else phase.ends, phase.name)
        yield Lane("phase", subject.key, f"{phase.name} {phase.by}".strip(), node, (bar,), ())
    by_component: dict[str, list[Mark]] = defaultdict(list)
    for row in view.rows:
        component = row.transition.event.component
        by_component[f"node: {component}" if row.foreign else component].append(_mark(row))
    for component, marks in by_component.items():
        yield Lane("node" if component.startswith("node: ") else "program", "", component, node, (), tuple(marks))


def _mark(row: TimelineRow) -> Mark:
    event: Event = row.transition.event
    return Mark(
        event._replace(ends=max(event.ends, row.until)), row.transition.step or event.kind, row.transition.legal
    )


def _strips(lanes: Lanes) -> Iterator[Strip]:
    """Yield the states of each subject, with or without findings."""
    for lane in lanes.lanes:
        if lane.marks and lane.bars:
            yield strip(lane, lane.bars[0].begins, max(lane.bars[-1].ends, lane.bars[0].begins + 1))
