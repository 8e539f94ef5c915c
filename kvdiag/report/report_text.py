"""A report as text that may be shown: each finding built once, for every output that a person reads.

An output gets a `ReportText` and no `Report`: no word of a log reaches it before secrets are redacted and control
characters are escaped. Findings are built when an output asks for them: a report of 100,000 findings shows a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, overload

from kvdiag.model.error_groups import Histogram
from kvdiag.model.report import Finding, Need, Report, Undated
from kvdiag.model.rule import Fix
from kvdiag.model.values import Severity, State, Verdict
from kvdiag.report.incidents import (
    Incident,
    and_more,
    failures,
    incident_label,
    incidents,
    merged_finding,
    notes,
    victims,
)
from kvdiag.report.line_text import ErrorsText, LineText, line_text
from kvdiag.report.phrases import (
    common_folder,
    count_sentence,
    first_check,
    format_doubt,
    input_lines,
    input_summary,
    is_early,
    no_alarm,
    nothing_found,
    safe_fix,
    subject_lines,
    symptoms_by_cause,
    verdict,
    versions_seen,
)
from kvdiag.report.times import format_span, span_sentence, undated_incident, undated_logs
from kvdiag.safe.clean import SafeText, clean

LONGEST_REASON = 40  # characters of what a sentence ends with: enough to find it in a log line


class StepText(NamedTuple):
    """One step of what to do: `run` is a command or empty, `withheld` why there is none."""

    text: SafeText
    run: SafeText
    withheld: SafeText


class SymptomText(NamedTuple):
    """A finding that another explains."""

    rule: SafeText
    text: SafeText
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, which nobody needs here


class Victims(Sequence[SafeText]):
    """The names of the subjects of one fault, each redacted and escaped when it is asked for: few of many are shown."""

    def __init__(self, names: Sequence[str], safe: Callable[[str], SafeText]) -> None:
        self._names, self._safe = names, safe

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, at: int) -> SafeText: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[SafeText]: ...
    def __getitem__(self, at: int | slice) -> SafeText | Sequence[SafeText]:
        return [*map(self._safe, self._names[at])] if isinstance(at, slice) else self._safe(self._names[at])


class SubjectText(NamedTuple):
    """What a finding is about: `volume pvc-1` as `name`, `default/db-0` or `17 pods of worker-1` as `short`.

    `lines` have the ids that one would search the logs for, `victims` the name of each subject of one fault.
    """

    name: SafeText
    short: SafeText
    lines: tuple[SafeText, ...]
    victims: Victims
    node: SafeText

    @property
    def name_on_node(self) -> str:
        """`volume pvc-1 on worker-1`, for a line in a log."""
        return f"{self.name} on {self.node}" if self.node else self.name


class FindingText(NamedTuple):
    """One failure or note. Of one fault with many victims it describes the first.

    `is_early` is a note of a failure that no line ends. `title` names the object, `row_title` does not, for a table
    that has it beside. `state` is a sentence, `state_word` one word or empty.
    Times are microseconds UTC, which are assumed if the fault is `undated`. `best_line` shows the fault best among
    `lines`.
    """

    key: SafeText
    rule: SafeText
    id: SafeText
    severity: Severity
    is_possible: bool
    is_early: bool
    title: SafeText
    row_title: SafeText
    subject: SubjectText
    state: SafeText
    state_word: str
    begins: int
    undated: Undated | None
    ends: int
    healed: int | None
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    says: SafeText
    others: SafeText
    steps: tuple[StepText, ...]
    lines: tuple[LineText, ...]
    best_line: LineText | None
    reason: SafeText
    why: tuple[SafeText, ...]
    versions: tuple[SafeText, ...]
    doubts: tuple[SafeText, ...]
    collect: tuple[SafeText, ...]
    look_alikes: tuple[SafeText, ...]
    references: tuple[SafeText, ...]
    symptoms: tuple[SymptomText, ...]

    @property
    def is_past(self) -> bool:
        """Whether the fault ended before the logs did, by itself or with its pod."""
        return self.state_word in {State.OVER, State.DELETED}


class NeedText(NamedTuple):
    """A log that may settle possible findings, and the command that collects it."""

    text: SafeText
    run: SafeText


class ReportText:
    """What an output for a person shows of a report."""

    def __init__(self, report: Report, *, redact: bool = True) -> None:
        """`redact` is off only where the user asked for it."""
        self._report, self._redact = report, redact
        self.version = report.version
        self.span = report.span
        self.folder = common_folder(report)
        self._undated = undated_logs(report.inputs)

    @cached_property
    def failures(self) -> Findings:
        """Each failure once, the gravest first."""
        return Findings(failures(self._report.findings), self)

    @cached_property
    def notes(self) -> Findings:
        """What is only for information."""
        return Findings(notes(self._report.findings), self)

    @cached_property
    def causes(self) -> Findings:
        """Every finding that nothing explains, those of one incident one by one, notes too."""
        return Findings([(one,) for one in self._report.findings if one.explained_by is None], self)

    @property
    def verdict(self) -> SafeText:
        """`2 failures found, worst: high; 1 note`."""
        return self.safe(verdict(self._report))

    @property
    def counts(self) -> SafeText:
        """`2 failures: 1 high, 1 medium; 3 symptoms explained; 1 note`."""
        return self.safe(count_sentence(self._report))

    @property
    def counts_by_rule(self) -> Counter[tuple[SafeText, str, str, str]]:
        """How many findings there are of each rule, severity, verdict and role."""
        found = ((one.rule.name, one.severity.label, one.verdict, one.role) for one in self._report.findings)
        return Counter((self.safe(rule), severity, str(verdict), str(role)) for rule, severity, verdict, role in found)

    @property
    def no_alarm(self) -> SafeText:
        """What is said of notes alone."""
        return self.safe(no_alarm(notes(self._report.findings)))

    @property
    def silence(self) -> SafeText:
        """What it means that nothing was found; empty where something was, or where something is stuck."""
        is_something_found = self._report.findings or self._report.errors.stuck
        return self.safe("" if is_something_found else nothing_found(self._report))

    @property
    def first_check(self) -> StepText | None:
        """How to check the cause that `silence` names."""
        step = first_check(self._report) if self.silence else None
        return step_text(step, redact=self._redact) if step else None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was logged in the requested time."""
        return self._report.is_empty

    @property
    def problems(self) -> tuple[SafeText, ...]:
        """Inputs that could not be read."""
        return tuple(map(self.safe, self._report.problems))

    @property
    def needs(self) -> Iterator[NeedText]:
        """Which logs may turn what is possible into a verdict, where no error names the cause."""
        by_key = {finding.key: finding for finding in self._report.findings}
        for need in self._report.needs:
            if not all(_names_cause(by_key[key]) for key in need.findings if key in by_key):
                yield NeedText(self.safe(need_words(need)), self.safe(need.run))

    @property
    def versions(self) -> SafeText:
        """`containerd 1.7.24, kubelet 1.33.2`."""
        return self.safe(", ".join(versions_seen(self._report.versions)))

    @property
    def read(self) -> SafeText:
        """`6 logs in lab: 10957 lines, 2026-11-21 20:28:42 to 20:32:52 UTC`."""
        return self.safe(input_summary(self._report.inputs, self.folder))

    def readings(self, *, is_all: bool) -> Iterator[SafeText]:
        """Inputs of which little was understood, or all; and how clocks were guessed."""
        lines = input_lines(self._report, is_all=is_all)
        return (self.safe(line.replace(f"{self.folder}/", "") if self.folder else line) for line in lines)

    @cached_property
    def errors(self) -> ErrorsText:
        """What nothing explains."""
        return ErrorsText(self._report, redact=self._redact)

    @property
    def when(self) -> Histogram:
        """How many error lines there were when."""
        return self._report.errors.when

    def safe(self, text: str) -> SafeText:
        """The text, redacted and escaped."""
        return clean(text, redact=self._redact)

    def finding(self, incident: Incident) -> FindingText:
        """One finding in full."""
        finding, safe = incident[0]._replace(texts=incident[0].texts.all), self.safe
        lines = tuple(line_text(one, self._undated, redact=self._redact) for one in finding.evidence)
        reason = _reason(finding)
        whole_finding = merged_finding(incident)
        undated = undated_incident(incident, self._undated)
        return FindingText(
            key=safe(finding.key),
            rule=safe(finding.rule.name),
            id=safe(finding.rule.id),
            severity=finding.severity,
            is_possible=finding.verdict is Verdict.POSSIBLE,
            is_early=is_early(incident),
            title=safe(whole_finding.title),
            row_title=safe(whole_finding.row_title),
            subject=self._subject(incident),
            state=safe(span_sentence(incident, self._undated)),
            state_word="" if finding.state is State.UNKNOWN else str(finding.state),
            begins=whole_finding.begins,
            undated=undated,
            ends=whole_finding.ends,
            healed=whole_finding.healed,
            count=whole_finding.count,
            says=safe(finding.says),
            others=safe(and_more(incident)),
            steps=tuple(step_text(fix, redact=self._redact) for fix in finding.texts.all.fix),
            lines=lines,
            best_line=_best_line(finding, lines, reason),
            reason=safe(reason),
            why=tuple(safe(" ".join(part.split())) for part in finding.texts.all.cause.split("\n\n")),
            versions=tuple(safe(bug.sentence) for bug in finding.texts.all.bugs),
            doubts=tuple(safe(format_doubt(doubt, undated)) for doubt in finding.doubts),
            collect=tuple(map(safe, () if _names_cause(finding) else finding.collect)),
            look_alikes=tuple(safe(" ".join(text.split())) for text in finding.rule.look_alikes),
            references=tuple(map(safe, finding.rule.references)),
            symptoms=tuple(self._symptoms(incident)),
        )

    def _subject(self, incident: Incident) -> SubjectText:
        subject, safe = incident[0].subject, self.safe
        node = subject.ids.get("node", "")
        return SubjectText(
            name=safe(f"{subject.kind} {subject.name}"),
            short=safe(incident_label(incident) if len(incident) > 1 else subject.part or subject.name),
            lines=tuple(safe(line) for line in subject_lines(incident[0]) if line),
            victims=Victims(victims(incident), safe),
            node=safe("" if node == subject.name else node),
        )

    def _symptoms(self, incident: Incident) -> Iterator[SymptomText]:
        symptoms = [symptom for one in incident for symptom in self._under.get(one.key, ())]
        for group in incidents(symptoms):
            way = f" (through {', '.join(group[0].through)})" if group[0].through else ""
            rule, says = group[0].rule.name, f"{group[0].says}{and_more(group)}{way}"
            yield SymptomText(self.safe(rule), self.safe(says), len(group))

    @cached_property
    def _under(self) -> Mapping[str, list[Finding]]:
        return symptoms_by_cause(self._report.findings)


