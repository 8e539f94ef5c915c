"""Print the report on a fleet as text, JSON, Markdown or HTML, and the answer of a question as a table, CSV or JSON."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any, TextIO

from kvdiag.fleet.overview import Overview, Row
from kvdiag.fleet.questions import Answer
from kvdiag.report.jsontext import write_json
from kvdiag.safe.clean import clean, shortened

MOST_NAMED = {"text": 10, "json": 0, "markdown": 10, "html": 500}
"""The outputs, and how many nodes of a cause each names; 0: all."""
ANSWERS = ("table", "csv", "json")
"""The outputs of an answer."""
WIDEST = 60  # columns of one cell of a table
_FORMULAS = frozenset("=+-@＝＋－＠")
LAST_DAYS = 7  # of the trend in words; JSON has all
SCHEMA = "kvdiag.fleet/1"
_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")


def write_overview(overview: Overview, stream: TextIO, output: str, *, redact: bool = True) -> None:
    """Print the report; `output` is one of MOST_NAMED."""
    if output == "json":
        write_json(
            {"schema": SCHEMA, **{name: plain(part) for name, part in overview._asdict().items()}},
            stream,
            redact=redact,
        )
        return
    if output == "html":
        from kvdiag.report.page.render import write_template  # imported here: only this output needs a template

        write_template("fleet.html", _values(overview), stream, redact=redact, script_name="fleet.js")
        return
    lines = _markdown(overview) if output == "markdown" else _text(overview)
    stream.writelines(f"{clean(line, redact=redact)}\n" for line in lines)


def _text(overview: Overview) -> Iterator[str]:
    yield _summary(overview.counts)
    for row in overview.causes:
        yield ""
        yield f"{row['severity'].upper()} {_nodes(row['nodes'])}: {row['rule']}"
        yield f"  {row['title']}"
        yield from (f"  {name}: {words}" for name, words in _facts(row))
    yield from (f"{text}" for text in _more(overview.causes, "causes"))
    if overview.errors:
        yield from ("", "Errors that nothing explains:")
        yield from (f"  {_nodes(row['nodes'])}, {row['lines']:,}×: {_error_text(row)}" for row in overview.errors)
        yield from (f"  {text}" for text in _more(overview.errors, "errors"))
    if overview.unexplained:
        yield from ("", "Nodes with such errors and without a root cause:")
        yield from (f"  {_node(row)}: {row['lines']:,}×, {shortened(row['says'], 160)}" for row in overview.unexplained)
        yield from (f"  {text}" for text in _more(overview.unexplained, "nodes"))
    if overview.failed:
        yield from ("", "Not judged, or in part:")
        yield from (f"  {_node(row)}: {row['reason']}; {row['next_step']}" for row in overview.failed)
        yield from (f"  {text}" for text in _more(overview.failed, "rows"))


def _markdown(overview: Overview) -> Iterator[str]:
    yield from ("# Fleet report", "", _summary(overview.counts))
    if overview.causes:
        yield from (
            "",
            "| nodes | severity | root cause | first node | since | versions |",
            "|--:|---|---|---|---|---|",
        )
    for row in overview.causes:
        facts = dict(_facts(row))
        columns = (str(row["nodes"]), row["severity"], f"{row['rule']}: {row['title']}", facts["first node"])
        yield f"| {' | '.join(_escaped(cell) for cell in (*columns, facts['since'], facts.get('versions', '')))} |"
    if overview.errors:
        yield from ("", "## Errors that nothing explains", "", "| nodes | lines | error |", "|--:|--:|---|")
        yield from (f"| {row['nodes']} | {row['lines']} | {_escaped(_error_text(row))} |" for row in overview.errors)
    if overview.unexplained:
        yield from (
            "",
            "## Nodes with such errors and without a root cause",
            "",
            "| node | lines | error |",
            "|---|--:|---|",
        )
        yield from (
            f"| {_escaped(_node(row))} | {row['lines']} | {_escaped(shortened(row['says'], 160))} |"
            for row in overview.unexplained
        )
    if overview.failed:
        yield from ("", "## Not judged, or in part", "", "| node | reason | next step |", "|---|---|---|")
        for row in overview.failed:
            cells = (_node(row), row["reason"], row["next_step"])
            yield f"| {' | '.join(map(_escaped, cells))} |"


def _values(overview: Overview) -> dict[str, object]:
    """Return the values that the template shows."""
    causes = [
        {"row": row, "facts": list(_facts(row)), "since": _minute(row["begins"]), "nodes": _nodes(row["nodes"])}
        for row in overview.causes
    ]
    worst = next(iter(overview.causes), None)
    verdict = f"{_nodes(worst['nodes'])}: {worst['title']}" if worst else "No known failure found."
    errors = [{"nodes": row["nodes"], "lines": row["lines"], "says": _error_text(row)} for row in overview.errors]
    level = worst["severity"] if worst else "none"
    summary = _summary(overview.counts)
    severities = list(dict.fromkeys(row["severity"] for row in overview.causes))
    values = {"severities": severities, "verdict": verdict, "level": level, "summary": summary, "causes": causes}
    unexplained = [row | {"says": shortened(row["says"], 160)} for row in overview.unexplained]
    more = [
        text for rows, what in ((overview.causes, "causes"), (overview.failed, "rows")) for text in _more(rows, what)
    ]
    return {**values, "errors": errors, "unexplained": unexplained, "failed": overview.failed, "more": more}


def _summary(counts: Row) -> str:
    parts = [f"{_nodes(counts['nodes'])} of {counts['clusters']:,} cluster{'s' * (counts['clusters'] != 1)}"]
    parts += [f"{counts['failed']:,} failed"] * bool(counts["failed"])
    parts += [f"{counts['partial']:,} read in part"] * bool(counts["partial"])
    if counts["begins"] and counts["ends"]:
        parts.append(f"{_minute(counts['begins'])} to {_minute(counts['ends'])}")
    return ", ".join(parts)


def _facts(row: Row) -> Iterator[tuple[str, str]]:
    certain = "" if row["is_confirmed"] else " (possible)"
    yield "first node", f"{row['first_cluster']}/{row['first_node']}{certain}"
    names = row["all_nodes"]
    if len(names) > 1:
        left = row["nodes"] - len(names)
        yield "nodes", ", ".join(names) + (f" and {left:,} more" if left > 0 else "")
    if row["open_nodes"] < row["nodes"]:
        yield "over", f"on {_nodes(row['nodes'] - row['open_nodes'])}"
    yield "since", f"{_minute(row['begins'])}, until {_minute(row['ends'])}"
    if len(row["days"]) > 1:
        yield "by day", ", ".join(f"{one['day']:%m-%d}: {one['nodes']:,}" for one in row["days"][-LAST_DAYS:])
    if row["newer_kvdiag"]:
        judges = ", ".join(row["newer_kvdiag"])
        yield (
            "first found by",
            f"kvdiag {judges}; another one judged the days before: the rule may be new, not the fault",
        )
    versions = [f"kubelet {one}" for one in row["kubelet_versions"] or ()] + list(row["driver_versions"] or ())
    if versions:
        yield "versions", ", ".join(versions)
    for one in row["suspicious_versions"]:
        with_it = f"{one['hit_with']:,} of {_nodes(one['nodes_with'])} with {one['component']} {one['version']}"
        yield "suspicious", f"{with_it}, {one['hit_without']:,} of {one['nodes_without']:,} others (p = {one['p']:.2g})"
    if row["across_nodes"]:
        yield "across nodes", f"{row['across_nodes']:,} found by joining the logs of several nodes"
    yield "found there", shortened(row["says"], 300)
    if row["first_step"]["text"]:
        run = row["first_step"]["run"]
        yield "first step", row["first_step"]["text"] + (f" $ {run}" if run else "")


def _more(rows: Sequence[Row], what: str) -> Iterator[str]:
    """Yield a sentence with the number of rows that are left out."""
    left = (rows[0]["all_rows"] if rows else 0) - len(rows)
    if left > 0:
        yield f"{left:,} more {what}: kvdiag fleet sql"


def _node(row: Row) -> str:
    return f"{row['cluster']}/{row['node']}"


def _error_text(row: Row) -> str:
    return f"{row['component']}: {shortened(row['says'], 160)}"


def _nodes(count: int) -> str:
    return f"{count:,} node{'s' * (count != 1)}"


def _minute(moment: Any) -> str:  # noqa: ANN401  # a datetime of DuckDB's
    return f"{moment:%Y-%m-%d %H:%M}Z" if moment else "?"


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", clean(text))


def write_answer(answer: Answer, stream: TextIO, output: str, *, redact: bool = True) -> None:
    """Print an answer; `output` is one of ANSWERS."""
    if output == "json":
        rows = ({name: plain(value) for name, value in zip(answer.columns, row, strict=True)} for row in answer.rows)
        write_json(rows, stream, redact=redact)
    elif output == "csv":
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([clean(name) for name in answer.columns])
        writer.writerows([_cell(value, redact=redact) for value in row] for row in answer.rows)
    else:
        _write_table(answer, stream, redact=redact)


def _write_table(answer: Answer, stream: TextIO, *, redact: bool) -> None:
    heads = [clean(name) for name in answer.columns]
    rows = [[shortened(clean(_as_text(value), redact=redact), WIDEST) for value in row] for row in answer.rows]
    widths = [max([len(head), *(len(row[at]) for row in rows)]) for at, head in enumerate(heads)]
    stream.writelines(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
        for row in (heads, *rows)
    )


def _cell(value: object, *, redact: bool) -> str:
    """Return a CSV cell that a spreadsheet does not run as a formula."""
    text = clean(_as_text(value), redact=redact)
    return f"'{text}" if text[:1] in _FORMULAS and not isinstance(value, int | float) else text


def _as_text(value: object) -> str:
    plain_value = plain(value)
    if isinstance(plain_value, list):
        return ", ".join(map(str, plain_value))
    return "" if plain_value is None else str(plain_value)


def plain(value: Any) -> Any:  # noqa: ANN401  # whatever DuckDB gives
    """Return a value as plain JSON values."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)
