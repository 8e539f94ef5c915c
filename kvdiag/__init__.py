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
    from os import PathLike

    from kvdiag.model.report import Report

__all__ = ["__version__", "analyze"]
__version__ = "0.1.0"


def analyze(
    *paths: str | PathLike[str],
    text: str | bytes | None = None,
    year: int | None = None,
    versions: Mapping[str, str] | None = None,
    patterns: str | PathLike[str] | None = None,
) -> Report:
    """Analyze logs as `kvdiag analyze` does, and give the report as values (`kvdiag.model.report`).

    `paths` are files, folders and archives; `text` is a log in memory, beside them or instead. `year` is that of logs
    whose timestamps have none, `versions` those of components that the logs do not tell (`{"kubelet": "1.29.2"}`),
    `patterns` a folder of your own rules. What could not be read stands in `Report.problems`; nothing is redacted.
    Raises `kvdiag.base.errors.UsageError` when neither is given, `kvdiag.base.errors.PatternError` for a broken rule.
    """
    from pathlib import Path  # nothing is imported before it is needed: the command starts through this module

    from kvdiag.analysis import analyze as command
    from kvdiag.base.errors import UsageError
    from kvdiag.history.ingest.log_reader import TextInput
    from kvdiag.model.options import Options

    if not paths and text is None:
        raise UsageError("there is nothing to analyze; give paths, or a text")
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    options = Options(
        paths=tuple(str(path) for path in paths),
        year=year,
        components=dict(versions or {}),
        patterns=(Path(patterns),) if patterns is not None else (),
    )
    return command.analyze(options, texts=() if data is None else (TextInput("text", data),))
