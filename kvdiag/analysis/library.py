"""`kvdiag.analyze`: the report for programs in Python, with what a notebook shows of it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

from kvdiag.analysis.analyze import analyze
from kvdiag.base.clock import from_datetime, moment, time_of_day, to_datetime
from kvdiag.base.errors import UsageError
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options
from kvdiag.model.report import Report
from kvdiag.report.json_report import value
from kvdiag.report.jsontext import write_json
from kvdiag.report.overview import cells
from kvdiag.report.report_text import ReportText

MOST_ROWS = 50  # of a notebook's table
HEADS = ("Severity", "Object", "Failure", "State", "Since (UTC)", "Count")


def in_window(since: str | datetime, until: str | datetime) -> Options:
    """Return options with both times, texts as `--since` takes them or datetimes; empty means no restriction.

    Raises UsageError for what is no time, and for a datetime without a zone.
    """
    (begins, first_clock), (ends, last_clock) = (_time("since", since), _time("until", until))
    return Options(since=begins, until=ends, since_clock=first_clock, until_clock=last_clock)


def analyze_logs(options: Options, text: str | bytes | None) -> LibraryReport:
    """Analyze the paths of the options and a log in memory.

    Raises UsageError where there is neither, FileNotFoundError for a path that does not exist.
    """
    if not options.paths and text is None:
        raise UsageError("there is nothing to analyze; give paths, or a text")
    for path in options.paths:
        if not Path(path).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return LibraryReport(*analyze(options, texts=() if data is None else (TextInput("text", data),)))


def _time(name: str, given: str | datetime) -> tuple[int | None, int | None]:
    """Return a time in microseconds UTC, or the time of day where no date is given."""
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise UsageError(f"{name}={given}: this time has no zone; add tzinfo=UTC")
        return from_datetime(given), None
    clock = time_of_day(given)
    if not given or clock is not None:
        return None, clock
    try:
        return moment(given, datetime.now(UTC)), None
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


class LibraryReport(Report):
    """A report with other forms of itself; these have no secrets, while the values are those of the logs."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what `kvdiag analyze -o json` prints, by the schema in kvdiag/report/report.schema.json."""
        stream = StringIO()
        write_json(value(self), stream, redact=True)
        document: dict[str, Any] = json.loads(stream.getvalue())
        return document

    def to_dataframe(self) -> Any:  # noqa: ANN401 (pandas need not be installed)
        """Return a pandas.DataFrame with a row for each finding, symptoms too; times are UTC.

        Raises ImportError without pandas.
        """
        pd = import_module("pandas")
        columns = ("rule", "severity", "verdict", "role", "kind", "subject", "node", "state", "count")
        frame = pd.DataFrame(list(self._rows()), columns=[*columns, "begins", "ends", "title", "says", "explained_by"])
        return frame.assign(begins=pd.to_datetime(frame["begins"]), ends=pd.to_datetime(frame["ends"]))

    def _rows(self) -> Iterator[list[Any]]:
        for one in self.to_dict()["findings"]:
            subject = one["subject"]
            yield [
                *(one[name] for name in ("rule", "severity", "verdict", "role")),
                *(subject["kind"], subject["name"], subject["ids"].get("node", "")),
                *(one[name] for name in ("state", "count", "begins", "ends", "title_object", "says", "explained_by")),
            ]

    def __repr__(self) -> str:
        """`<kvdiag: 2 failures found, worst: high; 1 note; 6 logs>`."""
        logs = len(self.inputs)
        return f"<kvdiag: {ReportText(self).verdict}; {logs} log{'' if logs == 1 else 's'}>"

    def _repr_html_(self) -> str:
        """A table of failures and notes, for notebooks."""
        text = ReportText(self)
        found = [*text.failures[:MOST_ROWS], *text.notes[:MOST_ROWS]]
        is_long = len({to_datetime(one.begins).date() for one in found}) > 1
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in cells(one, is_long=is_long)) for one in found)
        heads = "".join(f"<th>{head}</th>" for head in HEADS)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<p>kvdiag: {escape(text.verdict)}</p><table><tr>{heads}</tr>{body}</table>"
