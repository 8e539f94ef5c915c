"""What a report of very many findings takes in each output: CPU seconds, peak memory and size.

python bench/outputs.py [FINDINGS] [OUTPUT…]    100,000 findings and all outputs, if nothing else is said
"""

from __future__ import annotations

import io
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bounds import busy

from kvdiag.analysis.analyze import analyze
from kvdiag.model.options import Options
from kvdiag.model.report import Finding, Report
from kvdiag.report import REPORTS, RenderOptions
from kvdiag.report.outputs import write_report

OF_A_LOG = 100  # findings that are really found; the others are the same of other volumes


class Counted(io.TextIOBase):
    """A stream that keeps nothing but how much was written."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.size = 0

    def write(self, text: str) -> int:
        """Count it."""
        self.size += len(text)
        return len(text)


def report_of(many: int) -> Report:
    """A report with so many findings, each of a volume of its own."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "kubelet.log")
        log.write_text("".join(busy(OF_A_LOG)), "utf-8")
        report = analyze(Options(paths=(str(log),), year=2026), lanes=True)
    alarms = [one for one in report.findings if one.explained_by is None]
    return report._replace(findings=tuple(_others(alarms, many)))


def _others(findings: list[Finding], many: int) -> Iterator[Finding]:
    for number in range(many):
        one = findings[number % len(findings)]
        name = f"{one.subject.name[:-8]}{number:08x}"
        yield one._replace(subject=one.subject._replace(key=name, name=name), begins=one.begins + number)


def main() -> None:
    """Write the report in each output."""
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    report = report_of(many)
    for output in sys.argv[2:] or REPORTS:
        began, stream = time.process_time(), Counted()
        write_report(output, report, stream, RenderOptions())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        took = time.process_time() - began
        print(f"{output:<12} {took:>7.1f} s {peak:>7.0f} MB {stream.size / 1e6:>8.1f} MB written", flush=True)


if __name__ == "__main__":
    main()
