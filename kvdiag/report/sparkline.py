"""A sparkline of error lines over the time span of the logs, with a bar for each finding below it.

When
  2026-11-20 20:39:01 to 20:41:39 UTC; 2.3s and at most 4 error lines a column
  errors  ▁            █  ▂
  KV310           ●━━━━━━━━━━━━━━━━━━━━━━○
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvdiag.base.clock import SECOND, format_duration
from kvdiag.model.error_groups import Histogram
from kvdiag.model.report import Report
from kvdiag.model.values import Severity
from kvdiag.report.incidents import Incident, merged_finding
from kvdiag.report.phrases import format_span

LEVELS = "▁▂▃▄▅▆▇█"
BEGAN, LASTED, HEALED = "●", "━", "○"
ERRORS = "errors"
SHORTEST = 2 * SECOND  # logs over a shorter time need no picture
LEAST = 20  # columns of a strip
MOST_ROWS = 8  # unless -v


class Row(NamedTuple):
    """One row of the sparkline: its label, its severity and its columns."""

    name: str
    severity: Severity | None
    columns: str


def sparkline(report: Report, found: Sequence[Incident], width: int, *, is_all: bool = False) -> Iterator[str | Row]:
    """Yield the title, the rows, and how many rows were left out; nothing if the logs cover no or too little time."""
    if report.span is None or not (found or report.errors.groups):
        return
    begins, ends = report.span
    if ends - begins < SHORTEST:
        return
    label = max(len(ERRORS), *(len(one[0].rule.id) for one in found)) if found else len(ERRORS)
    columns = max(LEAST, width - label - 4)
    counts = _counts(report.errors.when, begins, ends, columns)
    most = f" and at most {max(counts)} error line{'' if max(counts) == 1 else 's'}" if any(counts) else ""
    yield f"{format_span(begins, ends)}; {_step((ends - begins) / columns)}{most} a column"
    if any(counts):
        yield Row(f"{ERRORS:{label}}", None, _bars(counts))
    shown = found if is_all else found[:MOST_ROWS]
    for incident in shown:
        yield Row(f"{incident[0].rule.id:{label}}", incident[0].severity, _when(incident, begins, ends, columns))
    if len(shown) < len(found):
        yield f"and {len(found) - len(shown)} more; -v shows all"


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


def _when(incident: Incident, begins: int, ends: int, columns: int) -> str:
    """Return a bar from the first to the last line of the finding, with a mark where it healed."""
    finding = merged_finding(incident)
    first, last = (_column(time, begins, ends, columns) for time in (finding.begins, finding.ends))
    healed = None if finding.healed is None else _column(finding.healed, begins, ends, columns)
    line = " " * first + BEGAN + LASTED * ((last if healed is None else max(last, healed)) - first)
    return line if healed is None or healed <= first else line[:healed] + HEALED
