"""Write metrics for node_exporter's textfile collector: the number of findings per rule, and the time of the run.

https://prometheus.io/docs/instrumenting/exposition_formats/
Write the file with --output-file outside of the collector's folder, then move it there: it must appear at once.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TextIO

from kvdiag.model.report import Report
from kvdiag.report import RenderOptions


def write(report: Report, stream: TextIO, options: RenderOptions) -> None:  # noqa: ARG001 (as every output)
    """Write gauges. The names of rules come from kvdiag or the user, never from a log, so they need no escaping."""
    counts = Counter((one.rule.name, one.severity.label, str(one.verdict), str(one.role)) for one in report.findings)
    stream.write("# HELP kvdiag_findings Findings of the last run.\n# TYPE kvdiag_findings gauge\n")
    for (rule, severity, verdict, role), count in sorted(counts.items()):
        labels = f'rule="{rule}",severity="{severity}",verdict="{verdict}",role="{role}"'
        stream.write(f"kvdiag_findings{{{labels}}} {count}\n")
    gauges = (
        (
            "unexplained_error_lines",
            "Lines of level warning or worse that nothing explains.",
            report.errors.unexplained,
        ),
        ("unreadable_inputs", "Inputs that could not be read.", len(report.problems)),
        ("last_run_timestamp_seconds", "When kvdiag last ran.", int(time.time())),
    )
    for name, help_text, value in gauges:
        metric = f"kvdiag_{name}"
        stream.writelines([f"# HELP {metric} {help_text}\n", f"# TYPE {metric} gauge\n", f"{metric} {value}\n"])
