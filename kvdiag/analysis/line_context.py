"""Read the log lines around events again, for an output that shows an event between the lines around it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kvdiag.analysis.redact import group_lines, without_secrets
from kvdiag.base.errors import InputError
from kvdiag.inputs.paths import sources
from kvdiag.inputs.readers import BorrowedReader
from kvdiag.inputs.repair import Transcoded
from kvdiag.inputs.scan.blocks import blocks
from kvdiag.inputs.source import Source
from kvdiag.model.record import Origin
from kvdiag.model.report import Excerpt, Report
from kvdiag.safe.forms.pem import without_keys

AROUND = 20  # lines before and after each event
ABOVE = 30  # further lines that are read but not shown: a secret may be announced by a line above it
MOST_LINES = 20_000  # of all excerpts: 1 s of redaction, 0.3 MB of a page
LONGEST = 1_000  # bytes of a line that are read

Stretch = tuple[int, int]  # the first line and the line after the last, from 0


def excerpts(report: Report, paths: Sequence[str]) -> tuple[Excerpt, ...]:
    """Return redacted excerpts of the files with the lines around the events of a report's findings.

    Evidence comes first, then the other events of subjects with findings, at most `MOST_LINES` lines. Standard input
    cannot be read again and has no excerpts; problems were reported when the input was read first.
    """
    if not paths or "-" in paths:
        return ()
    stretches = dict(_stretches(_origins(report)))
    found: list[Excerpt] = []
    for source in sources(paths, _ignore):
        if source.name in stretches and not source.evidence:
            found += _excerpts_of(source._replace(problem=_ignore), stretches[source.name])
    return tuple(found)


def _ignore(_problem: InputError) -> None:
    """Drop a problem that was reported when the input was read first."""


def _origins(report: Report) -> Iterator[Origin]:
    """Yield the lines of evidence, then the other events of subjects with findings."""
    for finding in report.findings:
        yield from (one.event.origin for one in finding.evidence)
    keys = {(str(finding.subject.kind), finding.subject.key) for finding in report.findings}
    for lane in report.lanes.lanes if report.lanes else ():
        if (lane.kind, lane.key) in keys:
            yield from (mark.event.origin for mark in lane.marks)


def _stretches(origins: Iterable[Origin]) -> Iterator[tuple[str, list[Stretch]]]:
    """Yield for each source the stretches around its first events, merged and in order."""
    lines_of: dict[str, set[int]] = defaultdict(set)
    for origin in islice(dict.fromkeys(origins), MOST_LINES // (2 * AROUND)):
        lines_of[origin.source].add(origin.line - 1)
    for source, lines in lines_of.items():
        merged: list[Stretch] = []
        for line in sorted(lines):
            begin, end = max(0, line - AROUND), line + AROUND + 1
            if merged and begin <= merged[-1][1]:
                merged[-1] = (merged[-1][0], end)
            else:
                merged.append((begin, end))
        yield source, merged


def _excerpts_of(source: Source, stretches: Sequence[Stretch]) -> Iterator[Excerpt]:
    """Yield the excerpts of one input, each redacted together with some lines above it."""
    lines = dict(_numbered_lines(source, stretches))
    for begin, end in stretches:
        above = max(0, begin - ABOVE)
        found = [lines[number] for number in range(above, end) if number in lines]
        shown = [text for group in group_lines(found) for text in without_secrets(group)][begin - above :]
        if shown:
            yield Excerpt(source.name, begin + 1, tuple(shown))


def _numbered_lines(source: Source, stretches: Sequence[Stretch]) -> Iterator[tuple[int, str]]:
    """Yield the lines in the stretches and `ABOVE` lines before each, with their numbers from 0."""
    with source.open() as reader:
        for block in without_keys(blocks(Transcoded(BorrowedReader(reader)))):
            end = block.first_line + block.lines
            if block.first_line > stretches[-1][1]:
                return
            if not any(begin - ABOVE < end and block.first_line < until for begin, until in stretches):
                continue
            for number, line in enumerate(block.data.split(b"\n"), block.first_line):
                if number < end and any(begin - ABOVE <= number < until for begin, until in stretches):
                    yield number, line[:LONGEST].decode("utf-8", "replace").rstrip("\r")
