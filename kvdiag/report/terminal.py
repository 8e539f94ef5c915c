"""The report for a person: what is wrong, of what, how one knows, what to do; at 80 columns, colour on a terminal."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TextIO

from kvdiag.clock import say_duration, to_datetime
from kvdiag.formats.bodies.known import read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.model.report import Evidence, Finding, Need, Reading, Report
from kvdiag.model.timeline import SeenVersion
from kvdiag.model.unexplained import Errors
from kvdiag.model.values import Severity, SubjectKind, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.clean import clean, shortened
from kvdiag.report.doubts import say_doubt
from kvdiag.report.errors import section
from kvdiag.report.runnable import shown
from kvdiag.versions import read_range, say_range

STYLES = {
    Severity.CRITICAL: "bold white on red",
    Severity.HIGH: "bold red",
    Severity.MEDIUM: "bold yellow",
    Severity.LOW: "bold cyan",
    Severity.INFO: "bold blue",
}
EVIDENCE_LINES = 2  # of a log line's message, unless -v
MOST_NAMED = 5  # logs, unless -v
Piece = tuple[str, str]  # a text and its style
IDS = ["pod_uid", "volume_handle", "driver", "sandbox_id", "container_id"]


class Put(Protocol):
    """Puts a line out, in pieces each of one style."""

    def __call__(self, *pieces: Piece) -> None:
        """One line."""


def write(report: Report, stream: TextIO, options: RenderOptions) -> None:
    """All findings, causes first with their symptoms under them, then what was read.

    Beside an alarm what is only for information takes one line each; with -q it takes none.
    """
    under = _folded(report.findings)
    writer = _Writer(_coloured(stream, options) if options.colour else _plain(stream), options, _common_folder(report))
    causes = [finding for finding in report.findings if finding.explained_by is None]
    alarms = [finding for finding in causes if finding.severity > Severity.INFO]
    noted = [finding for finding in causes if finding.severity is Severity.INFO]
    for finding in alarms if options.quiet or (alarms and not options.verbose) else causes:
        writer.finding(finding, under)
    if not options.quiet:
        if alarms and not options.verbose:
            writer.notes(noted)
        writer.needs(report.needs)
        writer.foot(report)
    elif not alarms:
        writer.nothing(report, len(noted))


def _plain(stream: TextIO) -> Put:
    """Lines without their styles."""

    def put(*pieces: Piece) -> None:
        stream.write("".join(text for text, _ in pieces) + "\n")

    return put


def _coloured(stream: TextIO, options: RenderOptions) -> Put:
    """Lines in the colours that the terminal has; rich takes 25 ms to load."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, width=options.width, force_terminal=True, highlight=False, markup=False, emoji=False)

    def put(*pieces: Piece) -> None:
        console.print(Text.assemble(*pieces), soft_wrap=True)

    return put


def _folded(findings: Sequence[Finding]) -> Mapping[str, list[Finding]]:
    """Symptoms by the key of the cause at the top of their chain."""
    above = {finding.key: finding.explained_by for finding in findings}
    under: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        top = finding.explained_by
        for _ in findings:
            if top is None or above.get(top) is None:
                break
            top = above[top]
        if top is not None:
            under[top].append(finding)
    return under