class Findings(Sequence[FindingText]):
    """Findings that are built when they are asked for, and not kept."""

    def __init__(self, found: Sequence[Incident], text: ReportText) -> None:
        self._found, self._text = found, text

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, at: int) -> FindingText: ...
    @overload
    def __getitem__(self, at: slice) -> Findings: ...
    def __getitem__(self, at: int | slice) -> FindingText | Findings:
        if isinstance(at, slice):
            return Findings(self._found[at], self._text)
        return self._text.finding(self._found[at])

    def severities(self) -> Iterator[Severity]:
        """The severity of each, without building it."""
        return (incident[0].severity for incident in self._found)


def step_text(fix: Fix, *, redact: bool) -> StepText:
    """A step of what to do; without its command where something in that was redacted, since that is another command."""
    fix = safe_fix(fix, redact=redact)
    guard = f" Only when {fix.after}." if fix.after else ""
    return StepText(
        text=clean(fix.text + guard, redact=redact),
        run=clean(fix.run, redact=redact),
        withheld=clean(fix.withheld, redact=redact),
    )


def need_words(need: Need) -> str:
    """`kubelet log at -v=4 or more, from … to … (pod-start-slow)`."""
    level = f" at -v={need.verbosity} or more" if need.verbosity else ""
    span = "with timestamps, covering these lines"
    if need.begins is not None and need.ends is not None:
        span = f"from {format_span(need.begins, need.ends)}" + (" or of a later try" if need.verbosity else "")
    rules = ", ".join(dict.fromkeys(key.partition(":")[0] for key in need.findings))
    return f"{need.component} log{level}, {span} ({rules})"


def _best_line(finding: Finding, lines: Sequence[LineText], reason: str) -> LineText | None:
    """The line that shows the fault best: one of those that are counted, with the words of the sentence, and short."""
    healing = finding.rule.healed.by if finding.rule.healed else ()
    pairs = list(zip(finding.evidence, lines, strict=True))
    of_fault = [pair for pair in pairs if pair[0].step not in {*healing, *finding.rule.shows}]
    counted = [pair for pair in of_fault if pair[0].step == finding.rule.counts] or of_fault or pairs
    best = min(counted, key=lambda pair: (reason not in pair[1].message, len(pair[1].message)), default=None)
    return best[1] if best else None


def _names_cause(finding: Finding) -> bool:
    """Return whether the innermost cause was read from the error, so that no log must be collected for it."""
    return finding.anatomy is not None and finding.anatomy.names_cause


def _reason(finding: Finding) -> str:
    """How the sentence begins to quote the error, to look for in a line."""
    if finding.anatomy is not None and finding.anatomy.quoted:
        return finding.anatomy.quoted[:LONGEST_REASON]
    return finding.says.rstrip(".").rpartition(": ")[2][:LONGEST_REASON]
