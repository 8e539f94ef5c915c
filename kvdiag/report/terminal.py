"""The report for a person: what is wrong, of what, how one knows, what to do; at 80 columns, colour on a terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from kvdiag.clock import say_duration, to_datetime
from kvdiag.formats.peel import peel
from kvdiag.formats.records import read_body
from kvdiag.model.report import Evidence, Finding, Reading, Report
from kvdiag.model.values import Severity, Verdict
from kvdiag.report import Look
from kvdiag.report.clean import clean
from kvdiag.versions import read_range, say_range

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

STYLES = {
    Severity.CRITICAL: "bold white on red",
    Severity.HIGH: "bold red",
    Severity.MEDIUM: "bold yellow",
    Severity.LOW: "bold cyan",
    Severity.INFO: "bold blue",
}
EVIDENCE_LINES = 2  # of a log line's message, unless -v
IDS = "pod pod_uid volume_handle driver node sandbox_id container_id".split()


def write(report: Report, stream: TextIO, look: Look) -> None:
    """All findings, causes first with their symptoms under them, then what was read."""
    from rich.console import Console

    console = Console(
        file=stream,
        width=look.width,
        no_color=not look.colour,
        force_terminal=look.colour,
        color_system="auto" if look.colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
    under = _folded(report.findings)
    for finding in report.findings:
        if finding.explained_by is None:
            _Writer(console, look).finding(finding, under)
    if not look.quiet:
        _Writer(console, look).foot(report)


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
    def __init__(self, console: Console, look: Look) -> None:
        self.console, self.look = console, look

    def finding(self, finding: Finding, under: Mapping[str, list[Finding]]) -> None:
        """One cause in full, with what it explains."""
        self._head(finding)
        self._para(finding.says, indent=2)
        self._section("Why", finding.cause.splitlines())
        self._section("Version", [bug.says for bug in finding.bugs])
        self._evidence(finding)
        self._fix(finding)
        self._section("Not certain", finding.doubts)
        self._explains(under.get(finding.key, ()))
        if self.look.verbose:
            self._section("Not this when", finding.rule.look_alikes)
            self._section("See", finding.rule.references)
        self.console.print()

    def foot(self, report: Report) -> None:
        """What was looked at, so that silence can be judged."""
        if not report.findings:
            self.console.print("No known failure found.")
        for version in report.versions:
            shown = version.version or f"{say_range(read_range(version.span))} (by its wording)"
            self._say(f"{version.component} {shown}", style="dim")
        for reading in report.inputs:
            self._say(_reading(reading), style="dim")

    def _head(self, finding: Finding) -> None:
        from rich.text import Text

        label = Text(f" {finding.severity.label.upper()} ", style=STYLES[finding.severity])
        sure = "" if finding.verdict is Verdict.CONFIRMED else "  possible"
        self.console.print(Text.assemble(label, " ", (clean(finding.rule.title), "bold"), (sure, "yellow")))
        self._say(f"{finding.rule.name} · {finding.rule.id} · {_span(finding)}", indent=2, style="dim")
        self._say(_subject(finding), indent=2)
        self.console.print()

    def _section(self, title: str, lines: Sequence[str]) -> None:
        if not lines:
            return
        self._title(title)
        for line in lines:
            self._para(line, indent=4)

    def _evidence(self, finding: Finding) -> None:
        self._title("Evidence")
        for evidence in finding.evidence:
            many = f" ({evidence.of} lines)" if evidence.of > 1 else ""
            place = f"{evidence.event.origin}  {_clock(evidence.event.time)}  {evidence.step}{many}"
            self._say(place, indent=4, style="cyan")
            self._say(self._shortened(_words(evidence)), indent=6)

    def _fix(self, finding: Finding) -> None:
        if not finding.fix:
            return
        self._title("What to do")
        for number, fix in enumerate(finding.fix, start=1):
            guard = f" Only when {fix.after}." if fix.after else ""
            self._para(f"{number}. {fix.text}{guard}", indent=4, hang=3)
            if fix.run:
                self._command(fix.run)

    def _explains(self, symptoms: Sequence[Finding]) -> None:
        if not symptoms:
            return
        self._title("Explains")
        for symptom in symptoms:
            self._para(f"{symptom.rule.name}: {symptom.says}", indent=4, hang=2)

    def _title(self, title: str) -> None:
        self._say(title, indent=2, style="bold")

    def _para(self, text: str, indent: int, hang: int = 0) -> None:
        self._say(text, indent=indent, hang=hang)

    def _command(self, command: str) -> None:
        """A command on one line whatever its length: it is there to be copied."""
        from rich.text import Text

        line = Text("       $ " + self._clean(command), style="green")
        self.console.print(line, soft_wrap=True)

    def _say(self, text: str, *, indent: int = 0, hang: int = 0, style: str = "") -> None:
        for number, line in enumerate(self._wrapped(self._clean(text), self.look.width - indent - hang)):
            margin = " " * (indent + (hang if number else 0))
            self.console.print(_styled(margin + line, style), soft_wrap=True)

    def _wrapped(self, text: str, width: int) -> Iterator[str]:
        import textwrap

        yield from textwrap.wrap(text, max(20, width), break_on_hyphens=False) or [""]

    def _clean(self, text: str) -> str:
        return clean(text, redact=self.look.redact)

    def _shortened(self, text: str) -> str:
        most = EVIDENCE_LINES * (self.look.width - 6) if not self.look.verbose else len(text)
        return text if len(text) <= most else text[: most - 1] + "…"


def _styled(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(text, style=style)


def _words(evidence: Evidence) -> str:
    """What a line says without its headers: they are told beside it."""
    body = read_body(peel(evidence.event.text.encode()).body)
    if body is None or not body.message:
        return evidence.event.text
    fields = " ".join(f"{key}={value}" for key, value in body.fields.items())
    return f"{body.message} {fields}".strip()


def _subject(finding: Finding) -> str:
    subject = finding.subject
    said = [f"{subject.kind} {subject.name}"]
    said += [f"{name} {subject.ids[name]}" for name in IDS if name in subject.ids and subject.ids[name] != subject.name]
    return " · ".join(said)


def _span(finding: Finding) -> str:
    begins = to_datetime(finding.begins).strftime("%Y-%m-%d %H:%M:%S")
    lasted = finding.ends - finding.begins
    times = f", {finding.count} times" if finding.count > 1 else ""
    return f"{begins} UTC{f', over {say_duration(lasted)}' if lasted >= 1_000_000 else ''}{times}"


def _clock(stamp: int) -> str:
    return to_datetime(stamp).strftime("%H:%M:%S.%f")[:-3]


def _reading(reading: Reading) -> str:
    unread = f", {reading.unread} not understood" if reading.unread else ""
    clock = f"; {reading.clock}" if reading.clock else ""
    return f"{reading.source}: {reading.lines} lines, {reading.component or reading.format}{unread}{clock}"
