"""A sparkline of error lines over the time span of the logs, with a bar for each finding below it.

When
  2026-11-20 20:39:01 to 20:41:39 UTC; one column = 2.3s, full height = 4 error lines
  errors  ▁            █  ▂
  KV310           ●━━━━━━━━━━━━━━━━━━━━━━○
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvdiag.base.clock import SECOND, format_duration
from kvdiag.model.error_groups import Histogram
from kvdiag.model.values import Severity
from kvdiag.report.phrases import count_noun
from kvdiag.report.report_text import FindingText, ReportText
from kvdiag.report.times import format_span

LEVELS = "▁▂▃▄▅▆▇█"
BEGAN, LASTED, HEALED = "●", "━", "○"
ERRORS = "errors"
SHORTEST = 2 * SECOND  # logs over a shorter time need no picture
LEAST = 20  # columns of a strip


class Row(NamedTuple):
    """One row of the sparkline: its label, its severity and its columns."""

    name: str
    severity: Severity | None
    columns: str


def sparkline(report: ReportText, width: int) -> Iterator[str | Row]:
    """The title, then the rows; nothing where the logs have no time, or too little."""
    found = [*report.failures, *report.notes]
    if report.span is None or not (found or report.errors.groups):
        return
    begins, ends = report.span
    if ends - begins < SHORTEST:
        return
    label = max(len(ERRORS), *(len(one.id) for one in found)) if found else len(ERRORS)
    columns = max(LEAST, width - label - 4)
    counts = _counts(report.when, begins, ends, columns)
    step = _step((ends - begins) / columns)
    most = f", full height = {count_noun(max(counts), 'error line')}" if any(counts) else ""
    yield f"{format_span(begins, ends)}; one column = {step}{most}"
    if any(counts):
        yield Row(f"{ERRORS:{label}}", None, _bars(counts))
    for finding in found:
        yield Row(f"{finding.id:{label}}", finding.severity, _when(finding, begins, ends, columns))


def _step(microseconds: float) -> str:
    return f"{microseconds / SECOND:.1f}s" if microseconds < 60 * SECOND else format_duration(int(microseconds))


def _column(time: int, begins: int, ends: int, columns: int) -> int:
    return max(0, min(columns - 1, (time - begins) * columns // (ends - begins)))


def _counts(when: Histogram, begins: int, ends: int, columns: int) -> list[int]:
    counts = [0] * columns
    for number, count in enumerate(when.counts):
        time = when.begins + number * when.width + when.width // 2
        counts[_column(time, begins, ends, columns)] += count
    return counts


def _bars(counts: Sequence[int]) -> str:
    """Return a bar for each count; the smallest non-zero count is still visible."""
    most = max(counts)
    return "".join(LEVELS[(count * len(LEVELS) - 1) // most] if count else " " for count in counts).rstrip()


def _when(finding: FindingText, begins: int, ends: int, columns: int) -> str:
    """From when until when it was, and when it healed."""
    first, last = (_column(time, begins, ends, columns) for time in (finding.begins, finding.ends))
    healed = None if finding.healed is None else _column(finding.healed, begins, ends, columns)
    line = " " * first + BEGAN + LASTED * ((last if healed is None else max(last, healed)) - first)
    return line if healed is None or healed <= first else line[:healed] + HEALED
