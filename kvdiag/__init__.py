"""Log forensics for kubelet and containerd: timelines per pod and volume, root cause first.

From Python:

    from kvdiag import analyze

    report = analyze("/var/log/kubelet.log", "bundle.tar.gz")
    for finding in report.findings:
        print(finding.severity.label, finding.rule.name, finding.says)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from os import PathLike

    from kvdiag.analysis.library import LibraryReport

__all__ = ["__version__", "analyze"]
__version__ = "0.1.0"


def analyze(  # noqa: PLR0913 (by keyword; the names are those of options)
    *paths: str | PathLike[str],
    text: str | bytes | None = None,
    since: str | datetime = "",
    until: str | datetime = "",
    namespace: str = "",
    pod: str = "",
    volume: str = "",
    node: str = "",
    year: int | None = None,
    versions: Mapping[str, str] | None = None,
    patterns: str | PathLike[str] | None = None,
) -> LibraryReport:
    """Analyze logs as `kvdiag analyze` does, and give the report as values (`kvdiag.model.report`).

    `paths` are files, folders and archives; `text` is a log in memory, beside them or instead. `since`, `until`,
    `namespace`, `pod`, `volume` and `node` narrow the report as the options of that name do. `year` is that of logs
    whose timestamps have none, `versions` those of components that the logs do not contain (`{"kubelet": "1.29.2"}`),
    `patterns` a folder of your own rules. What could not be read is in `Report.problems`; the values are not redacted,
    `to_dict`, `to_dataframe` and what a notebook shows are.
    Raises FileNotFoundError for a path that does not exist, `kvdiag.base.errors.UsageError` when neither paths nor text
    are given or an argument is invalid, `kvdiag.base.errors.PatternError` for a broken rule.
    """
    from pathlib import Path  # nothing is imported before it is needed: the command starts through this module

    from kvdiag.analysis.library import analyze_logs, in_window

    options = in_window(since, until)._replace(
        paths=tuple(map(str, paths)),
        namespace=namespace,
        pod=pod,
        volume=volume,
        node=node,
        year=year,
        components=dict(versions or {}),
        patterns=(Path(patterns),) if patterns is not None else (),
    )
    return analyze_logs(options, text)
