"""Print the report on a fleet as text, JSON, Markdown or HTML: root causes by number of nodes first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from kvdiag.fleet.overview import Overview, Row, plain
from kvdiag.report.jsontext import write_json
from kvdiag.safe.clean import clean, shortened

OUTPUTS = ("text", "json", "markdown", "html")
MOST_NAMED = 10  # nodes of a cause; JSON has all
SCHEMA = "kvdiag.fleet/1"
_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")


def write_overview(overview: Overview, stream: TextIO, output: str, *, redact: bool = True) -> None:
    """Print the report; `output` is one of OUTPUTS."""
    if output == "json":
        write_json(
            {"schema": SCHEMA, **{name: plain(part) for name, part in overview._asdict().items()}},
            stream,
            redact=redact,
        )
        return
    if output == "html":
        from kvdiag.report.page.render import write_template  # imported here: only this output needs a template

        write_template("fleet.html", _values(overview), stream, redact=redact)
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
    causes = [{"row": row, "facts": list(_facts(row))} for row in overview.causes]
    worst = next(iter(overview.causes), None)
    verdict = f"{_nodes(worst['nodes'])}: {worst['title']}" if worst else "No known failure found."
    errors = [{"nodes": row["nodes"], "lines": row["lines"], "says": _error_text(row)} for row in overview.errors]
    level = worst["severity"] if worst else "none"
    summary = _summary(overview.counts)
    values = {"verdict": verdict, "level": level, "summary": summary, "causes": causes}
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
        left = len(names) - MOST_NAMED
        yield "nodes", ", ".join(names[:MOST_NAMED]) + (f" and {left:,} more" if left > 0 else "")
    if row["open_nodes"] < row["nodes"]:
        yield "over", f"on {_nodes(row['nodes'] - row['open_nodes'])}"
    yield "since", f"{_minute(row['begins'])}, until {_minute(row['ends'])}"
    versions = [f"kubelet {one}" for one in row["kubelet_versions"] or ()] + list(row["driver_versions"] or ())
    if versions:
        yield "versions", ", ".join(versions)
    for one in row["suspicious_versions"]:
        with_it = f"{one['hit_with']:,} of {_nodes(one['nodes_with'])} with {one['component']} {one['version']}"
        yield "suspicious", f"{with_it}, {one['hit_without']:,} of {one['nodes_without']:,} others (p = {one['p']:.2g})"
    if row["across_nodes"]:
        yield "across nodes", f"{row['across_nodes']:,} found by joining the logs of several nodes"
    yield "first", shortened(row["says"], 300)
    if row["first_step"].get("text"):
        run = row["first_step"].get("run") or ""
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