class _Writer:
    def __init__(self, put: Put, options: RenderOptions, folder: str) -> None:
        self.put, self.options, self.folder = put, options, folder

    def finding(self, finding: Finding, under: Mapping[str, list[Finding]]) -> None:
        """One cause in full, with what it explains."""
        self._head(finding)
        self._say(finding.says, indent=2)
        self._section("Why", finding.cause.split("\n\n"))
        self._section("Versions", [bug.says for bug in finding.bugs])
        self._evidence(finding)
        self._fix(finding)
        self._doubts(finding)
        self._explains(under.get(finding.key, ()))
        if self.options.verbose:
            self._section("Look-alikes", finding.rule.look_alikes)
            self._section("See", finding.rule.references)
        self._blank()

    def notes(self, findings: Sequence[Finding]) -> None:
        """What is no alarm: a first try that failed, a fault that passed."""
        for finding in findings:
            self._say(f"{finding.severity.label}: {finding.says} ({finding.rule.name})", hang=2)
        if findings:
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
                span = f"from {_moment(need.begins)} to {_moment(need.ends)} UTC"
            rules = ", ".join(dict.fromkeys(key.partition(":")[0] for key in need.findings))
            self._say(f"{need.component} log{level}, {span}: settles {rules}", indent=2, hang=2)
            if need.run:
                self._command(need.run)
        self._blank()

    def foot(self, report: Report) -> None:
        """What was looked at, so that silence can be judged."""
        if not report.findings:
            self._say(_silence(report))
        self._errors(report.errors)
        self._say(", ".join(_versions(report.versions)), style="dim")
        self._say(f"Read {_read(report.inputs, self.folder)}", style="dim")
        for line in _readings(report.inputs, is_all=bool(self.options.verbose)):
            self._say(line.replace(f"{self.folder}/", "") if self.folder else line, hang=2, style="dim")

    def nothing(self, report: Report, noted: int) -> None:
        """In one line, that there is no alarm, and what that rests on."""
        left = len(report.errors.groups)
        more = [f"{noted} for information"] if noted else []
        more += [f"{left} group{'' if left == 1 else 's'} of errors not explained"] if left else []
        found = "Nothing was logged in the requested time" if report.is_empty else "No failure found"
        self.put((self._clean("; ".join([f"{found} in {_read(report.inputs, self.folder)}", *more])), ""))

    def _errors(self, errors: Errors) -> None:
        """What no finding tells of."""
        lines = list(section(errors, self.options))
        for line in lines:
            if line.startswith(" "):
                self.put((line, ""))  # in columns
            else:
                self._say(line, style="bold")
        if lines:
            self._blank()

    def _head(self, finding: Finding) -> None:
        label = f" {finding.severity.label.upper()} "
        sure = "" if finding.verdict is Verdict.CONFIRMED else " (possible)"
        first, *more = _wrapped(clean(finding.rule.title) + sure, self.options.width - len(label) - 1)
        self.put((label, STYLES[finding.severity]), (" ", ""), (first, "bold"))
        for line in more:
            self.put((" " * (len(label) + 1) + line, "bold"))
        self._say(f"{finding.rule.name} · {finding.rule.id} · {_span(finding)}", indent=2, style="dim")
        for line in _subject(finding):
            self._say(line, indent=2, hang=2, style="dim")
        self._blank()

    def _section(self, title: str, paragraphs: Sequence[str]) -> None:
        if not paragraphs:
            return
        self._title(title)
        for paragraph in paragraphs:
            self._say(" ".join(paragraph.split()), indent=4)

    def _evidence(self, finding: Finding) -> None:
        self._title("Evidence")
        for evidence in finding.evidence:
            many = f" ×{evidence.of}" if evidence.of > 1 else ""
            place = self._shown(str(evidence.event.origin))
            self._say(
                f"{place}  {_clock(evidence.event.time)}  {evidence.step.replace('_', ' ')}{many}",
                indent=4,
                style="cyan",
            )
            self._say(self._shortened(_words(evidence)), indent=6)

    def _fix(self, finding: Finding) -> None:
        if not finding.fix:
            return
        self._title("What to do")
        for number, fix in enumerate((shown(one, redact=self.options.redact) for one in finding.fix), start=1):
            guard = f" Only when {fix.after}." if fix.after else ""
            self._say(f"{number}. {fix.text}{guard}", indent=4, hang=3)
            if fix.run:
                self._command(fix.run)
            elif fix.withheld:
                self._say(f"({fix.withheld})", indent=7)

    def _doubts(self, finding: Finding) -> None:
        if not finding.doubts:
            return
        self._section("Caveats", tuple(map(say_doubt, finding.doubts)))

    def _explains(self, symptoms: Sequence[Finding]) -> None:
        if not symptoms:
            return
        self._title("Explains")
        for symptom in symptoms:
            self._say(f"{symptom.rule.name}: {symptom.says}", indent=4, hang=2)

    def _title(self, title: str) -> None:
        self._blank()
        self._say(title, indent=2, style="bold")

    def _blank(self) -> None:
        self.put()

    def _command(self, command: str) -> None:
        """A command on one line whatever its length: it is there to be copied."""
        self.put(("       $ " + self._clean(command), "green"))

    def _say(self, text: str, *, indent: int = 0, hang: int = 0, style: str = "") -> None:
        """Text wrapped to the width; lines after the first stand `hang` columns further in."""
        for number, line in enumerate(_wrapped(self._clean(text), self.options.width - indent - hang)):
            margin = " " * (indent + (hang if number else 0))
            self.put((margin + line, style))

    def _clean(self, text: str) -> str:
        return clean(text, redact=self.options.redact)

    def _shown(self, source: str) -> str:
        """A source's name without the folder that all have in common."""
        return source.removeprefix(f"{self.folder}/") if self.folder else source

    def _shortened(self, text: str) -> str:
        """A log's words in a few lines, unless all were asked for."""
        text = self._clean(text)  # whole: a secret that is cut cannot be told
        return text if self.options.verbose else shortened(text, EVIDENCE_LINES * (self.options.width - 6))


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, max(20, width), break_on_hyphens=False)


