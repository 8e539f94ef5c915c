"""Print timelines as text: time, gap, component, step, state, message and place of each event."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from kvdiag.base.clock import to_datetime
from kvdiag.model.lifecycle import TimelineRow, TimelineView
from kvdiag.model.record import Origin
from kvdiag.model.timeline import Entity
from kvdiag.report import RenderOptions
from kvdiag.report.ansi import file_uri, linked, styled
from kvdiag.report.phrases import cause_phrase, explain_command
from kvdiag.report.timeline.row_texts import (
    common_folder,
    event_message,
    format_clock,
    gap_text,
    phase_text,
    row_text,
    skew_text,
    step_name,
)
from kvdiag.safe.clean import SafeText, clean, shortened

SHORT = {"kube-controller-manager": "kcm", "external-attacher": "attacher", "external-provisioner": "provisioner"}
MARK, DOT = "◆", "·"
STATE, WHO, FIXED = 12, 10, 50  # columns of the state, of the component, and of everything but the step


def write(views: Sequence[TimelineView], stream: TextIO, options: RenderOptions) -> None:
    """Print each timeline: heading, rows, phases and findings."""
    for number, view in enumerate(views):
        if number:
            stream.write("\n")
        renderer = _Renderer(options)
        stream.writelines(line.rstrip() + "\n" for line in renderer.lines(view))


class _Renderer:
    def __init__(self, options: RenderOptions) -> None:
        self.options = options
        self.folder, self.place = "", 0

    def lines(self, view: TimelineView) -> Iterator[str]:
        """Yield the lines of a timeline."""
        life = view.life
        origins = [str(row.transition.event.origin) for row in view.rows]
        self.folder = common_folder(row.transition.event.origin.source for row in view.rows)
        self.place = max((len(origin) - len(self.folder) for origin in origins), default=0)
        yield self._colour("bold", self._clean(f"{life.subject.kind} {life.subject.name}"))
        ids = [f"{name} {value}" for name, value in life.subject.ids.items() if value != life.subject.name]
        yield from self._wrapped(", ".join(ids), 2)
        day = ""
        for row in view.rows:
            today = to_datetime(row.transition.event.time).strftime("%Y-%m-%d")
            if today != day:
                day = today
                yield self._colour("dim", f"{day} (UTC), {life.machine}")
            yield from self._row(row, life.subject)
        yield from self._end(view)

    def _row(self, row: TimelineRow, subject: Entity) -> Iterator[str]:
        event = row.transition.event
        moved = row.transition.state != row.transition.before and not row.foreign
        state = row.transition.state + ("" if row.transition.certain else "?") if moved else ""
        mark = MARK if row.marks else DOT if row.foreign else " "
        who = SHORT.get(event.component, event.component)
        long = {0: "", 1: "long", 2: "very long"}[row.unusual]
        bad = "" if row.transition.legal else "bad"
        room = max(24, self.options.width - FIXED - self.place)
        first, *more = textwrap.wrap(self._clean(step_name(row, subject)), room, break_on_hyphens=False) or [""]
        yield (
            f"{format_clock(event.time)} {self._colour(long, f'{gap_text(row):>8}')} {mark} "
            f"{self._clean(who)[:WHO]:{WHO}} "
            f"{self._colour(bad, f'{first:{room}}')} {self._colour('state', f'{state:{STATE}}')} "
            f"{self._place(event.origin)}"
        )
        message = self._clean(row_text(row))  # before it is cut: half a secret could not be recognized
        details = (
            f"{message}; {event_message(event)}"
            if self.options.verbose
            else shortened(message, 2 * (self.options.width - 35))
        )
        for line in [*(" " * 35 + part for part in more), *(self._wrapped(details, 35) if details else ())]:
            yield self._colour(bad, line)

    def _place(self, origin: Origin) -> str:
        place = self._colour("dim", self._clean(str(origin).removeprefix(self.folder)))
        return linked(place, file_uri(origin, redact=self.options.redact)) if self.options.links else place

    def _end(self, view: TimelineView) -> Iterator[str]:
        life = view.life
        waits = f", waits for {life.waits_for}" if life.waits_for else ""
        yield ""
        yield self._colour("bold", f"{life.state} since {format_clock(life.since)}{self._clean(waits)}")
        yield from self._wrapped(f" {DOT} ".join(map(phase_text, view.phases)), 0)
        for skew in view.skews:
            yield from self._wrapped(skew_text(skew), 0)
        for finding in view.findings:
            yield from self._wrapped(f"{MARK} {finding.rule.name}: {finding.says}", 0)
            cause = view.causes.get(finding.key)
            if cause is not None:
                yield from self._wrapped(cause_phrase(cause, is_listed=cause in view.findings), 2)
                yield f"    $ {self._colour('command', explain_command(cause.rule.name))}"

    def _wrapped(self, text: str, indent: int) -> Iterator[str]:
        margin = " " * indent
        width = max(40, self.options.width - indent)
        yield from (margin + line for line in textwrap.wrap(self._clean(text), width, break_on_hyphens=False))

    def _clean(self, text: str) -> SafeText:
        return clean(text, redact=self.options.redact)

    def _colour(self, name: str, text: str) -> str:
        return styled(text, name) if self.options.colour else text
