"""Print the report on a fleet as text, JSON, Markdown or HTML: root causes by number of nodes first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TextIO

from kvdiag.fleet.overview import Overview, Row, plain
from kvdiag.report.jsontext import write_json
from kvdiag.safe.clean import clean, shortened

OUTPUTS = ("text", "json", "markdown", "html")
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
    if overview.errors:
        yield from ("", "Errors that nothing explains:")
        yield from (f"  {_nodes(row['nodes'])}, {row['lines']:,}×: {_error_text(row)}" for row in overview.errors)
    if overview.failed:
        yield from ("", "Not judged, or in part:")
        yield from (f"  {row['cluster']}/{row['node']}: {row['reason']}; {row['next_step']}" for row in overview.failed)


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
    if overview.failed:
        yield from ("", "## Not judged, or in part", "", "| node | reason | next step |", "|---|---|---|")
        for row in overview.failed:
            cells = (f"{row['cluster']}/{row['node']}", row["reason"], row["next_step"])
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
    return {**values, "errors": errors, "failed": overview.failed}


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
    yield "since", f"{_minute(row['begins'])}, until {_minute(row['ends'])}"
    versions = [f"kubelet {one}" for one in row["kubelet_versions"] or ()] + list(row["driver_versions"] or ())
    if versions:
        yield "versions", ", ".join(versions)
    if row["across_nodes"]:
        yield "across nodes", "no node shows it alone"
    yield "first", shortened(row["says"], 300)


def _error_text(row: Row) -> str:
    return f"{row['component']}: {shortened(row['says'], 160)}"


def _nodes(count: int) -> str:
    return f"{count:,} node{'s' * (count != 1)}"


def _minute(moment: Any) -> str:  # noqa: ANN401  # a datetime of DuckDB's
    return f"{moment:%Y-%m-%d %H:%M}Z" if moment else "?"


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", clean(text))