def _words(evidence: Evidence) -> str:
    """What a line says without its headers: they are told beside it."""
    body = read_body(peel(evidence.event.text.encode()).body)
    if body is None or not body.message:
        return evidence.event.text
    fields = " ".join(f"{key}={value}" for key, value in body.fields.items())
    return f"{body.message} {fields}".strip()


def _subject(finding: Finding) -> Iterator[str]:
    """The subject by name, then by the ids one would search the logs for."""
    subject = finding.subject
    where = [f"on {subject.ids['node']}"] if subject.kind is not SubjectKind.NODE and subject.ids.get("node") else []
    pod = [f"of pod {subject.ids['pod']}"] if subject.kind is not SubjectKind.POD and subject.ids.get("pod") else []
    named = f"{subject.kind} {subject.name}" if subject.key or subject.kind is not SubjectKind.NODE else subject.name
    yield " ".join([named, *pod, *where])
    ids = [f"{name} {value}" for name in IDS if (value := subject.ids.get(name)) and value != subject.name]
    yield ", ".join(ids)


def _span(finding: Finding) -> str:
    begins = _moment(finding.begins)
    lasted = finding.ends - finding.begins
    times = f", {finding.count} times" if finding.count > 1 else ""
    healed = f", healed at {_moment(finding.healed)}" if finding.healed is not None else ""
    return f"{begins} UTC{f', for {say_duration(lasted)}' if lasted >= 1_000_000 else ''}{times}{healed}"


def _moment(stamp: int) -> str:
    return to_datetime(stamp).strftime("%Y-%m-%d %H:%M:%S")


def _from_to(begins: int, ends: int) -> str:
    """Both moments, the date once where it is the same."""
    first, last = _moment(begins), _moment(ends)
    return f"{first} to {last.partition(' ')[2] if first[:10] == last[:10] else last} UTC"


def _clock(stamp: int) -> str:
    return to_datetime(stamp).strftime("%H:%M:%S.%f")[:-3]


def _versions(versions: Sequence[SeenVersion]) -> Iterator[str]:
    """Each component once: as it was printed, else as its wordings tell."""
    printed = {version.component for version in versions if version.version}
    seen = set()
    for version in versions:
        name = f"{version.component} {version.version}"
        if version.version and name not in seen:
            seen.add(name)
            yield name
        elif version.component not in printed:
            yield f"{version.component} {say_range(read_range(version.span))} (from log wording)"


def _silence(report: Report) -> str:
    """What it means that nothing was found."""
    if report.is_empty:
        return "Nothing was logged in the requested time."
    is_read = any(reading.records for reading in report.inputs)
    return "No known failure found." if is_read else "No log lines recognized."


def _read(readings: Sequence[Reading], folder: str) -> str:
    """How much was read, and of which time."""
    logs = readings[0].source if len(readings) == 1 else f"{len(readings)} logs{f' in {folder}' if folder else ''}"
    begins = [reading.begins for reading in readings if reading.begins is not None]
    ends = [reading.ends for reading in readings if reading.ends is not None]
    span = f", {_from_to(min(begins), max(ends))}" if begins and ends else ""
    return f"{logs}: {sum(reading.lines for reading in readings)} lines{span}"


def _readings(readings: Sequence[Reading], *, is_all: bool) -> Iterator[str]:
    """A line for each input, or for those of which little was understood; what was inferred about clocks.

    That is said once for all inputs it holds for; of many, all are named where all are asked for.
    """
    poor = [reading for reading in readings if is_all or not reading.records or reading.unread > reading.lines // 2]
    for reading in poor if is_all else poor[:MOST_NAMED]:
        how = "not read" if reading.format == "text" else "not recognized"
        unread = f", {reading.unread} {how}" if reading.unread else ""
        yield f"{reading.source}: {reading.lines} lines, {reading.component or reading.format}{unread}"
    if not is_all and len(poor) > MOST_NAMED:
        yield f"and {len(poor) - MOST_NAMED} more of which little was understood; -v lists them"
    clocks: dict[str, list[str]] = defaultdict(list)
    for reading in readings:
        if reading.clock:
            clocks[reading.clock].append(reading.source)
    for clock, sources in clocks.items():
        named = ", ".join(sources) if is_all or len(sources) <= MOST_NAMED else f"{len(sources)} logs"
        yield f"Clock of {named}: {clock}"


def _common_folder(report: Report) -> str:
    """The folder that all inputs have in common, so that it need not stand in every line."""
    sources = [reading.source for reading in report.inputs]
    if len(sources) < 2 or not all("/" in source for source in sources) or len({s[0] == "/" for s in sources}) > 1:
        return ""
    return os.path.commonpath([source.rpartition("/")[0] for source in sources])
