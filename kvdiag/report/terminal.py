"""The report for a person at a terminal: what failed, since when, what to do first, and the line that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from kvdiag.base.regex import lazy_regex
from kvdiag.model.values import Severity
from kvdiag.report import RenderOptions
from kvdiag.report.errors import draw_errors, draw_harmless, draw_stuck
from kvdiag.report.line_text import LineText
from kvdiag.report.overview import MOST_ROWS, draw_overview
from kvdiag.report.phrases import count_noun, explain_command
from kvdiag.report.report_text import FindingText, ReportText, StepText
from kvdiag.report.screen import BADGES, Piece, Screen, cut, cut_middle
from kvdiag.report.short import is_named, named, short_ids
from kvdiag.report.sparkline import sparkline
from kvdiag.safe.clean import excerpt

# Lines and rows of what is shown without -v: a report of one finding is read on one screen.
EVIDENCE_LINES = 2  # of a finding among many
KEY_LINES = 4  # of the line that shows the fault
WHY_LINES = 3
CAVEAT_LINES = 2
MOST_CAVEATS = 2
NOTE_LINES = 5
LEAST_NOTE = 40  # characters of a note, on a narrow terminal
WRAP_LOSS = 8  # columns of a line that stay empty as a word is not divided, on average
MOST_NOTES = 2  # beside failures
LINES_BESIDE = 2  # of such a note
MOST_NAMED = 3  # victims
MOST_STEPS = 2  # after the first
MOST_STEPS_AFTER = 1  # where the fault is over or its pod was deleted
MOST_IN_FULL = 5  # failures; of more each takes a few lines

_QUOTED = lazy_regex(r"[\"“]([^\"”\n]{6,80})[\"”]")
_LEANING = lazy_regex(
    r"(?:Usual|Its|It|This|That|These|They|One|Then|Here|Or|Else|So|Both)\b"
)  # on the sentence before
_SENTENCE = lazy_regex(r"(?<=[\w)\"]\.) (?=\S)")  # the blank between two sentences
_LISTED = lazy_regex(r"(?:^|(?<=\.) )[^.]{1,300}:$")  # a sentence whose list follows, if that was cut off


def write(report: ReportText, stream: TextIO, options: RenderOptions) -> None:
    """What failed, several at a glance first; what is only for information; what nothing explains; what was read."""
    screen = Screen(stream, options)
    if options.quiet:
        _failures(report, screen)
        if not report.failures:
            _nothing(report, screen)
        return
    if len(report.failures) > 1:
        screen.text(f"{report.counts}.", style="bold")
        screen.blank()
        draw_overview(report.failures, screen)
        screen.blank()
    _failures(report, screen)
    if draw_stuck(report.errors, screen, folder=report.folder):
        screen.blank()
    _notes(report, screen)
    _needs(report, screen)
    _foot(report, screen)


def _failures(report: ReportText, screen: Screen) -> None:
    """Each failure: of many what one needs first, of very many none but their rows, unless all is asked for."""
    is_full = len(report.failures) <= MOST_IN_FULL or bool(screen.options.verbose)
    for finding in report.failures if is_full or len(report.failures) <= MOST_ROWS else ():
        if is_full:
            _finding(finding, report, screen)
        else:
            _first_screen(finding, report, screen, most=EVIDENCE_LINES)
            screen.blank()


def _finding(finding: FindingText, report: ReportText, screen: Screen) -> None:
    """One failure in full, with what it explains."""
    is_all = bool(screen.options.verbose)
    _first_screen(finding, report, screen, most=KEY_LINES)
    messages = [str(line.message) for line in finding.lines]
    why = finding.why if is_all else [_beginning(one, messages, screen) for one in finding.why[:1]]
    _section(screen, "Why", why)
    _section(screen, "Versions", finding.versions)
    left = _next_steps(finding, screen)
    if is_all:
        _evidence(finding, report, screen)
    _caveats(finding, screen)
    _symptoms(finding, screen)
    if is_all:
        _section(screen, "Look-alikes", finding.look_alikes)
        _section(screen, "See", finding.references)
    more = f"{count_noun(left, 'more step')}: -v; more" if left else "More"
    screen.text(f"{more}: {explain_command(finding.rule)}", indent=2)
    screen.blank()


def _first_screen(finding: FindingText, report: ReportText, screen: Screen, *, most: int) -> None:
    """What failed, where it stands, the first thing to do, and the line that shows it."""
    _head(finding, screen)
    if finding.says.replace(" on this node", "").rstrip(".") != finding.title or screen.options.verbose:
        screen.text(_short(finding.says, screen), indent=2)
    _step_and_line(finding, report, screen, most=most)
    if finding.collect:
        screen.blank()
        screen.text("If this report does not show the cause, collect:", indent=2)
        for command in finding.collect:
            _command(command, screen, indent=4)


def _step_and_line(finding: FindingText, report: ReportText, screen: Screen, *, most: int) -> None:
    """The first thing to do, and the line that shows the failure."""
    for step in finding.steps[:1]:
        screen.text(f"First: {_short(step.text, screen)}", indent=2)
        _run(step, screen, indent=4)
    if finding.best_line is not None:
        screen.blank()
        _line(finding.best_line, report, screen, indent=2, most=most, about=finding.reason)


def _head(finding: FindingText, screen: Screen) -> None:
    """Severity and title, state, and what it is about."""
    label = f" {finding.severity.label.upper()} "
    title = _short(finding.title, screen) + (" (possible)" if finding.is_possible else "")
    first, *more = screen.wrapped(title, len(label) + 1)
    screen.line(Piece(label, BADGES[finding.severity]), Piece(" "), Piece(first, "bold"))
    for line in more:
        screen.line(Piece(" " * (len(label) + 1)), Piece(line, "bold"))
    screen.text(finding.state, indent=2)
    if screen.options.verbose:
        for line in (named(finding),) if len(finding.subject.victims) > 1 else finding.subject.lines:
            screen.text(line, indent=2, hang=2)
        screen.text(f"{finding.rule} · {finding.id}", indent=2, style="dim")
    elif not is_named(finding):
        screen.text(short_ids(named(finding, most=MOST_NAMED)), indent=2, hang=2)


def _line(
    line: LineText, report: ReportText, screen: Screen, *, indent: int, most: int = EVIDENCE_LINES, about: str = ""
) -> None:
    """A line of a log: its place in one piece, to click or copy, when it was written, what it says."""
    many = f"{line.own if line.own > 1 else 'one'} of {line.count}" if line.count > max(1, line.own) else ""
    rest = ", ".join(filter(None, (line.clock, many)))
    place = Piece(line.place.removeprefix(f"{report.folder}/") if report.folder else line.place, "place", line.link)
    if len(place.text) + len(rest) + indent + 2 <= screen.width:
        screen.line(Piece(" " * indent), place, Piece(f"  {rest}" if rest else ""))
    else:
        screen.line(Piece(" " * indent), place)
        screen.text(rest, indent=indent + 2)
    room = most * (screen.width - indent - 4)
    message = line.message if screen.options.verbose else short_ids(excerpt(line.message, room, about))
    screen.text(message, indent=indent + 2)


def _evidence(finding: FindingText, report: ReportText, screen: Screen) -> None:
    lines = [line for line in finding.lines if line is not finding.best_line]
    if lines:
        _title(screen, "Evidence")
    for line in lines:
        _line(line, report, screen, indent=4)


def _next_steps(finding: FindingText, screen: Screen) -> int:
    """What to do after the first step; returns how many steps are not shown."""
    most = MOST_STEPS_AFTER if finding.is_past else MOST_STEPS
    steps = finding.steps[1:] if screen.options.verbose else finding.steps[1 : most + 1]
    if steps:
        _title(screen, "Next")
    for number, step in enumerate(steps, start=2):
        screen.text(f"{number}. {_short(step.text, screen)}", indent=4, hang=3)
        _run(step, screen, indent=7)
    return max(0, len(finding.steps) - 1 - len(steps))


def _caveats(finding: FindingText, screen: Screen) -> None:
    shown = finding.doubts if screen.options.verbose else finding.doubts[:MOST_CAVEATS]
    left = len(finding.doubts) - len(shown)
    more = [f"{left} more: -v"] if left else []
    _section(screen, "Caveats", [*shown, *more], most=0 if screen.options.verbose else CAVEAT_LINES)


def _beginning(text: str, lines: Sequence[str], screen: Screen) -> str:
    """Return the first sentences of a text that fit into the lines of a section, at least one.

    A sentence that quotes words of the lines goes before the others, and alone if there is room for one.
    """
    sentences = _SENTENCE.split(text)
    quoting = [one for one in sentences[1:] if any(words in line for words in _QUOTED.findall(one) for line in lines)]
    chosen = sentences[:1]
    for sentence in (*quoting, *(one for one in sentences[1:] if one not in quoting)):
        more = [one for one in sentences if one in {*chosen, sentence}]
        if len(screen.wrapped(" ".join(more), 4)) > WHY_LINES:
            is_alone = sentence in quoting and not _LEANING.match(sentence)
            if chosen == sentences[:1] and is_alone and len(screen.wrapped(sentence, 4)) <= WHY_LINES:
                chosen = [sentence]
            break
        chosen = more
    first = " ".join(chosen)
    whole = _LISTED.sub("", first)
    return whole or first


def _symptoms(finding: FindingText, screen: Screen) -> None:
    """What the failure explains; without -v in one line."""
    counted = [f"{one.rule}{f' ×{one.count}' if one.count > 1 else ''}" for one in finding.symptoms]
    texts = [f"{name}: {_short(one.text, screen)}" for name, one in zip(counted, finding.symptoms, strict=True)]
    if screen.options.verbose:
        _section(screen, "Explains", texts)
    elif texts:
        line = texts[0] if len(texts) == 1 else ", ".join(counted)
        _section(screen, "Explains", [cut(line, screen.width - len("  Explains  "))])


def _section(screen: Screen, title: str, paragraphs: Sequence[str], *, most: int = 0) -> None:
    """A title with its paragraphs; one that fits beside the title is put there."""
    if len(paragraphs) == 1 and len(paragraphs[0]) + len(title) + 4 <= screen.width:
        screen.line(Piece(f"  {title}", "bold"), Piece(f"  {paragraphs[0]}"))
    elif paragraphs:
        _title(screen, title)
        for paragraph in paragraphs:
            screen.text(paragraph, indent=4, most=most)


def _notes(report: ReportText, screen: Screen) -> None:
    """What is no failure: a first try that failed, a fault that passed; a line each unless all is asked for."""
    if report.notes and not report.failures:
        alarm = "" if report.errors.stuck else f"{report.no_alarm}. "
        screen.text(f"{alarm}{count_noun(len(report.notes), 'note')}:", style="bold")
    is_short = bool(report.failures) and not screen.options.verbose
    shown = report.notes[:MOST_NOTES] if is_short else report.notes
    for finding in shown:
        if screen.options.verbose:
            _finding(finding, report, screen)
        else:
            most, rest = LINES_BESIDE if is_short else NOTE_LINES, f"{finding.others} ({finding.rule})"
            room = most * (screen.width - WRAP_LOSS) - len("note: ") - len(rest)
            screen.text(f"note: {cut_middle(short_ids(finding.says), max(room, LEAST_NOTE))}{rest}", hang=2, most=most)
            if finding.is_early and not is_short:
                _step_and_line(finding, report, screen, most=KEY_LINES)
    if left := len(report.notes) - len(shown):
        screen.text(f"{count_noun(left, 'more note')}: -v")
    if report.notes:
        screen.blank()


def _needs(report: ReportText, screen: Screen) -> None:
    """Which logs would turn what is possible into a verdict."""
    needs = list(report.needs)
    if not needs:
        return
    screen.text("To confirm, collect", style="bold")
    for need in needs:
        screen.text(need.text, indent=2, hang=2)
        if need.run:
            _command(need.run, screen, indent=4)
    screen.blank()


def _foot(report: ReportText, screen: Screen) -> None:
    """What was looked at, so that silence can be judged."""
    if report.silence:
        screen.text(report.silence)
        if step := report.first_check:
            screen.text(f"First: {_short(step.text, screen)}", indent=2)
            _run(step, screen, indent=4)
        draw_harmless(report.errors, screen, folder=report.folder)
    if draw_errors(report.errors, screen, folder=report.folder, is_short=bool(report.failures)):
        screen.blank()
    if screen.options.verbose:
        _when(report, screen)
    screen.text(report.versions, style="dim")
    read = report.read if screen.options.verbose else report.read.replace(f" in {report.folder}:", ":")
    screen.text(f"Read {read}", style="dim")
    for line in report.readings(is_all=bool(screen.options.verbose)):
        screen.text(line, hang=2, style="dim")


def _nothing(report: ReportText, screen: Screen) -> None:
    """In one line, that there is no alarm, and what that rests on."""
    groups = len(report.errors.groups)
    more = [f"{len(report.notes)} for information"] if report.notes else []
    more += [f"{count_noun(groups, 'group')} of errors not explained"] if groups else []
    found = report.no_alarm if report.notes else "No failure found"
    found = "Nothing was logged in the requested time" if report.is_empty else found
    screen.line(Piece("; ".join([f"{found} in {report.read}", *more])))


def _when(report: ReportText, screen: Screen) -> None:
    """Error lines and findings over the time of the logs."""
    lines = list(sparkline(report, screen.width))
    if not lines:
        return
    screen.text("When", style="bold")
    for line in lines:
        if isinstance(line, str):
            screen.text(line, indent=2, style="dim")
        else:
            screen.line(Piece(f"  {line.name}  "), Piece(line.columns, _hue(line.severity)))
    screen.blank()


def _hue(severity: Severity | None) -> str:
    """Return the colour of a row of the sparkline."""
    if severity is None:
        return "dim"
    return "bad" if severity >= Severity.HIGH else ""


def _title(screen: Screen, title: str) -> None:
    screen.text(title, indent=2, style="bold")


def _run(step: StepText, screen: Screen, *, indent: int) -> None:
    if step.run:
        _command(step.run, screen, indent=indent)
    elif step.withheld:
        screen.text(f"({step.withheld})", indent=indent)


def _command(command: str, screen: Screen, *, indent: int) -> None:
    """A command on one line whatever its length: it is there to be copied."""
    screen.line(Piece(f"{' ' * indent}$ "), Piece(command, "command"))


def _short(text: str, screen: Screen) -> str:
    """A text with its long ids shortened, unless all is asked for."""
    return text if screen.options.verbose else short_ids(text)
