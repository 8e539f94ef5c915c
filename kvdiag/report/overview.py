"""Print a table of the failures, one row each, the most severe first.

3 failures: 1 high, 2 medium; 1 note

SEVERITY  OBJECT          FAILURE                                STATE    SINCE     COUNT
high      default/db-0    The CSI driver forgot that the volume  ongoing  20:39:21      8
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from kvdiag.base.clock import to_datetime
from kvdiag.base.regex import lazy_regex
from kvdiag.model.report import Finding
from kvdiag.model.values import Severity, State, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.incidents import Incident, incident_label, merged_finding
from kvdiag.safe.clean import clean

MOST_ROWS = 20  # rows; of more failures only the critical and high ones are listed
_UUID = lazy_regex(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def overview(failures: Sequence[Incident], options: RenderOptions) -> str:
    """Return a table of the failures.

    If there are many and -v is not given, it has only the critical and high ones, and a count of the others.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = failures if options.verbose or len(failures) <= MOST_ROWS else _gravest(failures)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("SEVERITY", no_wrap=True)
    table.add_column("OBJECT", overflow="fold", ratio=2)
    table.add_column("FAILURE", overflow="fold", ratio=3)
    for name in ("STATE", "SINCE"):
        table.add_column(name, no_wrap=True)
    table.add_column("COUNT", no_wrap=True, justify="right")
    days = {to_datetime(merged_finding(one).begins).date() for one in shown}
    for incident in shown:
        table.add_row(*(Text(clean(cell, redact=options.redact)) for cell in _cells(incident, is_long=len(days) > 1)))
    stream = io.StringIO()
    console = Console(
        file=stream, width=options.width, force_terminal=options.colour, no_color=not options.colour,
        color_system="standard" if options.colour else None, highlight=False, markup=False, emoji=False,
    )  # fmt: skip
    console.print(table)
    left = len(failures) - len(shown)
    more = f"and {left} more: -v lists them\n" if left else ""
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n" + more


def _gravest(failures: Sequence[Incident]) -> Sequence[Incident]:
    return [one for one in failures if one[0].severity >= Severity.HIGH] or failures[:MOST_ROWS]


def _cells(incident: Incident, *, is_long: bool) -> tuple[str, ...]:
    finding = merged_finding(incident)
    sure = "" if finding.verdict is Verdict.CONFIRMED else " (possible)"
    since = to_datetime(finding.begins).strftime("%m-%d %H:%M:%S" if is_long else "%H:%M:%S")
    return (
        finding.severity.label,
        _object(incident),
        finding.row_title + sure,
        state_word(finding),
        since,
        str(finding.count),
    )


def _object(incident: Incident) -> str:
    """Return the name of what failed, with UUIDs shortened; for several victims their number."""
    subject = incident[0].subject
    return incident_label(incident) if len(incident) > 1 else _UUID.sub(r"\1…", subject.part or subject.name)


def state_word(finding: Finding) -> str:
    """Return the state of the fault at the end of the logs in one word; empty if unknown."""
    return "" if finding.state is State.UNKNOWN else str(finding.state)
