"""Values for docs/architecture.md: what one line of a sample is after each step of an analysis.

`python -m tools.tour`, or `pytest --update tests/test_tour.py`, writes them into the page.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kvdiag.analysis.analyze import analyze_case
from kvdiag.analysis.case import Analysis, Case
from kvdiag.base.clock import to_datetime
from kvdiag.formats.bodies.registry import read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.history.ingest.blocks import read_blocks
from kvdiag.history.lifecycles.build import build_lifecycle
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.model.event import Event
from kvdiag.model.options import Options
from kvdiag.model.report import Finding, Report
from kvdiag.model.timeline import Timeline
from kvdiag.report import RenderOptions
from kvdiag.report.outputs import write_report
from kvdiag.rules.rule_page import format_condition

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
SAMPLE, LOG, LINE = "sample-logs/hostpath-driver-lost-state", "kubelet.log", 162
LINES = 6  # of the report
WIDEST = 110  # characters of a value; the middle of a longer one is left out
BLOCK = re.compile(r"(<!-- value: (?P<name>\w+) -->\n```text\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


class Tour(NamedTuple):
    """The sample, read and analyzed."""

    case: Case
    analysis: Analysis
    report: Report
    event: Event

    @property
    def line(self) -> bytes:
        """Return the line that the page follows."""
        return (ROOT / SAMPLE / LOG).read_bytes().splitlines()[LINE - 1]

    @property
    def timeline(self) -> Timeline:
        """Return the timeline of the subject of that finding."""
        subject = self.finding.subject
        return self.analysis.history.timelines[subject.kind, subject.key]

    @property
    def finding(self) -> Finding:
        """Return the finding that it is evidence of."""
        return next(one for one in self.report.findings if any(e.event.origin.line == LINE for e in one.evidence))


def values() -> Mapping[str, str]:
    """Return each value of the page by its name. The working directory is then that of the project."""
    os.chdir(ROOT)
    case = Case(Options(paths=(SAMPLE,)))
    analysis = case.read()
    event = next(e for e in analysis.history.events if e.origin.source.endswith(LOG) and e.origin.line == LINE)
    tour = Tour(case, analysis, analyze_case(Case(Options(paths=(SAMPLE,))))[0], event)
    steps = (_inputs, _blocks, _hits, _body, _event, _timeline, _lifecycle, _finding, _ranking, _report)
    return {step.__name__.strip("_"): "".join(f"{line}\n" for line in step(tour)) for step in steps}


def updated(page: str) -> str:
    """Return the page with the values as they are now."""
    now = values()
    return BLOCK.sub(lambda block: block[1] + now[block["name"]], page)


def _inputs(tour: Tour) -> Iterator[str]:
    yield from (f"Source({source.name!r})" for source in tour.case.inputs())


def _blocks(tour: Tour) -> Iterator[str]:
    for source in tour.case.inputs():
        if source.name.endswith(LOG):
            for block in read_blocks(source, tour.case.problems.append, list[int]()):
                yield f"Block(first_line={block.first_line}, {block.data.count(10)} lines, {len(block.data)} bytes)"


def _hits(tour: Tour) -> Iterator[str]:
    literals = tour.case.patterns.vocabulary.literals
    scanner = make_scanner(literals)
    for _, _, ids in scanner.scan(tour.line + b"\n"):
        yield f"LineHits(literals={[literals[number].decode() for number in ids]})"


def _body(tour: Tour) -> Iterator[str]:
    body = read_body(peel(tour.line).body)
    if body:
        yield from (f"{name} = {_short(getattr(body, name))}" for name in ("format", "level", "caller", "message"))


def _event(tour: Tour) -> Iterator[str]:
    event = tour.event
    yield f"time = {to_datetime(event.time)}"
    yield f"kind = {event.kind!r}"
    yield f"origin = {event.origin}"
    yield from (f"refs: {kind} = {_short(value)}" for kind, value in event.refs)
    yield from (f"attrs: {name} = {_short(value)}" for name, value in event.attrs.items())


def _timeline(tour: Tour) -> Iterator[str]:
    subject, events = tour.timeline.subject, tour.timeline.events
    yield f"Timeline of {subject.kind} {subject.name}, {len(events)} events"
    yield from (f"ids: {kind} = {_short(value)}" for kind, value in subject.ids.items())
    for coverage in tour.analysis.history.coverage:
        if coverage.component in {"kubelet", "csi-driver"}:
            begins, ends = (f"{to_datetime(time):%H:%M:%S}" for time in (coverage.begins, coverage.ends))
            yield f"Coverage({coverage.component}, {begins} to {ends}, -v={coverage.verbosity})"


def _lifecycle(tour: Tour) -> Iterator[str]:
    lifecycle = build_lifecycle(tour.timeline, tour.analysis.history)
    yield f"{lifecycle.machine}: {' → '.join(dict.fromkeys(step.state for step in lifecycle.transitions))}"
    yield f"state = {lifecycle.state}, waits for {lifecycle.waits_for}"


def _finding(tour: Tour) -> Iterator[str]:
    finding = tour.finding
    yield f"{finding.rule.name}: {finding.verdict}, {finding.severity.label}, {len(finding.doubts)} doubts"
    yield f"when: {_short(format_condition(finding.rule.when))}"
    yield from (f"evidence: {one.step} at {one.event.origin}" for one in finding.evidence)


def _ranking(tour: Tour) -> Iterator[str]:
    for finding in tour.report.findings:
        above = f"symptom of {finding.explained_by.partition(':')[0]}" if finding.explained_by else "cause"
        yield f"{finding.rule.name}: {above}"


def _report(tour: Tour) -> Iterator[str]:
    stream = io.StringIO()
    write_report("text", tour.report, stream, RenderOptions(width=WIDEST))
    yield from stream.getvalue().splitlines()[:LINES]


def _short(value: object) -> str:
    text = str(value)
    half = WIDEST // 2
    return text if len(text) <= WIDEST else f"{text[:half]} … {text[-half:]}"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
