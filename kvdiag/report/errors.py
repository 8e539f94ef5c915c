"""Print error lines that no finding explains: a section of the report, and the output of `kvdiag errors`.

Not explained by a rule: 797 error lines in 25 groups (4 known to be harmless)
  ongoing  kubelet.go:2916  651×  08:09–09:03
    kubelet.log:17  Container runtime network not ready networkReady=NetworkReady=false reason:NetworkPluginNotReady …
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TextIO

from kvdiag.model.report import Report
from kvdiag.report import RenderOptions
from kvdiag.report.line_text import ErrorsText, ErrorText, RetriedText, StuckText
from kvdiag.report.phrases import count_noun
from kvdiag.report.screen import Piece, Screen, cut_middle
from kvdiag.report.short import short_ids

FIRST = 5  # groups and pods that a report lists, unless -v
FIRST_BESIDE = 2  # beside a finding
LINES_BESIDE = 3  # that each of them takes
FIRST_STUCK = 3  # stuck subjects, each with so many error lines, unless -v
FIRST_LINES = 2
STUCK = "Stuck without a finding"  # the heading, not "cause unknown": an error below it may name its cause
LEAST = 24  # columns for what a line says; with fewer its place is on a line of its own


def draw_errors(errors: ErrorsText, screen: Screen, *, folder: str = "", is_short: bool = False) -> bool:
    """The section of a report about what is not explained; return whether there was anything.

    `folder` is left out of the places. `is_short` gives a group few lines.
    """
    is_all = bool(screen.options.verbose)
    most = None if is_all else FIRST_BESIDE if is_short else FIRST
    if errors.groups:
        left = len(errors.groups) - len(errors.groups[:most])
        all_of_them = "; all: kvdiag errors" if left and is_short else ""
        screen.text(f"Not explained by a rule: {_sum(errors)}{all_of_them}", style="bold")
        above = {group.line.place for _, groups in _of_stuck(errors, is_all=is_all) for group in groups}
        _draw_groups(errors.groups[:most], screen, folder, is_short=is_short and not is_all, above=above)
        if left and not is_short:
            screen.text(f"{count_noun(left, 'more group')}: kvdiag errors", indent=2)
    if errors.retried:
        screen.text("Retried without a finding", style="bold")
        for pod in errors.retried[:most]:
            screen.line(Piece(f"  {_pod(pod)}"))
        left = len(errors.retried) - len(errors.retried[:most])
        if left:
            screen.text(f"{count_noun(left, 'more pod')}: kvdiag pods --stuck", indent=2)
    return bool(errors.groups or errors.retried)


def draw_harmless(errors: ErrorsText, screen: Screen, *, folder: str = "") -> None:
    """The error lines that are known to be harmless, where a text has few of them and no others: one may be a fault."""
    groups = () if errors.groups or errors.retried else errors.known(show_benign=True)
    if not 0 < len(groups) <= FIRST_BESIDE:
        return
    screen.text(f"Known to be harmless by themselves: {count_noun(errors.benign, 'error line')}", style="bold")
    for group in groups:
        _draw_sample(group, screen, folder, margin=f"  {group.count}×  ", most=LINES_BESIDE)
        screen.text(group.why, indent=6)
    screen.blank()


def draw_stuck(errors: ErrorsText, screen: Screen, *, folder: str = "") -> bool:
    """The section about what waits for a step and has no finding; return whether there was anything."""
    is_all = bool(screen.options.verbose)
    if errors.stuck:
        screen.text(STUCK, style="bold")
    for stuck, groups in _of_stuck(errors, is_all=is_all):
        screen.text(f"{stuck.name} {stuck.wait}", indent=2, hang=2)
        for group in groups:
            _draw_sample(group, screen, folder, margin="    ", most=0)
            _draw_cause(group, screen, 4)
    left = len(errors.stuck) - FIRST_STUCK
    if left > 0 and not is_all:
        screen.text(f"{left} more: -v, kvdiag pods --stuck, kvdiag volumes --stuck", indent=2)
    return bool(errors.stuck)


def _of_stuck(errors: ErrorsText, *, is_all: bool) -> list[tuple[StuckText, Sequence[ErrorText]]]:
    """Return the stuck subjects that are drawn, each with its groups."""
    if is_all:
        return [(stuck, stuck.groups) for stuck in errors.stuck]
    return [(stuck, stuck.groups[:FIRST_LINES]) for stuck in errors.stuck[:FIRST_STUCK]]


def error_lines(errors: ErrorsText, *, width: int) -> list[str]:
    """The same section as lines of text, for the page."""
    stream = io.StringIO()
    screen = Screen(stream, RenderOptions(width=width))
    draw_stuck(errors, screen)
    draw_errors(errors, screen)
    return stream.getvalue().splitlines()


def write_text(report: Report, stream: TextIO, options: RenderOptions, *, show_benign: bool) -> None:
    """All groups: first those that nothing explains, then what the others belong to."""
    screen = Screen(stream, options._replace(verbose=1))
    errors, text = report.errors, ErrorsText(report, redact=options.redact)
    screen.text(
        f"Error lines: {errors.lines}, of them {errors.explained} explained by findings, {errors.benign} harmless"
    )
    draw_stuck(text, screen)
    draw_errors(text, screen)
    known = text.known(show_benign=show_benign)
    if known:
        screen.text("Explained", style="bold")
        _draw_groups(known, screen, "")
    if errors.unlisted:
        screen.text(f"Not listed: {count_noun(errors.unlisted, 'line')} of groups for which there was no room")


def _sum(errors: ErrorsText) -> str:
    harmless = f" ({errors.benign} harmless)" if errors.benign else ""
    more = "more than " if errors.unlisted else ""
    return f"{count_noun(errors.rest, errors.noun)} in {more}{count_noun(len(errors.groups), 'group')}{harmless}"


def _draw_groups(
    groups: Sequence[ErrorText],
    screen: Screen,
    folder: str,
    *,
    is_short: bool = False,
    above: AbstractSet[str] = frozenset(),
) -> None:
    """Of each group a line in columns, and below it the first of its lines; `is_short` leaves the columns out.

    `above` are the places of lines that were drawn already, with their causes.
    """
    times = [f"{group.count}×" for group in groups]
    cells = [
        (group.state, group.where, "" if group.state == "once" else count, group.when)
        for group, count in zip(groups, times, strict=True)
    ]
    widths = [max((len(row[column]) for row in cells), default=0) for column in range(4)]
    for group, count, row in zip(groups, times, cells, strict=True):
        if is_short:
            margin = f"  {count:>{max(map(len, times))}}  "
            _draw_sample(group, screen, folder, margin=margin, most=LINES_BESIDE)
            _draw_cause(group, screen, len(margin) + 2)
            continue
        reason = f"  [{group.reason}]" if group.reason else ""
        columns = (f"{text:{width}}" for text, width in zip(row, widths, strict=True) if width)
        head = f"  {'  '.join(columns)}{reason}"
        if group.line.place in above:
            screen.line(Piece(f"{head.rstrip()}  (above)"))
            continue
        screen.line(Piece(head))
        _draw_sample(group, screen, folder, margin="    ")
        _draw_cause(group, screen, 4)


def _draw_cause(group: ErrorText, screen: Screen, indent: int) -> None:
    """The innermost cause of a group, if its error names one."""
    if group.cause:
        screen.text(f"Cause: {short_ids(group.cause)}", indent=indent, hang=2)


def _draw_sample(group: ErrorText, screen: Screen, folder: str, *, margin: str, most: int = 0) -> None:
    """Where the first line of a group is, and what it says."""
    place = Piece(group.line.place.removeprefix(f"{folder}/") if folder else group.line.place, "place", group.line.link)
    head = f"{margin}{place.text}  "
    indent = len(margin) + 2
    is_below = len(head) + LEAST > screen.width
    begins, message = 0 if is_below else len(head) - indent, str(group.line.message)
    if most:  # a wrapped line ends before its last columns
        message = cut_middle(short_ids(message), most * (screen.width - indent) - begins - 8 * (most - 1))
    if is_below:
        screen.line(Piece(margin), place)
        screen.text(message, indent=indent, most=most)
        return
    first, *more = screen.wrapped(" " * begins + message, indent) or [""]
    screen.line(Piece(margin), place, Piece(f"  {first[begins:]}"))
    for line in more:
        screen.line(Piece(" " * indent + line))


def _pod(pod: RetriedText) -> str:
    return f"{'ongoing' if pod.is_ongoing else 'stopped'}  {pod.pod}  {pod.count}×  {pod.when}"
