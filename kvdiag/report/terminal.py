"""Print the report on a terminal: failures, evidence, steps, unexplained errors; at any width, coloured or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TextIO

from kvdiag.model.error_groups import Errors
from kvdiag.model.record import Origin
from kvdiag.model.report import Evidence, Finding, Need, Report
from kvdiag.model.rule import Fix
from kvdiag.model.values import Severity, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.ansi import BADGES, file_uri, linked, styled
from kvdiag.report.cause_phrases import explain_command
from kvdiag.report.doubts import format_doubt
from kvdiag.report.errors import section
from kvdiag.report.incidents import Incident, failures, incidents, merged_finding, notes, others_sentence, victims
from kvdiag.report.overview import MOST_ROWS, overview
from kvdiag.report.phrases import (
    common_folder,
    count_sentence,
    evidence_message,
    format_clock,
    format_time,
    input_lines,
    input_summary,
    nothing_found,
    span_sentence,
    subject_lines,
    symptoms_by_cause,
    versions_seen,
)
from kvdiag.report.safe_commands import safe_fix
from kvdiag.report.sparkline import sparkline
from kvdiag.safe.clean import clean, shortened

EVIDENCE_LINES = 2  # of a log line's message, unless -v
KEY_LINES = 5  # of the line that shows the fault
MOST_IN_FULL = 5  # failures; if there are more, each has a few lines only
MOST_STEPS = 3  # steps after the first one, unless -v
LONGEST_REASON = 40  # characters of the error at the end of a sentence, to search for in a line


class Piece(NamedTuple):
    """A piece of text on one line, with its colour and its link."""

    text: str
    colour: str = ""
    link: str = ""


def write(report: Report, stream: TextIO, options: RenderOptions) -> None:
    """Print the failures (an overview first if there are several), the notes, unexplained errors and inputs."""
    writer = _Writer(stream, options, common_folder(report))
    found, noted = failures(report.findings), notes(report.findings)
    if options.quiet:
        writer.failures(found, report)
        if not found:
            writer.nothing(report, len(noted))
        return
    if len(found) > 1:
        writer.overview(found, report)
    writer.failures(found, report)
    writer.notes(noted, report)
    writer.needs(report.needs)
    writer.foot(report)


class _Writer:
    def __init__(self, stream: TextIO, options: RenderOptions, folder: str) -> None:
        self.stream, self.options, self.folder = stream, options, folder

    def put(self, *pieces: Piece) -> None:
        """Print one line."""
        self.stream.write("".join(map(self._styled, pieces)) + "\n")

    def _styled(self, piece: Piece) -> str:
        text = styled(piece.text, piece.colour) if self.options.colour else piece.text
        return linked(text, piece.link) if self.options.links else text

    def overview(self, found: Sequence[Incident], report: Report) -> None:
        """Print the number of failures and a row for each."""
        self._paragraph(f"{count_sentence(report)}.", style="bold")
        self._blank()
        self.stream.write(overview(found, self.options))
        self._blank()

    def failures(self, found: Sequence[Incident], report: Report) -> None:
        """Print each failure: in full, or only its first lines if there are many; all in full with -v."""
        under = symptoms_by_cause(report.findings)
        is_full = len(found) <= MOST_IN_FULL or bool(self.options.verbose)
        for incident in found if is_full or len(found) <= MOST_ROWS else ():
            if is_full:
                self.finding(incident, under)
            else:
                self._first_screen(incident, most=EVIDENCE_LINES)
                self._blank()

    def finding(self, incident: Incident, under: Mapping[str, list[Finding]]) -> None:
        """Print one cause in full, with the symptoms that it explains; for an incident, its first victim."""
        finding, is_all = incident[0], bool(self.options.verbose)
        key_line = self._first_screen(incident, most=KEY_LINES)
        why = finding.cause.split("\n\n")
        self._section("Why", why if is_all else why[:1])
        self._section("Versions", [bug.sentence for bug in finding.bugs])
        self._next(finding)
        self._evidence([one for one in finding.evidence if one is not key_line])
        self._doubts(finding)
        self._explains([symptom for one in incident for symptom in under.get(one.key, ())])
        if is_all:
            self._section("Look-alikes", finding.rule.look_alikes)
            self._section("See", finding.rule.references)
        self._blank()
        self._paragraph(f"More: {explain_command(finding.rule.name)}", indent=2)
        self._blank()

    def _first_screen(self, incident: Incident, *, most: int) -> Evidence | None:
        """Print title, place, first step and the line that shows the fault; return that line."""
        finding = incident[0]
        key_line = _key_evidence(finding)
        self._head(incident)
        self._paragraph(finding.says, indent=2)
        self._first(finding.fix[:1])
        if key_line is not None:
            self._blank()
            self._line(key_line, indent=2, most=most, about=_reason(finding))
        self._to_collect(finding)
        return key_line

    def notes(self, noted: Sequence[Incident], report: Report) -> None:
        """Print findings of severity info, such as a first failed try: one line each, in full with -v."""
        if noted and not failures(report.findings):
            known = "known " if report.errors.groups else ""
            self._paragraph(
                f"No {known}failure found. {len(noted)} note{'' if len(noted) == 1 else 's'}:", style="bold"
            )
        for incident in noted:
            if self.options.verbose:
                self.finding(incident, symptoms_by_cause(report.findings))
            else:
                finding = incident[0]
                self._paragraph(f"note: {finding.says}{others_sentence(incident)} ({finding.rule.name})", hang=2)
        if noted:
            self._blank()

    def needs(self, needs: Sequence[Need]) -> None:
        """Print which logs would confirm the possible findings."""
        if not needs:
            return
        self._paragraph("To confirm, collect", style="bold")
        for need in needs:
            level = f" at -v={need.verbosity} or more" if need.verbosity else ""
            span = "with timestamps, covering these lines"
            if need.begins is not None and need.ends is not None:
                span = f"from {format_time(need.begins)} to {format_time(need.ends)} UTC"
                span += " or of a later try" if need.verbosity else ""
            rules = ", ".join(dict.fromkeys(key.partition(":")[0] for key in need.findings))
            self._paragraph(f"{need.component} log{level}, {span}: settles {rules}", indent=2, hang=2)
            if need.run:
                self._command(need.run)
        self._blank()

    def foot(self, report: Report) -> None:
        """Print what was read, so that the user can judge what the absence of findings means."""
        if not report.findings:
            self._paragraph(nothing_found(report))
        self._errors(report.errors)
        if self.options.verbose:
            self._activity(report)
        self._paragraph(", ".join(versions_seen(report.versions)), style="dim")
        self._paragraph(f"Read {input_summary(report.inputs, self.folder)}", style="dim")
        for line in input_lines(report.inputs, is_all=bool(self.options.verbose)):
            self._paragraph(line.replace(f"{self.folder}/", "") if self.folder else line, hang=2, style="dim")

    def nothing(self, report: Report, noted: int) -> None:
        """Print one line if there is no failure: the inputs, notes and unexplained groups."""
        left = len(report.errors.groups)
        more = [f"{noted} for information"] if noted else []
        more += [f"{left} group{'' if left == 1 else 's'} of errors not explained"] if left else []
        found = "Nothing was logged in the requested time" if report.is_empty else "No failure found"
        self.put(Piece(self._clean("; ".join([f"{found} in {input_summary(report.inputs, self.folder)}", *more]))))

    def _activity(self, report: Report) -> None:
        """Print error lines and findings over the time of the logs."""
        causes = [finding for finding in report.findings if finding.explained_by is None]
        alarms = [finding for finding in causes if finding.severity > Severity.INFO]
        is_all = bool(self.options.verbose)
        lines = list(
            sparkline(report, incidents(causes if is_all else alarms or causes), self.options.width, is_all=is_all)
        )
        if lines:
            self._paragraph("When", style="bold")
        for line in lines:
            if isinstance(line, str):
                self._paragraph(line, indent=2, style="dim")
            else:
                self.put(Piece(f"  {line.name}  "), Piece(line.columns, _hue(line.severity)))
        if lines:
            self._blank()

    def _errors(self, errors: Errors) -> None:
        """Print the error lines that no finding explains."""
        lines = list(section(errors, self.options, self.folder))
        for line in lines:
            if line.origin is not None:
                margin, _, rest = line.text.partition(line.place)
                link = file_uri(line.origin, redact=self.options.redact)
                self.put(Piece(margin), Piece(line.place, "place", link), Piece(rest))
            elif line.text.startswith(" "):
                self.put(Piece(line.text))  # in columns
            else:
                self._paragraph(line.text, style="bold")
        if lines:
            self._blank()

    def _head(self, incident: Incident) -> None:
        finding = incident[0]
        label = f" {finding.severity.label.upper()} "
        sure = "" if finding.verdict is Verdict.CONFIRMED else " (possible)"
        first, *more = _wrapped(self._clean(merged_finding(incident).title) + sure, self.options.width - len(label) - 1)
        self.put(Piece(label, BADGES[finding.severity]), Piece(" "), Piece(first, "bold"))
        for line in more:
            self.put(Piece(" " * (len(label) + 1) + line, "bold"))
        self._paragraph(span_sentence(merged_finding(incident)), indent=2)
        is_full = bool(self.options.verbose)
        named = list(subject_lines(finding)) if len(incident) == 1 else [victims(incident, is_full=is_full)]
        for line in named if is_full else named[:1]:
            self._paragraph(line, indent=2, hang=2)
        if is_full:
            self._paragraph(f"{finding.rule.name} · {finding.rule.id}", indent=2, style="dim")
        self._blank()

    def _section(self, title: str, paragraphs: Sequence[str]) -> None:
        if not paragraphs:
            return
        self._title(title)
        for paragraph in paragraphs:
            self._paragraph(" ".join(paragraph.split()), indent=4)

    def _evidence(self, rows: Sequence[Evidence]) -> None:
        """Print the other lines of evidence; with -v only."""
        if not self.options.verbose:
            rows = rows[:0]
        if rows:
            self._title("Evidence")
        for row in rows:
            self._line(row, indent=4)

    def _line(self, row: Evidence, *, indent: int, most: int = EVIDENCE_LINES, about: str = "") -> None:
        """Print a log line: place, time, message. A long message is cut around the text `about`."""
        many = f", one of {row.total}" if row.total > 1 else ""
        self._place(row.event.origin, f"{format_clock(row.event.time)}{many}", indent=indent)
        self._paragraph(self._shortened(evidence_message(row), most, about), indent=indent + 2)

    def _place(self, origin: Origin, rest: str, *, indent: int) -> None:
        """Print the place of a line unbroken, so that it can be clicked and copied."""
        place, link = self._clean(self._shown(str(origin))), file_uri(origin, redact=self.options.redact)
        room = self.options.width - len(place) - indent - 2
        if len(rest) <= room:
            self.put(Piece(" " * indent), Piece(place, "place", link), Piece(f"  {rest}"))
        else:
            self.put(Piece(" " * indent), Piece(place, "place", link))
            self._paragraph(rest, indent=indent + 2)

    def _first(self, steps: Sequence[Fix]) -> None:
        """Print the first step of the fix."""
        for step in self._shown_steps(steps):
            self._paragraph(f"First: {step.text}{_guard(step)}", indent=2)
            self._run(step, indent=4)

    def _next(self, finding: Finding) -> None:
        """Print the further steps of the fix."""
        steps = finding.fix[1:] if self.options.verbose else finding.fix[1 : MOST_STEPS + 1]
        if steps:
            self._title("Next")
        for number, step in enumerate(self._shown_steps(steps), start=2):
            self._paragraph(f"{number}. {step.text}{_guard(step)}", indent=4, hang=3)
            self._run(step, indent=7)
        left = len(finding.fix) - 1 - len(steps)
        if left > 0:
            self._paragraph(f"{left} more step{'' if left == 1 else 's'}: -v", indent=4)

    def _shown_steps(self, steps: Sequence[Fix]) -> list[Fix]:
        return [safe_fix(one, redact=self.options.redact) for one in steps]

    def _run(self, step: Fix, *, indent: int) -> None:
        if step.run:
            self._command(step.run, indent=indent)
        elif step.withheld:
            self._paragraph(f"({step.withheld})", indent=indent)

    def _doubts(self, finding: Finding) -> None:
        if not finding.doubts:
            return
        self._section("Caveats", tuple(map(format_doubt, finding.doubts)))

    def _explains(self, symptoms: Sequence[Finding]) -> None:
        if not symptoms:
            return
        self._title("Explains")
        for incident in incidents(symptoms):
            symptom = incident[0]
            way = f" (through {', '.join(symptom.through)})" if symptom.through else ""
            self._paragraph(f"{symptom.rule.name}: {symptom.says}{others_sentence(incident)}{way}", indent=4, hang=2)

    def _to_collect(self, finding: Finding) -> None:
        """Print the commands that may show the cause, for a symptom that no finding explains."""
        if finding.collect:
            self._blank()
            self._paragraph("No rule names the cause. If the error above does not show it, collect:", indent=2)
            for command in finding.collect:
                self._command(command)

    def _title(self, title: str) -> None:
        self._blank()
        self._paragraph(title, indent=2, style="bold")

    def _blank(self) -> None:
        self.put()

    def _command(self, command: str, *, indent: int = 7) -> None:
        """Print a command on one line whatever its length, so that it can be copied."""
        self.put(Piece(f"{' ' * indent}$ "), Piece(self._clean(command), "command"))

    def _paragraph(self, text: str, *, indent: int = 0, hang: int = 0, style: str = "") -> None:
        """Print text wrapped to the width; lines after the first are indented by `hang` more columns."""
        for number, line in enumerate(_wrapped(self._clean(text), self.options.width - indent - hang)):
            margin = " " * (indent + (hang if number else 0))
            self.put(Piece(margin), Piece(line, style))

    def _clean(self, text: str) -> str:
        return clean(text, redact=self.options.redact)

    def _shown(self, source: str) -> str:
        """Return the name of a source without the common folder."""
        return source.removeprefix(f"{self.folder}/") if self.folder else source

    def _shortened(self, text: str, most: int, about: str = "") -> str:
        """Shorten a log message to `most` lines; with -v return it whole."""
        text, room = (
            self._clean(text),
            most * (self.options.width - 6),
        )  # before it is cut: half a secret could not be recognized
        if self.options.verbose or len(text) <= room:
            return text
        at = text.find(self._clean(about)) if about else -1
        if at < room // 2 or at > len(text) - room // 2:
            return shortened(text, room)
        return f"… {text[at - room // 2 : at + room // 2 - 4]} …"


def _key_evidence(finding: Finding) -> Evidence | None:
    """Return the line that shows the fault best: a counted line with the error text, the shortest of these."""
    healing = finding.rule.healed.by if finding.rule.healed else ()
    of_fault = [one for one in finding.evidence if one.step not in healing]
    rows = [one for one in of_fault if one.step == finding.rule.counts] or of_fault or list(finding.evidence)
    reason = _reason(finding)

    def rank(row: Evidence) -> tuple[bool, int]:
        words = evidence_message(row)
        return reason not in words, len(words)

    return min(rows, key=rank, default=None)


def _reason(finding: Finding) -> str:
    """Return the beginning of the error text in the finding's sentence, to find it in a line."""
    return finding.says.rstrip(".").rpartition(": ")[2][:LONGEST_REASON]


def _guard(step: Fix) -> str:
    return f" Only when {step.after}." if step.after else ""


def _hue(severity: Severity | None) -> str:
    """Return the colour of a row of the sparkline."""
    if severity is None:
        return "dim"
    return "bad" if severity >= Severity.HIGH else ""


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, max(20, width), break_on_hyphens=False)
