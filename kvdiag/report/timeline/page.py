"""Timelines as one HTML page that needs nothing from elsewhere: states as a bar, rows as a table, findings on top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TextIO

from kvdiag.clock import say_duration, to_datetime
from kvdiag.model.lifecycle import TimelineRow, TimelineView
from kvdiag.model.timeline import Entity
from kvdiag.report import RenderOptions
from kvdiag.report.clean import clean
from kvdiag.report.timeline.words import clock, common_folder, gap, how_long, runs_off, says, step, words

HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
 :root {{ color-scheme: light dark; --line: #8884; --mark: #c62828; --warn: #b26a00; --state: #1565c0 }}
 body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }}
 table {{ border-collapse: collapse; width: 100%; font-size: .85rem }}
 td, th {{ text-align: left; vertical-align: top; padding: .2rem .5rem; border-top: 1px solid var(--line) }}
 td.time, td.gap, td.at {{ font-family: ui-monospace, monospace; white-space: nowrap }}
 tr.foreign {{ opacity: .7; font-style: italic }}
 td.says {{ width: 50% }} td.step {{ min-width: 10rem }}
 .long {{ color: var(--warn) }} .bad {{ color: var(--mark); font-weight: 600 }} .state {{ color: var(--state) }}
 .bar {{ display: flex; height: 1.6rem; border-radius: .3rem; overflow: hidden; margin: 1rem 0 }}
 .bar span {{ font-size: .7rem; padding: .2rem .3rem; overflow: hidden; white-space: nowrap }}
 .bar span {{ border-right: 1px solid var(--line) }}
 .finding {{ border-left: .3rem solid var(--mark); padding: .3rem .8rem; margin: .5rem 0 }}
 code, summary {{ overflow-wrap: anywhere }} details summary {{ cursor: pointer }}
</style></head><body>
"""
SHADES = ("#90caf9", "#a5d6a7", "#ffe082", "#ffab91", "#ce93d8", "#b0bec5", "#80cbc4")
COLUMNS = ("UTC", "gap", "who", "step", "state", "says", "at")
NARROWEST = 2.0  # percent of the bar that a state has at least, so that short ones can be seen


def write(views: Sequence[TimelineView], stream: TextIO, options: RenderOptions) -> None:
    """One page with all timelines."""
    title = ", ".join(f"{view.life.subject.kind} {view.life.subject.name}" for view in views)
    stream.write(HEAD.format(title=_safe(f"kvdiag: {title}", options)))
    for view in views:
        stream.writelines(_view(view, options))
    stream.write("</body></html>\n")


def _view(view: TimelineView, options: RenderOptions) -> Iterator[str]:
    life = view.life
    yield f"<h1>{_safe(f'{life.subject.kind} {life.subject.name}', options)}</h1>\n<p>"
    yield ", ".join(f"{name} <code>{_safe(value, options)}</code>" for name, value in life.subject.ids.items())
    waits = f", waits for {life.waits_for}" if life.waits_for else ""
    yield f"</p>\n<p><b>{_safe(life.state, options)}</b> since {clock(life.since)} UTC{_safe(waits, options)}</p>\n"
    for finding in view.findings:
        yield f'<div class="finding"><b>{_safe(finding.rule.name, options)}</b>: {_safe(finding.says, options)}</div>\n'
    yield from _bar(view, options)
    yield from _phases(view, options)
    for skew in view.skews:
        yield f"<p>{_safe(runs_off(skew), options)}</p>\n"
    columns = "".join(f"<th>{name}</th>" for name in COLUMNS)
    yield f"<table><thead><tr>{columns}</tr></thead><tbody>\n"
    folder = common_folder(row.transition.event.origin.source for row in view.rows)
    for row in view.rows:
        yield from _row(row, life.subject, folder, options)
    yield "</tbody></table>\n"


def _bar(view: TimelineView, options: RenderOptions) -> Iterator[str]:
    """The states side by side, each as wide as it lasted."""
    own = [row.transition for row in view.rows if not row.foreign]
    if not own:
        return
    ends = max(row.until for row in view.rows)
    spans: list[tuple[str, int]] = []
    begins, state = own[0].event.time, own[0].state
    for transition in [*own[1:], None]:
        if transition is None or transition.state != state:
            until = ends if transition is None else transition.event.time
            spans.append((state, max(0, until - begins)))
            if transition is not None:
                begins, state = transition.event.time, transition.state
    whole = sum(lasted for _, lasted in spans) or 1
    yield '<div class="bar" role="img" aria-label="states in order of time">'
    for number, (name, lasted) in enumerate(spans):
        width = max(NARROWEST, 100 * lasted / whole)
        title = _safe(f"{name} {say_duration(lasted)}", options)
        yield f'<span style="flex:{width:.2f};background:{SHADES[number % len(SHADES)]};color:#111" title="{title}">'
        yield f"{_safe(name, options)}</span>"
    yield "</div>\n"


def _phases(view: TimelineView, options: RenderOptions) -> Iterator[str]:
    if view.phases:
        yield f"<p>{_safe(' · '.join(map(how_long, view.phases)), options)}</p>\n"


def _row(row: TimelineRow, subject: Entity, folder: str, options: RenderOptions) -> Iterator[str]:
    event = row.transition.event
    moved = row.transition.state != row.transition.before and not row.foreign
    legal = "" if row.transition.legal else "bad"
    long = {0: "", 1: " long", 2: " bad"}[row.unusual]
    marks = "".join(f' <b class="bad">◆ {_safe(mark, options)}</b>' for mark in row.marks)
    day = to_datetime(event.time).strftime("%Y-%m-%d")
    yield f'<tr class="{"foreign" if row.foreign else ""}"><td class="time" title="{day}">{clock(event.time)}</td>'
    yield f'<td class="gap{long}">{gap(row)}</td><td>{_safe(event.component, options)}</td>'
    yield f'<td class="step {legal}">{_safe(step(row, subject), options)}{marks}</td>'
    yield f'<td class="state">{_safe(row.transition.state, options) if moved else ""}</td>'
    yield f'<td class="says {legal}"><details>'
    yield f"<summary>{_safe(says(row) or words(event), options)}</summary>"
    yield f"<code>{_safe(event.text, options)}</code></details></td>"
    at = _safe(str(event.origin), options)
    yield f'<td class="at" title="{at}">{at.removeprefix(_safe(folder, options))}</td></tr>\n'


def _safe(text: str, options: RenderOptions) -> str:
    return escape(clean(text, redact=options.redact))
