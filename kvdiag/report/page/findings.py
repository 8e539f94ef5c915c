"""Render findings for the page: one row for each cause, and the first causes in full with their lines in context."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from kvdiag.model.event import Event
from kvdiag.model.lanes import Lanes, Mark
from kvdiag.model.report import Finding
from kvdiag.model.values import SubjectKind, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.incidents import Incident, incident_label, incidents, merged_finding, victims
from kvdiag.report.page.columns import Sources
from kvdiag.report.page.model import FindingLink, FullFinding, Line, Row
from kvdiag.report.phrases import format_doubt, safe_fix, subject_lines, symptoms_by_cause
from kvdiag.report.timeline.row_texts import event_label
from kvdiag.report.times import (
    NONE_UNDATED,
    UndatedLogs,
    clock_text,
    format_time,
    moment_text,
    span_sentence,
    undated_at,
    undated_incident,
)
from kvdiag.safe.clean import SafeText, clean, shortened

ROOM = 1_000_000  # characters of all findings in full, so that a browser opens the page at once
LEAST = 20  # findings that are always shown in full, whatever their size
MOST_ROWS = 1_000
LONGEST = 1_200  # characters of a log line that is evidence
LONGEST_AROUND = 300
AROUND = 2  # events before and after each line of evidence
LONGEST_NAMES = 500  # characters of victims' names
MOST_SYMPTOMS = 100  # symptoms of one cause
MOST_VICTIMS = 3  # that a row names
MOST_VICTIMS = 300  # of one incident, with the first

Context = Mapping[tuple[str, str], Sequence[Mark]]


class FindingRenderer:
    """Renders rows and full findings of one report. The `anchor` of a finding is the same in every report."""

    def __init__(
        self,
        findings: Sequence[Finding],
        lanes: Lanes | None,
        sources: Sources,
        options: RenderOptions,
        undated: UndatedLogs = NONE_UNDATED,
    ) -> None:
        """Take the findings; `lanes` provide the events around the lines of evidence."""
        self._options, self._sources, self._undated = options, sources, undated
        self._context = _context(lanes)
        self._symptoms = symptoms_by_cause(findings)

    def full(self, causes: Sequence[Incident]) -> Iterator[FullFinding]:
        """Yield the first causes in full while they fit into the page, at least `LEAST` of them."""
        room = ROOM
        for number, incident in enumerate(causes):
            if room <= 0 and number >= LEAST:
                return
            found = self._full_finding(incident)
            room -= _size(found)
            yield found

    def rows(self, causes: Sequence[Incident], found: Sequence[FullFinding]) -> list[Row]:
        """Return the row of each cause; those after the `found` ones are not shown in full and have no anchor."""
        others = (self._row(one, merged_finding(one))._replace(anchor="") for one in causes[len(found) :])
        return [*(one.row for one in found), *others]

    def _row(self, incident: Incident, finding: Finding) -> Row:
        sure = "" if finding.verdict is Verdict.CONFIRMED else " (possible)"
        return Row(
            anchor=anchor(finding),
            severity=finding.severity.label,
            title=finding.row_title + sure,
            heading=finding.title + sure,
            subject=_subject_text(incident),
            when=moment_text(finding.begins, undated_incident(incident, self._undated)).removesuffix(" UTC"),
            kind=str(finding.subject.kind),
            node=_node(finding),
            rule=finding.rule.name,
        )

    def _full_finding(self, incident: Incident) -> FullFinding:
        finding, merged, redact = incident[0], merged_finding(incident), self._options.redact
        undated = undated_incident(incident, self._undated)
        named = subject_lines(finding) if len(incident) == 1 else [_victims(incident)]
        evidence = tuple(self._line(one.event, event_label(one.event), one.total) for one in finding.evidence)
        return FullFinding(
            row=self._row(incident, merged),
            id=finding.rule.id,
            span=span_sentence(incident, self._undated),
            subjects=tuple(shortened(self._clean(line), LONGEST_NAMES) for line in named if line),
            says=finding.texts.all.says,
            cause=tuple(" ".join(part.split()) for part in finding.texts.all.cause.split("\n\n")),
            collect=finding.collect,
            versions=tuple(bug.sentence for bug in finding.texts.all.bugs),
            evidence=evidence,
            around=tuple(self._around(finding, evidence)),
            fixes=tuple(safe_fix(fix, redact=redact) for fix in finding.texts.all.fix),
            doubts=tuple(format_doubt(doubt, undated) for doubt in finding.doubts),
            victims=tuple(
                FindingLink((anchor(one),), one.rule.name, shortened(self._clean(_subject_text((one,))), LONGEST_NAMES))
                for one in incident[1:MOST_VICTIMS]
            ),
            explains=tuple(self._explained(incident)),
            look_alikes=tuple(" ".join(text.split()) for text in finding.rule.look_alikes),
            references=tuple(finding.rule.references),
        )

    def _explained(self, incident: Incident) -> Iterator[FindingLink]:
        symptoms = [symptom for one in incident for symptom in self._symptoms.get(one.key, ())]
        for group in incidents(symptoms)[:MOST_SYMPTOMS]:
            others = f" And {len(group) - 1} more." if len(group) > 1 else ""
            way = f" (through {', '.join(group[0].through)})" if group[0].through else ""
            yield FindingLink(
                tuple(map(anchor, group[:MOST_SYMPTOMS])), group[0].rule.name, f"{group[0].says}{others}{way}"
            )

    def _around(self, finding: Finding, evidence: Sequence[Line]) -> Iterator[Line]:
        """Yield the lines of evidence with the subject's events just before and after each of them."""
        marks = self._context.get((str(finding.subject.kind), finding.subject.key), ())
        times = [mark.event.time for mark in marks]
        near: dict[str, tuple[int, Line]] = {}
        for one in finding.evidence:
            at = bisect_left(times, one.event.time)
            for mark in marks[max(0, at - AROUND) : at + AROUND + 1]:
                line = self._line(mark.event, mark.label, mark.event.count, LONGEST_AROUND)
                near[line.place] = (mark.event.time, line._replace(kind="around"))
        if near:
            for line, one in zip(evidence, finding.evidence, strict=True):
                near[line.place] = (one.event.time, line)
        yield from (line for _, line in sorted(near.values(), key=lambda pair: pair[0]))

    def _line(self, event: Event, step: str, many: int, longest: int = LONGEST) -> Line:
        undated = undated_at(event.origin, self._undated)
        return Line(
            place=self._sources.place(event.origin),
            date=format_time(event.time)[:10] if undated is None else "",
            clock=clock_text(event.time, undated),
            step=step + (f" ×{many}" if many > 1 else ""),
            text=shortened(self._clean(event.text), longest),
            at=self._sources.at(event.origin),
        )

    def _clean(self, text: str) -> SafeText:
        """Whole: a secret that is cut cannot be told."""
        return clean(text, redact=self._options.redact)


