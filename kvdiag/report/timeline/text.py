"""Print timelines as text: time, gap, component, step, state, message and place of each event."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from kvdiag.base.clock import format_clock, to_datetime
from kvdiag.report import RenderOptions
from kvdiag.report.ansi import linked, styled
from kvdiag.report.timeline.timeline_text import RowText, TimelineText
from kvdiag.safe.clean import shortened

SHORT = {"kube-controller-manager": "kcm", "external-attacher": "attacher", "external-provisioner": "provisioner"}
MARK, DOT = "◆", "·"
STATE, WHO, FIXED = 12, 10, 50  # columns of the state, of the component, and of everything but the step


def write(timelines: Sequence[TimelineText], stream: TextIO, options: RenderOptions) -> None:
    """Print each timeline: heading, rows, phases and findings."""
    for number, timeline in enumerate(timelines):
        if number:
            stream.write("\n")
        stream.writelines(line.rstrip() + "\n" for line in _Renderer(timeline, options).lines())


class _Renderer:
    def __init__(self, timeline: TimelineText, options: RenderOptions) -> None:
        self.timeline, self.options = timeline, options
        self.room = max(24, options.width - FIXED - timeline.widest_place)

    def lines(self) -> Iterator[str]:
        """Yield the lines of a timeline."""
        timeline = self.timeline
        yield self._colour("bold", timeline.heading)
        yield from self._wrapped(timeline.ids, 2)
        day = ""
        for row in timeline.rows:
            today = to_datetime(row.time).strftime("%Y-%m-%d")
            if today != day:
                day = today
                yield self._colour("dim", f"{day} (UTC), {timeline.machine}")
            yield from self._row(row)
        yield from self._end()

    def _row(self, row: RowText) -> Iterator[str]:
        state = row.state + ("" if row.is_certain else "?") if row.has_moved else ""
        mark = MARK if row.is_evidence else DOT if row.is_foreign else " "
        who = SHORT.get(row.component, row.component)
        long = {0: "", 1: "long", 2: "very long"}[row.unusual]
        bad = "" if row.is_legal else "bad"
        first, *more = textwrap.wrap(row.step, self.room, break_on_hyphens=False) or [""]
        place = self._colour("dim", row.place)
        yield (
            f"{row.clock} {self._colour(long, f'{row.gap:>8}')} {mark} "
            f"{who[:WHO]:{WHO}} "
            f"{self._colour(bad, f'{first:{self.room}}')} {self._colour('state', f'{state:{STATE}}')} "
            f"{linked(place, row.link) if self.options.links else place}"
        )
        details = row.detail if self.options.verbose else shortened(row.text, 2 * (self.options.width - 35))
        for line in [*(" " * 35 + part for part in more), *self._wrapped(details, 35)]:
            yield self._colour(bad, line)

    def _end(self) -> Iterator[str]:
        timeline = self.timeline
        yield ""
        yield self._colour("bold", f"{timeline.state} since {format_clock(timeline.since)}{timeline.waits}")
        yield from self._wrapped(timeline.phases, 0)
        for skew in timeline.skews:
            yield from self._wrapped(skew, 0)
        for finding in timeline.findings:
            yield from self._wrapped(f"{MARK} {finding.text}", 0)
            if finding.cause:
                yield from self._wrapped(finding.cause, 2)
                yield f"    $ {self._colour('command', finding.command)}"

    def _wrapped(self, text: str, indent: int) -> Iterator[str]:
        margin = " " * indent
        width = max(40, self.options.width - indent)
        yield from (margin + line for line in textwrap.wrap(text, width, break_on_hyphens=False))

    def _colour(self, name: str, text: str) -> str:
        return styled(text, name) if self.options.colour else text
