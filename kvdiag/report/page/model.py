"""What the page shows, as its template names it; words of a log in it are not made safe to show yet."""

from __future__ import annotations

from typing import NamedTuple

from kvdiag.model.rule import Fix


class Line(NamedTuple):
    """A line of a log at its place: `at` is the event in the picture, `kind` evidence or what stands around it."""

    place: str
    date: str
    clock: str
    step: str
    text: str
    at: str
    kind: str = "evidence"


class FindingLink(NamedTuple):
    """Findings told in one sentence: those that another explains, or a victim of one incident; `anchors` lead to it."""

    anchors: tuple[str, ...]
    rule: str
    says: str


class Row(NamedTuple):
    """A cause in the table on top; `anchor` is empty where there was no room for it in full.

    `heading` is the title above the cause in full, with the object in it.
    """

    anchor: str
    severity: str
    title: str
    heading: str
    subject: str
    when: str
    kind: str
    node: str
    rule: str


class FullFinding(NamedTuple):
    """A cause in full."""

    row: Row
    id: str
    span: str
    subjects: tuple[str, ...]
    says: str
    cause: tuple[str, ...]
    collect: tuple[str, ...]
    versions: tuple[str, ...]
    evidence: tuple[Line, ...]
    around: tuple[Line, ...]
    fixes: tuple[Fix, ...]
    doubts: tuple[str, ...]
    victims: tuple[FindingLink, ...]
    explains: tuple[FindingLink, ...]
    look_alikes: tuple[str, ...]
    references: tuple[str, ...]


class MissingLog(NamedTuple):
    """A log that would turn what is possible into a verdict."""

    says: str
    run: str


class Strip(NamedTuple):
    """States of one subject as a bar of a thousand parts: (begin, width, tone, what it says)."""

    name: str
    parts: tuple[tuple[int, int, str, str], ...]


class SubjectTimelineRow(NamedTuple):
    """One row of a timeline: `marks` are rules that rest on it, `bad` and `long` how unusual it is."""

    line: Line
    gap: str
    unusual: int
    who: str
    marks: tuple[str, ...]
    state: str
    says: str
    legal: bool
    foreign: bool


class SubjectTimeline(NamedTuple):
    """The timeline of one subject; there was no room for `more` of its rows."""

    name: str
    ids: tuple[str, ...]
    state: str
    since: str
    waits: str
    phases: str
    clocks: tuple[str, ...]
    rows: tuple[SubjectTimelineRow, ...]
    more: int = 0


class Page(NamedTuple):
    """One page. `level` is the worst severity; `data` the picture, see `columns.py`; empty for none."""

    title: str
    verdict: str
    level: str
    lead: str
    rows: tuple[Row, ...]
    more: int
    notes: tuple[Row, ...]
    found: tuple[FullFinding, ...]
    strips: tuple[Strip, ...]
    stories: tuple[SubjectTimeline, ...] = ()
    needs: tuple[MissingLog, ...] = ()
    errors: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    data: str = ""
    cut: str = ""
    version: str = ""
