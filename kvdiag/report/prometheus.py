"""Write metrics for node_exporter's textfile collector: the number of findings per rule, and the time of the run.

https://prometheus.io/docs/instrumenting/exposition_formats/
Write the file with --output-file outside of the collector's folder, then move it there: it must appear at once.
"""

from __future__ import annotations

import time
from typing import TextIO

from kvdiag.report import RenderOptions
from kvdiag.report.report_text import ReportText


def write(report: ReportText, stream: TextIO, options: RenderOptions) -> None:  # noqa: ARG001 (as every output)
    """Gauges; a rule's name is ours or a user's, never a word of a log."""
    counts = report.counts_by_rule
    stream.write("# HELP kvdiag_findings Findings of the last run.\n# TYPE kvdiag_findings gauge\n")
    for (rule, severity, verdict, role), count in sorted(counts.items()):
        labels = f'rule="{rule}",severity="{severity}",verdict="{verdict}",role="{role}"'
        stream.write(f"kvdiag_findings{{{labels}}} {count}\n")
    gauges = (
        ("unexplained_error_lines", "Lines of level warning or worse that nothing explains.", report.errors.rest),
        ("unreadable_inputs", "Inputs that could not be read.", len(report.problems)),
        ("last_run_timestamp_seconds", "When kvdiag last ran.", int(time.time())),
    )
    for name, help_text, value in gauges:
        metric = f"kvdiag_{name}"
        stream.writelines([f"# HELP {metric} {help_text}\n", f"# TYPE {metric} gauge\n", f"{metric} {value}\n"])
