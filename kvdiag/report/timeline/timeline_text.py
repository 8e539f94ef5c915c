"""A timeline as text that may be shown: each row built once, for every output that a person reads.

An output gets a `TimelineText` and no `TimelineView`: no word of a log reaches it before secrets are redacted and
control characters are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvdiag.base.clock import format_clock
from kvdiag.model.lifecycle import TimelineRow, TimelineView
from kvdiag.model.timeline import Entity
from kvdiag.report.ansi import file_uri
from kvdiag.report.line_text import FindingLine, finding_line
from kvdiag.report.timeline.row_texts import (
    common_folder,
    event_message,
    gap_text,
    phase_text,
    row_text,
    skew_text,
    step_name,
)
from kvdiag.safe.clean import SafeText, clean


class RowText:
    """One event of a timeline: who logged what where, and the state after it.

    `text` says what happened; `detail` has the whole message of the line too. `link` leads to its file, or is empty.
    Times are microseconds UTC.
    """

    def __init__(self, row: TimelineRow, subject: Entity, folder: str, *, redact: bool) -> None:
        """Take a row of a timeline of the subject; `folder` is left out of the place."""
        event, transition = row.transition.event, row.transition
        self._event, self._redact = event, redact
        self.time, self.until = event.time, row.until
        self.clock, self.gap, self.unusual = format_clock(event.time), gap_text(row), row.unusual
        self.is_evidence, self.is_foreign, self.is_legal = bool(row.marks), row.foreign, transition.legal
        self.has_moved = transition.state != transition.before and not row.foreign
        self.state, self.is_certain = transition.state, transition.certain
        self.component = self._clean(event.component)
        self.step = self._clean(step_name(row, subject))
        self.text = self._clean(row_text(row))
        self.place = self._clean(str(event.origin).removeprefix(folder))

    @property
    def origin(self) -> SafeText:
        """Return the whole place of the line."""
        return self._clean(str(self._event.origin))

    @property
    def detail(self) -> SafeText:
        """Return what happened, and the message of the line."""
        return self._clean(f"{self.text}; {event_message(self._event)}")

    @property
    def link(self) -> str:
        """Return the URI of the line."""
        return file_uri(self._event.origin, redact=self._redact)

    def _clean(self, text: str) -> SafeText:
        return clean(text, redact=self._redact)


class PhaseSpan(NamedTuple):
    """A phase, from `begins` to `ends`; the latter is None while it lasts."""

    name: str
    begins: int
    ends: int | None


class TimelineText:
    """The timeline of one subject."""

    def __init__(self, view: TimelineView, *, redact: bool) -> None:
        """`redact` is off only where the user asked for it."""
        self._view, self._redact = view, redact
        subject, life = view.life.subject, view.life
        self.heading = self._clean(f"{subject.kind} {subject.name}")
        ids = [f"{name} {value}" for name, value in subject.ids.items() if value != subject.name]
        self.ids = self._clean(", ".join(ids))
        self.machine, self.state, self.since = life.machine, life.state, life.since
        self.waits = self._clean(f", waits for {life.waits_for}" if life.waits_for else "")
        self.phases = self._clean(" · ".join(map(phase_text, view.phases)))
        self.spans = [PhaseSpan(phase.name, phase.begins, phase.ends) for phase in view.phases]
        self.skews = [self._clean(skew_text(skew)) for skew in view.skews]

    @property
    def rows(self) -> Iterator[RowText]:
        """Yield the rows, each built when it is reached."""
        subject, folder = self._view.life.subject, self._folder
        return (RowText(row, subject, folder, redact=self._redact) for row in self._view.rows)

    @property
    def widest_place(self) -> int:
        """Return the number of characters of the longest place."""
        origins = (str(row.transition.event.origin) for row in self._view.rows)
        return max((len(origin) - len(self._folder) for origin in origins), default=0)

    @property
    def _folder(self) -> str:
        return common_folder(row.transition.event.origin.source for row in self._view.rows)

    @property
    def findings(self) -> Sequence[FindingLine]:
        """Return the findings about the subject."""
        listed, causes = self._view.findings, self._view.causes
        return [finding_line(one, causes.get(one.key), listed, redact=self._redact) for one in listed]

    def _clean(self, text: str) -> SafeText:
        return clean(text, redact=self._redact)
