"""Several failures at a glance: one row each, the gravest first.

SEVERITY  OBJECT          FAILURE                                STATE    SINCE     COUNT
high      default/db-0    Volume stays mounted: driver restarted  ongoing  20:39:21      8
"""

from __future__ import annotations

from kvdiag.base.clock import to_datetime
from kvdiag.model.values import Severity
from kvdiag.report.report_text import Findings, FindingText
from kvdiag.report.screen import Screen, cut
from kvdiag.report.short import short_ids
from kvdiag.report.times import scale_text

MOST_OBJECT = 22  # columns on a narrow terminal: a namespace and a pod of a Deployment take two lines
MOST_FAILURE = 90  # characters of a failure: four lines of a terminal; the whole is above the failure itself
MOST_ROWS = 20  # of more failures only those that are critical or high


def draw_overview(failures: Findings, screen: Screen) -> None:
    """A table of the failures, with a line that counts those left out, unless all are asked for."""
    from rich.table import Table  # most reports have one failure
    from rich.text import Text

    shown = failures if screen.options.verbose or len(failures) <= MOST_ROWS else gravest(failures)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("SEVERITY", no_wrap=True)
    table.add_column("OBJECT", overflow="fold", max_width=max(MOST_OBJECT, screen.width // 4))
    table.add_column("FAILURE", overflow="fold", ratio=1)
    for name in ("STATE", "SINCE"):
        table.add_column(name, no_wrap=True)
    table.add_column("COUNT", no_wrap=True, justify="right")
    rows = list(shown)
    is_long = len({to_datetime(one.begins).date() for one in rows if one.undated is None}) > 1
    for finding in rows:
        table.add_row(*map(Text, cells(finding, is_long=is_long)))
    screen.draw(table)
    if len(shown) < len(failures):
        screen.text(f"and {len(failures) - len(shown)} more: -v lists them")


def gravest(failures: Findings) -> Findings:
    """Those that are critical or high, which come first; the first of all where none is."""
    grave = sum(severity >= Severity.HIGH for severity in failures.severities())
    return failures[: grave or MOST_ROWS]


def cells(finding: FindingText, *, is_long: bool) -> tuple[str, ...]:
    """The cells of a row; `is_long` where the rows are of several days."""
    return (
        finding.severity.label,
        short_ids(finding.subject.short),
        cut(short_ids(finding.row_title), MOST_FAILURE) + (" (possible)" if finding.is_possible else ""),
        finding.state_word,
        _since(finding, is_long=is_long),
        str(finding.count),
    )


def _since(finding: FindingText, *, is_long: bool) -> str:
    if finding.undated is not None:
        return scale_text(finding.begins, finding.undated)
    return to_datetime(finding.begins).strftime("%m-%d %H:%M:%S" if is_long else "%H:%M:%S")
