"""Lines of a log, groups of error lines, and findings about one subject, as text that may be shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple

from kvdiag.model.error_groups import ErrorGroup, RetriedPod, StuckSubject
from kvdiag.model.event import NO_NAME
from kvdiag.model.report import Evidence, Finding, Report
from kvdiag.model.values import Level
from kvdiag.report.ansi import file_uri
from kvdiag.report.phrases import cause_phrase, evidence_message, explain_command, message_of_line, tries_in_row
from kvdiag.report.times import UndatedLogs, clock_text, moment_text, short_span, undated_at, undated_in, undated_logs
from kvdiag.safe.clean import SafeText, clean
from kvdiag.safe.secrets import redacted


class LineText(NamedTuple):
    """A line of a log: `message` is without its headers, `text` is whole; `link` leads to its file or is empty.

    `count` is the number of lines like it, `own` how many of them a row of kubectl stands for; `clock` the time of day,
    an age or an uptime, empty if it has none.
    """

    source: SafeText
    number: int
    link: SafeText
    clock: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    message: SafeText
    text: SafeText
    own: int = 1

    @property
    def place(self) -> str:
        """`kubelet.log:162`."""
        return f"{self.source}:{self.number}"


class ErrorText(NamedTuple):
    """A group of error lines; `when` is its first and last time of day, or its ages; `line` is the first of them.

    `cause` names its innermost cause; empty if the error names none, or may be no failure. `why` says why the lines are
    harmless, and when they are not.
    """

    state: str
    where: SafeText
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    when: str
    reason: SafeText
    line: LineText
    cause: SafeText
    why: SafeText


class StuckText(NamedTuple):
    """A subject that waits for a step and has no finding; `groups` are the errors that may show why, likeliest first.

    `name` is its kind and name; `since` is a time, an age or empty.
    """

    name: SafeText
    waits_for: SafeText
    since: str
    failure: SafeText
    retries: int
    groups: tuple[ErrorText, ...]

    @property
    def wait(self) -> str:
        """The missing step, since when, and the failures: `waits for RunPodSandbox since 2024-03-12 08:15:00 UTC`."""
        noun = "failure" if self.retries == 1 else "failures"
        failed = f"; {self.retries} {noun}, last: {self.failure}" if self.retries else ""
        since = f" since {self.since}" if self.since else ""
        return f"waits for {self.waits_for}{since}{failed}"


class RetriedText(NamedTuple):
    """A pod without a finding that fails again and again, how often, and when."""

    pod: SafeText
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    when: str
    is_ongoing: bool


class FindingLine(NamedTuple):
    """A finding in a list about one subject, its cause (empty if there is none), and the command that explains it."""

    text: SafeText
    cause: SafeText
    command: str


class ErrorsText:
    """Error lines in groups: those that nothing explains, and those that something does."""

    def __init__(self, report: Report, *, redact: bool) -> None:
        """`redact` is off only where the user asked for it."""
        errors = report.errors
        self._errors, self._redact, self._undated = errors, redact, undated_logs(report.inputs)
        self.rest, self.benign, self.unlisted = errors.unexplained, errors.benign, errors.unlisted

    @cached_property
    def groups(self) -> Sequence[ErrorText]:
        """Groups that nothing explains."""
        return [self._group(group) for group in self._errors.groups]

    @property
    def noun(self) -> str:
        """What the lines of the groups are called; those of level info that report a failure count as warnings."""
        return "line" if any(group.level is Level.WARNING for group in self._errors.groups) else "error line"

    @cached_property
    def retried(self) -> Sequence[RetriedText]:
        """Pods that fail again and again without a finding."""
        return [_retried_text(pod, self._undated, redact=self._redact) for pod in self._errors.retried]

    @cached_property
    def stuck(self) -> Sequence[StuckText]:
        """Pods, volumes and nodes that wait for a step and have no finding."""
        return [_stuck_text(one, self._undated, redact=self._redact) for one in self._errors.stuck]

    def known(self, *, show_benign: bool) -> Sequence[ErrorText]:
        """Groups that a finding explains, and those that are harmless where asked for."""
        shown = (group for group in self._errors.known if group.explained_by or show_benign)
        return [self._group(group) for group in shown]

    def _group(self, group: ErrorGroup) -> ErrorText:
        return error_text(group, self._undated, redact=self._redact)


def line_text(evidence: Evidence, undated: UndatedLogs, *, redact: bool) -> LineText:
    """A line that a finding rests on."""
    event = evidence.event
    return LineText(
        source=clean(event.origin.source, redact=redact),
        number=event.origin.line,
        link=clean(file_uri(event.origin, redact=redact)),
        clock=clock_text(event.time, undated_at(event.origin, undated)),
        count=evidence.total,
        message=clean(evidence_message(evidence), redact=redact),
        text=clean(event.text, redact=redact),
        own=tries_in_row(event),
    )


def finding_line(finding: Finding, cause: Finding | None, listed: Collection[Finding], *, redact: bool) -> FindingLine:
    """Return a finding and what causes it; of a cause that is `listed` too, only the name."""
    return FindingLine(
        clean(f"{finding.rule.name}: {finding.says}", redact=redact),
        clean(cause_phrase(cause, is_listed=cause in listed) if cause else "", redact=redact),
        explain_command((cause or finding).rule.name),
    )


def error_text(group: ErrorGroup, undated: UndatedLogs, *, redact: bool) -> ErrorText:
    """A group of error lines, with the first of them."""
    message = message_of_line(group.sample)
    message = redacted(message) if redact else message  # before its lines are joined: some secrets end with their line
    author = "" if group.begins is None else group.component  # of a text without a header it is a guess
    line = LineText(
        source=clean(group.origin.source, redact=redact),
        number=group.origin.line,
        link=clean(file_uri(group.origin, redact=redact)),
        clock="",
        count=group.count,
        message=clean(" ".join(message.split()), redact=redact),
        text=clean(group.sample, redact=redact),
    )
    return ErrorText(
        state=_state(group),
        where=clean(group.where or author, redact=redact),
        count=group.count,
        when=short_span(group.begins, group.ends, undated_in([group.origin], group.sources, undated)),
        reason=clean(group.explained_by or group.benign, redact=redact),
        line=line,
        cause=clean(group.anatomy.sentence if group.anatomy and group.anatomy.names_cause else "", redact=redact),
        why=clean(group.why, redact=redact),
    )


def _state(group: ErrorGroup) -> str:
    """Return whether a group goes on; lines without a time do not show it."""
    if group.is_ongoing or group.count < 2:
        return "ongoing" if group.is_ongoing else "once"
    return "repeated" if group.begins is None else "stopped"


def _retried_text(pod: RetriedPod, undated: UndatedLogs, *, redact: bool) -> RetriedText:
    when = short_span(pod.begins, pod.ends, undated_in((), pod.sources, undated))
    return RetriedText(clean(pod.pod, redact=redact), pod.count, when, pod.is_ongoing)


def _stuck_text(stuck: StuckSubject, undated: UndatedLogs, *, redact: bool) -> StuckText:
    node = f" on {stuck.node}" if stuck.node else ""
    name = f"a {stuck.kind}" if stuck.name == NO_NAME else f"{stuck.kind} {stuck.name}"
    return StuckText(
        name=clean(f"{name}{node}", redact=redact),
        waits_for=clean(stuck.waits_for, redact=redact),
        since=moment_text(stuck.since, undated_in([group.origin for group in stuck.groups], (), undated)),
        failure=clean(stuck.failure, redact=redact),
        retries=stuck.retries,
        groups=tuple(error_text(group, undated, redact=redact) for group in stuck.groups),
    )
