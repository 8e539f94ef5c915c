"""The report for a person: what is wrong, of what, how one knows, what to do; at any width, in colour or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TextIO

from kvdiag.model.record import Origin
from kvdiag.model.report import Evidence, Finding, Need, Report
from kvdiag.model.rule import Fix
from kvdiag.model.unexplained import Errors
from kvdiag.model.values import Severity, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.doubts import say_doubt
from kvdiag.report.errors import section
from kvdiag.report.ink import BADGES, file_uri, inked, linked
from kvdiag.report.runnable import shown
from kvdiag.report.said import (
    clock,
    common_folder,
    count,
    folded,
    moment,
    read_lines,
    reading_lines,
    silence,
    span_of,
    subject_lines,
    versions_seen,
    words_of,
)
from kvdiag.report.strip import strip
from kvdiag.report.victims import Incident, incidents, others, victims, whole
from kvdiag.safe.clean import clean, shortened

EVIDENCE_LINES = 2  # of a log line's message, unless -v
TELLING_LINES = 5  # of the line that shows the fault


class Piece(NamedTuple):
    """Text on one line in one colour, and where it leads."""

    text: str
    colour: str = ""
    link: str = ""


def write(report: Report, stream: TextIO, options: RenderOptions) -> None:
    """All findings, causes first with their symptoms under them, then what was read.

    Beside an alarm what is only for information takes one line each; with -q it takes none.
    """
    under = folded(report.findings)
    writer = _Writer(stream, options, common_folder(report))
    causes = [finding for finding in report.findings if finding.explained_by is None]
    alarms = [finding for finding in causes if finding.severity > Severity.INFO]
    noted = [finding for finding in causes if finding.severity is Severity.INFO]
    for incident in incidents(alarms if options.quiet or (alarms and not options.verbose) else causes):
        writer.finding(incident, under)
    if not options.quiet:
        if alarms and not options.verbose:
            writer.notes(incidents(noted))
        writer.needs(report.needs)
        writer.foot(report)
    elif not alarms:
        writer.nothing(report, len(noted))


class _Writer:
    def __init__(self, stream: TextIO, options: RenderOptions, folder: str) -> None:
        self.stream, self.options, self.folder = stream, options, folder

    def put(self, *pieces: Piece) -> None:
        """One line."""
        self.stream.write("".join(map(self._inked, pieces)) + "\n")

    def _inked(self, piece: Piece) -> str:
        text = inked(piece.text, piece.colour) if self.options.colour else piece.text
        return linked(text, piece.link) if self.options.links else text

    def finding(self, incident: Incident, under: Mapping[str, list[Finding]]) -> None:
        """One cause in full, with what it explains; of many victims the first.

        What failed, the first thing to do and the line that shows it come first: they fit on one screen.
        """
        finding = incident[0]
        steps = [shown(one, redact=self.options.redact) for one in finding.fix]
        telling = _telling(finding)
        self._head(incident)
        self._say(finding.says, indent=2)
        self._first(steps[:1])
        self._uncaused(finding)
        if telling is not None:
            self._blank()
            self._line(telling, indent=2, most=TELLING_LINES)
        self._section("Why", finding.cause.split("\n\n"))
        self._section("Versions", [bug.says for bug in finding.bugs])
        self._next(steps[1:])
        self._evidence([one for one in finding.evidence if one is not telling])
        self._doubts(finding)
        self._explains([symptom for one in incident for symptom in under.get(one.key, ())])
        if self.options.verbose:
            self._section("Look-alikes", finding.rule.look_alikes)
            self._section("See", finding.rule.references)
        self._blank()

    def notes(self, noted: Sequence[Incident]) -> None:
        """What is no alarm: a first try that failed, a fault that passed."""
        for incident in noted:
            finding = incident[0]
            self._say(f"{finding.severity.label}: {finding.says}{others(incident)} ({finding.rule.name})", hang=2)
        if noted:
            self._blank()

    def needs(self, needs: Sequence[Need]) -> None:
        """Which logs would turn what is possible into a verdict."""
        if not needs:
            return
        self._say("To confirm, collect", style="bold")
        for need in needs:
            level = f" at -v={need.verbosity} or more" if need.verbosity else ""
            span = "with timestamps, covering these lines"
            if need.begins is not None and need.ends is not None:
                span = f"from {moment(need.begins)} to {moment(need.ends)} UTC"
                span += " or of a later try" if need.verbosity else ""
            rules = ", ".join(dict.fromkeys(key.partition(":")[0] for key in need.findings))
            self._say(f"{need.component} log{level}, {span}: settles {rules}", indent=2, hang=2)
            if need.run:
                self._command(need.run)
        self._blank()

    def foot(self, report: Report) -> None:
        """What was looked at, so that silence can be judged."""
        if not report.findings:
            self._say(silence(report))
        self._errors(report.errors)
        self._when(report)
        self._say(", ".join(versions_seen(report.versions)), style="dim")
        self._say(f"Read {read_lines(report.inputs, self.folder)}", style="dim")
        for line in reading_lines(report.inputs, is_all=bool(self.options.verbose)):
            self._say(line.replace(f"{self.folder}/", "") if self.folder else line, hang=2, style="dim")
        if report.findings:
            self._say(count(report), style="bold")

    def nothing(self, report: Report, noted: int) -> None:
        """In one line, that there is no alarm, and what that rests on."""
        left = len(report.errors.groups)
        more = [f"{noted} for information"] if noted else []
        more += [f"{left} group{'' if left == 1 else 's'} of errors not explained"] if left else []
        found = "Nothing was logged in the requested time" if report.is_empty else "No failure found"
        self.put(Piece(self._clean("; ".join([f"{found} in {read_lines(report.inputs, self.folder)}", *more]))))

    def _when(self, report: Report) -> None:
        """Error lines and findings over the time of the logs."""
        causes = [finding for finding in report.findings if finding.explained_by is None]
        alarms = [finding for finding in causes if finding.severity > Severity.INFO]
        is_all = bool(self.options.verbose)
        lines = list(
            strip(report, incidents(causes if is_all else alarms or causes), self.options.width, is_all=is_all)
        )
        if lines:
            self._say("When", style="bold")
        for line in lines:
            if isinstance(line, str):
                self._say(line, indent=2, style="dim")
            else:
                self.put(Piece(f"  {line.name}  "), Piece(line.columns, _hue(line.severity)))
        if lines:
            self._blank()

    def _errors(self, errors: Errors) -> None:
        """What no finding tells of."""
        lines = list(section(errors, self.options, self.folder))
        for line in lines:
            if line.origin is not None:
                margin, _, rest = line.text.partition(line.place)
                link = file_uri(line.origin, redact=self.options.redact)
                self.put(Piece(margin), Piece(line.place, "place", link), Piece(rest))
            elif line.text.startswith(" "):
                self.put(Piece(line.text))  # in columns
            else:
                self._say(line.text, style="bold")
        if lines:
            self._blank()

    def _head(self, incident: Incident) -> None:
        finding = incident[0]
        label = f" {finding.severity.label.upper()} "
        sure = "" if finding.verdict is Verdict.CONFIRMED else " (possible)"
        first, *more = _wrapped(clean(finding.rule.title) + sure, self.options.width - len(label) - 1)
        self.put(Piece(label, BADGES[finding.severity]), Piece(" "), Piece(first, "bold"))
        for line in more:
            self.put(Piece(" " * (len(label) + 1) + line, "bold"))
        self._say(f"{finding.rule.name} · {finding.rule.id} · {span_of(whole(incident))}", indent=2, style="dim")
        is_full = bool(self.options.verbose)
        named = subject_lines(finding) if len(incident) == 1 else [victims(incident, is_full=is_full)]
        for line in named:
            self._say(line, indent=2, hang=2, style="dim")
        self._blank()

    def _section(self, title: str, paragraphs: Sequence[str]) -> None:
        if not paragraphs:
            return
        self._title(title)
        for paragraph in paragraphs:
            self._say(" ".join(paragraph.split()), indent=4)

    def _evidence(self, rows: Sequence[Evidence]) -> None:
        if rows:
            self._title("Evidence")
        for row in rows:
            self._line(row, indent=4)

    def _line(self, row: Evidence, *, indent: int, most: int = EVIDENCE_LINES) -> None:
        """A line of a log: where it stands, when it was written, what it says."""
        many = f" ×{row.of}" if row.of > 1 else ""
        self._place(row.event.origin, f"{clock(row.event.time)}  {row.step.replace('_', ' ')}{many}", indent=indent)
        self._say(self._shortened(words_of(row), most), indent=indent + 2)

    def _place(self, origin: Origin, rest: str, *, indent: int) -> None:
        """Where a line stands, in one piece, so that it can be clicked and copied."""
        place, link = self._clean(self._shown(str(origin))), file_uri(origin, redact=self.options.redact)
        room = self.options.width - len(place) - indent - 2
        if len(rest) <= room:
            self.put(Piece(" " * indent), Piece(place, "place", link), Piece(f"  {rest}"))
        else:
            self.put(Piece(" " * indent), Piece(place, "place", link))
            self._say(rest, indent=indent + 2)

    def _first(self, steps: Sequence[Fix]) -> None:
        """The first thing to do."""
        for step in steps:
            self._say(f"First: {step.text}{_guard(step)}", indent=2)
            self._run(step, indent=4)

    def _next(self, steps: Sequence[Fix]) -> None:
        """What to do after that."""
        if steps:
            self._title("Next")
        for number, step in enumerate(steps, start=2):
            self._say(f"{number}. {step.text}{_guard(step)}", indent=4, hang=3)
            self._run(step, indent=7)

    def _run(self, step: Fix, *, indent: int) -> None:
        if step.run:
            self._command(step.run, indent=indent)
        elif step.withheld:
            self._say(f"({step.withheld})", indent=indent)

    def _doubts(self, finding: Finding) -> None:
        if not finding.doubts:
            return
        self._section("Caveats", tuple(map(say_doubt, finding.doubts)))

    def _explains(self, symptoms: Sequence[Finding]) -> None:
        if not symptoms:
            return
        self._title("Explains")
        for incident in incidents(symptoms):
            symptom = incident[0]
            way = f" (through {', '.join(symptom.through)})" if symptom.through else ""
            self._say(f"{symptom.rule.name}: {symptom.says}{others(incident)}{way}", indent=4, hang=2)

    def _uncaused(self, finding: Finding) -> None:
        """A symptom that no rule explains, and where to look for its cause."""
        if finding.collect:
            self._blank()
            self._say("No rule names the cause. If the error above does not show it, collect:", indent=2)
            for command in finding.collect:
                self._command(command)

    def _title(self, title: str) -> None:
        self._blank()
        self._say(title, indent=2, style="bold")

    def _blank(self) -> None:
        self.put()

    def _command(self, command: str, *, indent: int = 7) -> None:
        """A command on one line whatever its length: it is there to be copied."""
        self.put(Piece(f"{' ' * indent}$ "), Piece(self._clean(command), "command"))

    def _say(self, text: str, *, indent: int = 0, hang: int = 0, style: str = "") -> None:
        """Text wrapped to the width; lines after the first stand `hang` columns further in."""
        for number, line in enumerate(_wrapped(self._clean(text), self.options.width - indent - hang)):
            margin = " " * (indent + (hang if number else 0))
            self.put(Piece(margin), Piece(line, style))

    def _clean(self, text: str) -> str:
        return clean(text, redact=self.options.redact)

    def _shown(self, source: str) -> str:
        """A source's name without the folder that all have in common."""
        return source.removeprefix(f"{self.folder}/") if self.folder else source

    def _shortened(self, text: str, most: int) -> str:
        """A log's words in a few lines, unless all were asked for."""
        text = self._clean(text)  # whole: a secret that is cut cannot be told
        return text if self.options.verbose else shortened(text, most * (self.options.width - 6))


def _telling(finding: Finding) -> Evidence | None:
    """The line that shows the fault: of what is counted, else the last of the evidence."""
    counted = [one for one in finding.evidence if one.step == finding.rule.counts]
    return next(iter([*counted, *reversed(finding.evidence)]), None)


def _guard(step: Fix) -> str:
    return f" Only when {step.after}." if step.after else ""


def _hue(severity: Severity | None) -> str:
    """The colour of a row of the strip."""
    if severity is None:
        return "dim"
    return "bad" if severity >= Severity.HIGH else ""


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, max(20, width), break_on_hyphens=False)
