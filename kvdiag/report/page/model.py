"""The values that the page's template shows. They are escaped and redacted when the template is rendered."""

from __future__ import annotations

from typing import NamedTuple

from kvdiag.model.rule import Fix


class Line(NamedTuple):
    """A log line with its place: `at` is its anchor in the picture, `kind` is `evidence` or `around`."""

    place: str
    date: str
    clock: str
    step: str
    text: str
    at: str
    kind: str = "evidence"


class FindingLink(NamedTuple):
    """A finding in one sentence: a symptom, or another victim of the incident. `anchors` are those of its findings."""

    anchors: tuple[str, ...]
    rule: str
    says: str


class Row(NamedTuple):
    """A cause in the table at the top; `anchor` is empty if the page does not show the cause in full.

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
    """A log that would confirm or refute a possible finding."""

    says: str
    run: str


class Strip(NamedTuple):
    """The states of one subject as a bar of 1,000 parts: (begin, width, tone, label)."""

    name: str
    parts: tuple[tuple[int, int, str, str], ...]


class SubjectTimelineRow(NamedTuple):
    """One row of a timeline: `marks` are the rules that have it as evidence, `unusual` tells how unusual its gap is."""

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
    """The timeline of one subject; `more` rows did not fit into the page."""

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
    """One page. `level` is the highest severity; `data` is the picture (see `columns.py`), empty for none."""

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