def anchor(finding: Finding) -> str:
    """Return the anchor of a finding: equal in every report on the same logs, and no name can be derived from it."""
    return f"f-{sha256(finding.key.encode(errors='replace')).hexdigest()[:10]}"


def _context(lanes: Lanes | None) -> Context:
    found: dict[tuple[str, str], list[Mark]] = {}
    for lane in lanes.lanes if lanes else ():
        found.setdefault((lane.kind, lane.key), []).extend(lane.marks)
    return {key: sorted(marks, key=lambda mark: mark.event.time) for key, marks in found.items()}


def _subject_text(incident: Incident) -> str:
    if len(incident) > 1:
        return _victims(incident, MOST_VICTIMS)
    return next(iter(subject_lines(incident[0])))


def _victims(incident: Incident, most: int | None = None) -> str:
    names = victims(incident)
    left = len(names) - len(names[:most])
    return f"{incident_label(incident)}: {', '.join(names[:most])}" + (f" and {left} more" if left else "")


def _node(finding: Finding) -> str:
    subject = finding.subject
    return subject.name if subject.kind is SubjectKind.NODE else subject.ids.get("node", "")


def _size(found: FullFinding) -> int:
    texts: Iterable[str] = (
        *(f"{line}" for line in (*found.evidence, *found.around, *found.fixes, *found.explains, *found.victims)),
        *(*found.subjects, *found.cause, *found.look_alikes, found.says),
    )
    return sum(map(len, texts))
