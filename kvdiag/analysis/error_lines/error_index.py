"""Index the error lines of all logs, mark those that findings explain, and group the rest."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kvdiag.analysis.error_lines.groups import UNEXPLAINED, ErrorGroups, ExplainedCopies, Explanation
from kvdiag.analysis.error_lines.harmless import HarmlessLines
from kvdiag.analysis.error_lines.lines import NO_TIME, ErrorLines, LineQuota, body_of
from kvdiag.analysis.error_lines.suspects import LevelMarks
from kvdiag.base.clock import is_age, is_unanchored
from kvdiag.base.regex import lazy_regex
from kvdiag.explain.benign import Benign
from kvdiag.formats.authors import Attribution, byline
from kvdiag.history.correlate.clocks import SourceClock
from kvdiag.history.correlate.event_filter import EVERYTHING, Scope
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.model.error_groups import Errors
from kvdiag.model.event import THIS_NODE, Event, is_unnamed
from kvdiag.model.report import Finding, Reading
from kvdiag.model.timeline import History
from kvdiag.model.values import State, SubjectKind
from kvdiag.rules.selection import ByKind, by_kind, selects

_KUBELET_RUNS = "kubelet.run"  # the capability
_UNIT_EXIT = lazy_regex(
    rb"\b(?:kubelet|k3s|k3s-agent|rke2-server|rke2-agent|snap\.microk8s\.daemon-kubelite)\.service: "
    rb"(?:Main process exited, code=exited,|Failed with result 'exit-code'"
    rb"|Scheduled restart job|Start request repeated)"
)


class ErrorIndex:
    """Collects the error lines of each log while it is read; then findings explain some of them."""

    def __init__(self, entries: Sequence[Benign]) -> None:
        """Take the entries of harmless lines."""
        self._entries, self._quota, self._marks = entries, LineQuota(), LevelMarks()
        self._logs: dict[str, ErrorLines] = {}
        self._explanations: dict[str, dict[int, Explanation]] = defaultdict(dict)
        self._has_findings = False

    def begin(self, source: str) -> ErrorLines:
        """Return the listener for the next log."""
        lines = self._logs[source] = ErrorLines(self._entries, self._quota, self._marks, is_only=not self._logs)
        return lines

    def detached(self) -> ErrorLines:
        """Return a listener for a part of a log, or for one that another process reads."""
        return ErrorLines(self._entries, LineQuota(), self._marks, is_only=False)

    def widened(self, readings: Iterable[Reading], clocks: Mapping[str, SourceClock]) -> Iterator[Reading]:
        """Yield the readings, extended to the time of the first and last error line; call it when all is read."""
        for read in self._logs.values():
            read.trim()
        for reading in readings:
            lines, clock = self._logs.get(reading.source), clocks.get(reading.source)
            ages: frozenset[int] = frozenset()
            if lines and reading.undated and reading.undated.lines is not None:
                ages = frozenset(line for line, one in zip(lines.lines, lines.stamps, strict=True) if is_age(one))
            stamps = [one for one in lines.stamps if one != NO_TIME and not (ages and is_age(one))] if lines else []
            times = (
                [clock.utc(stamp, lines.lines[-1]) for stamp in (min(stamps), max(stamps))]
                if stamps and clock and lines
                else []
            )
            times = [time for time in times if not is_unanchored(time)]
            begins, ends = (*times, reading.begins), (*times, reading.ends)
            undated = reading.undated
            if undated and undated.lines is not None:
                undated = undated._replace(lines=undated.lines | ages)
            yield reading._replace(
                undated=undated,
                begins=min((time for time in begins if time is not None), default=None),
                ends=max((time for time in ends if time is not None), default=None),
            )

    def explain(self, findings: Iterable[Finding], history: History) -> None:
        """Mark the lines of evidence and lines with the same words, which are about the same subject.

        `history` is the one with the findings.
        """
        events_by_kind: dict[str, ByKind] = {}
        for finding in findings:
            self._has_findings = True
            incident_history = history.incidents.get(finding.folder, history)
            if finding.folder not in events_by_kind:
                events_by_kind[finding.folder] = by_kind(incident_history.events)
            for event in _explained_events(finding, incident_history, events_by_kind[finding.folder]):
                self._mark(event, Explanation(explained_by=finding.rule.name))
            if finding.rule.breaks == (_KUBELET_RUNS,) and finding.state is not State.OVER:
                self._mark_exits(finding)

    def errors(
        self,
        logs: Iterable[LogEvents],
        clocks: Mapping[str, SourceClock],
        components: Mapping[str, str],
        scope: Scope = EVERYTHING,
    ) -> Errors:
        """Return the lines of that time, counted and grouped; `components` is the main component of each log."""
        logs_read = [(log, self._logs[log.source]) for log in logs if log.source in self._logs]
        copies = ExplainedCopies(is_needed=len(logs_read) > 1 and bool(self._explanations))
        for log, lines in logs_read:
            copies.add(lines, clocks[log.source], self._explanations.get(log.source, {}))
        tally = ErrorGroups(scope, has_findings=self._has_findings)
        for log, lines in logs_read:
            clock, by_words = clocks[log.source], self._explanations.get(log.source, {})
            harmless = HarmlessLines(self._entries, lines, log)
            rows = enumerate(zip(lines.words, lines.stamps, lines.lines, strict=True))
            explanations = (
                by_words.get(words) or copies.explanation(words, stamp, number, clock) or _benign(harmless, at)
                for at, (words, stamp, number) in rows
            )
            by = Attribution(byline(log.source, log.place), components.get(log.source, ""))
            tally.add(log, lines, clock, by, explanations)
        errors, reasons = tally.errors(), {one.name: one.reason for one in self._entries}
        return errors._replace(known=tuple(one._replace(why=reasons.get(one.benign, "")) for one in errors.known))

    def is_explained(self, source: str, line: int) -> bool:
        """Return whether a finding explains the error at a line; call `explain` before."""
        by_words, at = self._explanations.get(source), self._index_of(source, line)
        return by_words is not None and at is not None and self._logs[source].words[at] in by_words

    def _index_of(self, source: str, line: int) -> int | None:
        """Return the index of the error that has a line; None if the line is of no error."""
        lines = self._logs.get(source)
        at = bisect_right(lines.lines, line) - 1 if lines else -1
        return at if lines and at >= 0 and lines.lines[at] + lines.below[at] >= line else None

    def _mark_exits(self, finding: Finding) -> None:
        """Mark the lines of systemd about an exit with an error code of the unit whose program a finding says to end.

        Lines of another node, of a signal or of a watchdog are not of it.
        """
        node = finding.subject.ids.get("node", THIS_NODE)
        host = b"" if is_unnamed(node) else f" {node} ".encode()
        for source in {evidence.event.origin.source for evidence in finding.evidence} & self._logs.keys():
            lines, by_words = self._logs[source], self._explanations[source]
            exits = {
                number
                for number, group in enumerate(lines.groups)
                if _UNIT_EXIT.search(group.sample) and host in group.sample
            }
            for words, number in zip(lines.words, lines.group_of, strict=True) if exits else ():
                if number in exits:
                    by_words.setdefault(words, Explanation(explained_by=finding.rule.name))

    def _mark(self, event: Event, explanation: Explanation) -> None:
        at = self._index_of(event.origin.source, event.origin.line)
        if at is None:
            return
        lines = self._logs[event.origin.source]
        if at and lines.lines[at - 1] == lines.lines[at]:  # a JSON document with several events
            words = hash(body_of(event.logged).message.encode("utf-8", "replace"))
            first = bisect_left(lines.lines, event.origin.line)
            at = next((one for one in range(first, at) if lines.words[one] == words), at)
        self._explanations[event.origin.source].setdefault(lines.words[at], explanation)


def _benign(harmless: HarmlessLines, at: int) -> Explanation:
    entry = harmless.entry(at)
    return Explanation(benign=entry.name) if entry else UNEXPLAINED


def _explained_events(finding: Finding, history: History, divided: ByKind) -> Iterator[Event]:
    """Yield the evidence of a finding, and all events on its subject that its rule selects."""
    yield from (evidence.event for evidence in finding.evidence)
    subject, selectors = finding.subject, finding.rule.events.values()
    if subject.kind is SubjectKind.NODE:
        nodes = {subject.ids.get("node", subject.key), subject.key, ""}
        kinds = {kind for selector in selectors for kind in selector.kinds}
        events = [event for kind in kinds for event in divided.get(kind, ()) if event.node in nodes]
    else:
        timeline = history.timelines.get((subject.kind, subject.key))
        events = list(timeline.events) if timeline else []
    yield from (event for event in events if any(selects(selector, event) for selector in selectors))
