"""Print error lines that no finding explains: a section of the report, and the output of `kvdiag errors`.

Not explained: 797 error lines in 25 groups (4 known to be harmless)
  ongoing  kubelet.go:2916  651×  08:09–09:03
    kubelet.log:17  Container runtime network not ready networkReady=NetworkReady=false reason:NetworkPluginNotReady …
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TextIO

from kvdiag.base.clock import DAY, to_datetime
from kvdiag.model.error_groups import ErrorGroup, Errors, RetriedPod
from kvdiag.model.record import Origin
from kvdiag.report import RenderOptions
from kvdiag.report.jsontext import write_json
from kvdiag.report.phrases import message_of_line
from kvdiag.report.timestamps import rfc3339
from kvdiag.safe.clean import clean
from kvdiag.safe.secrets import redacted

SCHEMA = "kvdiag.errors/1"
OUTPUTS = ("text", "json", "yaml")
FIRST = 5  # groups and pods in a report without -v: the user reads the others with `kvdiag errors`
LEAST = 24  # columns for a message; with fewer, its place is printed on a line of its own
Plain = dict[str, Any]


class Line(NamedTuple):
    """One line of the section. For a sample, `origin` is the place of the log line, and `place` its text."""

    text: str
    place: str = ""
    origin: Origin | None = None


def section(errors: Errors, options: RenderOptions, folder: str = "") -> Iterator[Line]:
    """Return the lines about unexplained errors; none if everything is explained.

    `folder` is removed from the printed places.
    """
    most = None if options.verbose else FIRST
    if errors.groups:
        yield Line(f"Not explained: {_sum(errors)}")
        yield from _rows(errors.groups[:most], options, folder)
        left = len(errors.groups) - len(errors.groups[:most])
        if left:
            yield Line(f"  {_count_noun(left, 'more group')}: kvdiag errors")
    if errors.retried:
        yield Line("Retried, cause unknown")
        yield from (Line(f"  {clean(_pod(pod), redact=options.redact)}") for pod in errors.retried[:most])
        if len(errors.retried) > len(errors.retried[:most]):
            yield Line(f"  {_count_noun(len(errors.retried) - FIRST, 'more pod')}: kvdiag pods --stuck")


def write_text(errors: Errors, stream: TextIO, options: RenderOptions, *, show_benign: bool) -> None:
    """Print the unexplained groups, then the explained ones."""
    known = [group for group in errors.known if group.explained_by or show_benign]
    lines = [
        f"Error lines: {errors.lines}, of them {errors.explained} explained by findings, {errors.benign} harmless",
        *(line.text for line in section(errors, options._replace(verbose=1))),
        *(["Explained"] if known else []),
        *(line.text for line in _rows(known, options, "")),
    ]
    if errors.unlisted:
        lines.append(f"Not listed: {_count_noun(errors.unlisted, 'line')} of groups for which there was no room")
    stream.writelines(line + "\n" for line in lines)


def write_errors_json(errors: Errors, stream: TextIO, options: RenderOptions, *, show_benign: bool) -> None:
    """Print the totals, the unexplained groups and the explained groups as one JSON object."""
    write_json(_document(errors, show_benign=show_benign), stream, redact=options.redact)


def write_errors_yaml(errors: Errors, stream: TextIO, options: RenderOptions, *, show_benign: bool) -> None:
    """Print the same document as YAML."""
    from kvdiag.report.yamltext import write_yaml  # 10 ms that the other outputs need not wait for

    write_yaml(_document(errors, show_benign=show_benign), stream, redact=options.redact)


def _document(errors: Errors, *, show_benign: bool) -> Plain:
    known = [group for group in errors.known if group.explained_by or show_benign]
    return {"schema": SCHEMA, **plain_errors(errors), "known": [_plain_group(group) for group in known]}


def plain_errors(errors: Errors) -> Plain:
    """Return the totals and the unexplained groups as plain JSON values."""
    return {
        "lines": errors.lines,
        "explained": errors.explained,
        "benign": errors.benign,
        "unlisted": errors.unlisted,
        "groups": [_plain_group(group) for group in errors.groups],
        "retried": [
            {
                "pod": pod.pod,
                "count": pod.count,
                "begins": rfc3339(pod.begins),
                "ends": rfc3339(pod.ends),
                "goes_on": pod.is_ongoing,
            }
            for pod in errors.retried
        ],
    }


def _plain_group(group: ErrorGroup) -> Plain:
    fields: Plain = {
        "component": group.component,
        "where": group.where,
        "level": str(group.level),
        "says": group.message,
        "count": group.count,
        "begins": rfc3339(group.begins),
        "ends": rfc3339(group.ends),
        "goes_on": group.is_ongoing,
        "subjects": list(group.subjects),
        "source": group.origin.source,
        "line": group.origin.line,
        "sample": group.sample,
    }
    reasons = {"explained_by": group.explained_by, "benign": group.benign}
    return fields | {name: reason for name, reason in reasons.items() if reason}


def _sum(errors: Errors) -> str:
    harmless = f" ({errors.benign} known to be harmless)" if errors.benign else ""
    more = "more than " if errors.unlisted else ""
    return (
        f"{_count_noun(errors.unexplained, 'error line')} in {more}{_count_noun(len(errors.groups), 'group')}{harmless}"
    )


def _count_noun(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _rows(groups: Sequence[ErrorGroup], options: RenderOptions, folder: str) -> Iterator[Line]:
    """Yield one aligned row for each group, followed by a sample line of it."""
    cells = [(_state(group), _where(group), f"{group.count}×", _span(group.begins, group.ends)) for group in groups]
    cells = [tuple(clean(cell, redact=options.redact) for cell in row) for row in cells]  # type: ignore[misc]
    widths = [max((len(row[column]) for row in cells), default=0) for column in range(4)]
    for group, (state, where, count, span) in zip(groups, cells, strict=True):
        head = f"  {state:{widths[0]}}  {where:{widths[1]}}  {count:>{widths[2]}}  {span:{widths[3]}}{_reason(group)}"
        yield Line(head.rstrip())
        yield from _sample(group, options, folder)


def _sample(group: ErrorGroup, options: RenderOptions, folder: str) -> Iterator[Line]:
    """Yield the place and the message of the first line of a group."""
    message = message_of_line(group.sample)
    message = (
        redacted(message) if options.redact else message
    )  # before its lines are joined: some secrets are recognized by their line
    text = clean(" ".join(message.split()), redact=options.redact)
    place = clean(str(group.origin).removeprefix(f"{folder}/" if folder else ""), redact=options.redact)
    if len(place) + 6 + LEAST > options.width:
        yield Line(f"    {place}", place, group.origin)
        first = "      "
    else:
        first = f"    {place}  "
    shown = textwrap.wrap(text, options.width, initial_indent=first, subsequent_indent="      ", break_on_hyphens=False)
    for number, line in enumerate(shown):
        is_placed = not number and first.strip()
        yield Line(line, place, group.origin) if is_placed else Line(line)


def _state(group: ErrorGroup) -> str:
    """Return `ongoing` if the group lasts until the end of the log, else `stopped`, or `once` for a single line."""
    return "ongoing" if group.is_ongoing else "stopped" if group.count > 1 else "once"


def _where(group: ErrorGroup) -> str:
    return group.where or group.component or group.origin.source.rpartition("/")[2]


def _reason(group: ErrorGroup) -> str:
    return f"  [{group.explained_by or group.benign}]" if group.explained_by or group.benign else ""


def _pod(pod: RetriedPod) -> str:
    return f"{'ongoing' if pod.is_ongoing else 'stopped'}  {pod.pod}  {pod.count}×  {_span(pod.begins, pod.ends)}"


def _span(begins: int | None, ends: int | None) -> str:
    """Return the time span in the shortest clear form: the date only if the span crosses midnight."""
    if begins is None or ends is None:
        return "no time"
    first, last = to_datetime(begins), to_datetime(ends)
    if ends - begins >= DAY or first.date() != last.date():
        return f"{first:%m-%d %H:%M}–{last:%m-%d %H:%M}"
    if f"{first:%H:%M}" == f"{last:%H:%M}":
        return f"{first:%H:%M:%S}" if f"{first:%S}" == f"{last:%S}" else f"{first:%H:%M:%S}–{last:%S}"
    return f"{first:%H:%M}–{last:%H:%M}"
