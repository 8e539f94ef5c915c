"""Error lines counted by what explains them and what they say: the figures and groups of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kvdiag.analysis.error_lines.histogram import LogHistogram, histogram
from kvdiag.analysis.error_lines.lines import MOST_SUBJECTS, NO_TIME, ErrorLines, LineGroup, body_of
from kvdiag.analysis.error_lines.wording import cause_of, fold_message
from kvdiag.base.clock import HOUR, MINUTE, is_unanchored
from kvdiag.formats.authors import COMBINED, DRIVER, SIDECARS, Attribution
from kvdiag.formats.carriers.carrier import KERNEL
from kvdiag.history.correlate.clocks import SourceClock
from kvdiag.history.correlate.event_filter import Scope
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.model.error_groups import ErrorGroup, Errors
from kvdiag.model.record import Origin
from kvdiag.model.values import Level
from kvdiag.safe.secrets import redacted, redacted_value

MOST_LISTED = 1_000
FEW = 15 * MINUTE  # what has been silent for longer than that has ended, however seldom it came
OFTEN = 3  # as long as three of the usual pauses after the last line of a group it may still go on
NODE = frozenset(("kubelet", "containerd", "crio", "dockerd", "cri-dockerd", KERNEL, DRIVER, *SIDECARS, *COMBINED))
CONTROLLERS = frozenset(("kube-controller-manager", "cloud-controller-manager"))


class Explanation(NamedTuple):
    """What explains a line: the rule of a finding, an entry of harmless lines, or nothing."""

    explained_by: str = ""
    benign: str = ""


UNEXPLAINED = Explanation()


class ExplainedCopies:
    """Lines that a finding explains in one log, to be known again where another log has them as well."""

    def __init__(self, *, is_needed: bool) -> None:
        """Nothing is kept unless it is needed."""
        self._is_needed = is_needed
        self._explanations: dict[tuple[int, int], Explanation] = {}

    def add(self, lines: ErrorLines, clock: SourceClock, explanations: Mapping[int, Explanation]) -> None:
        """Take up the lines of a log that are explained."""
        for words, stamp, number in zip(lines.words, lines.stamps, lines.lines, strict=True) if self._is_needed else ():
            if words in explanations:
                self._explanations[words, clock.utc(stamp, number)] = explanations[words]

    def explanation(self, words: int, stamp: int, number: int, clock: SourceClock) -> Explanation | None:
        """What explains these words in another log at that time."""
        return self._explanations.get((words, clock.utc(stamp, number))) if self._explanations else None


@dataclass(slots=True)
class _Part:
    """Lines of one group of one log with one fate; stamps are on the clock of the log.

    `times` is how often that happened: a row of events may stand for many times.
    """

    line: int
    first: int
    last: int
    count: int = 0
    times: int = 0

    def add(self, stamp: int, count: int = 1, repeated: tuple[int, int] | None = None) -> None:
        """So many more lines, the last of them at this time; or a row for so many times over so long."""
        times, span = repeated or (count, 0)
        self.count += count
        self.times += times
        first = stamp - span if stamp != NO_TIME else stamp
        self.first, self.last = min(self.first, first), max(self.last, stamp)


@dataclass(slots=True)
class _Row:
    """Lines of one group of all logs with one fate; times are UTC."""

    group: LineGroup
    origin: Origin
    count: int = 0
    times: int = 0
    begins: int | None = None
    ends: int | None = None
    goes_on: bool = False
    subjects: dict[str, None] = field(default_factory=dict)


class _RowKey(NamedTuple):
    component: str
    level: Level
    where: str
    words: str
    fate: Explanation


class ErrorGroups:
    """Counts the lines of one log after the other."""

    def __init__(self, scope: Scope) -> None:
        """Only lines of that time count."""
        self._scope = scope
        self._rows: dict[_RowKey, _Row] = {}
        self._times = Counter[int]()

    def add(
        self,
        log: LogEvents,
        lines: ErrorLines,
        clock: SourceClock,
        by: Attribution,
        explanations: Iterable[Explanation],
    ) -> None:
        """Count the lines of a log, each with its fate; `by` is who wrote them."""
        parts: dict[tuple[int, Explanation], _Part] = {}
        components = [by.author_of_line(group.key.ident, group.key.where) for group in lines.groups]
        moments = LogHistogram(log)
        is_any_time = self._scope.is_any_time
        rows = zip(lines.group_of, explanations, lines.stamps, lines.lines, strict=True)
        for at, (group, fate, stamp, line) in enumerate(rows):
            if is_any_time or self._covers(clock, stamp, line):
                part = parts.get((group, fate))
                if part is None:
                    part = parts[group, fate] = _Part(line, stamp, stamp)
                part.add(stamp, repeated=lines.repeated.get(at))
                if stamp != NO_TIME and not fate.benign:
                    moments.add(stamp, line)
        self._times.update(moments.in_utc(clock))
        self._add_beyond(log, lines, clock, parts)
        for (group, fate), part in parts.items():
            place = _RowKey(components[group], *lines.groups[group].key[1:], fate)
            self._join(place, log, lines.groups[group], part, clock)

    def errors(self) -> Errors:
        """The sums and the groups."""
        rows = sorted(_with_explained_causes(self._rows), key=_order)
        rest = [(place, row) for place, row in rows if place.fate == UNEXPLAINED and place.words][:MOST_LISTED]
        known = [(place, row) for place, row in rows if place.fate != UNEXPLAINED and place.words][:MOST_LISTED]
        lines = sum(row.count for _, row in rows)
        return Errors(
            lines=lines,
            explained=sum(row.count for place, row in rows if place.fate.explained_by),
            benign=sum(row.count for place, row in rows if place.fate.benign),
            groups=tuple(_group(place, row) for place, row in rest),
            known=tuple(_group(place, row) for place, row in known),
            unlisted=lines - sum(row.count for _, row in (*rest, *known)),
            when=histogram(self._times),
        )

    def _covers(self, clock: SourceClock, stamp: int, line: int) -> bool:
        if stamp == NO_TIME:
            return True
        time = clock.utc(stamp, line)
        return self._scope.covers(time, time)

    def _add_beyond(
        self, log: LogEvents, lines: ErrorLines, clock: SourceClock, parts: dict[tuple[int, Explanation], _Part]
    ) -> None:
        """Count the lines that are not told apart: they fare as all lines of their group do, else as unexplained."""
        known: dict[int, set[Explanation]] = {}
        for group, fate in parts if lines.beyond else ():
            known.setdefault(group, set()).add(fate)
        for place, count in lines.beyond.items():
            stamp = place.hour * HOUR
            if not self._covers(clock, stamp, log.lines):
                continue
            fates = known.get(place.group, set())
            fate = next(iter(fates)) if len(fates) == 1 else UNEXPLAINED
            part = parts.setdefault((place.group, fate), _Part(lines.groups[place.group].line, stamp, stamp))
            part.add(stamp, count)

    def _join(self, place: _RowKey, log: LogEvents, group: LineGroup, part: _Part, clock: SourceClock) -> None:
        row = self._rows.get(place)
        if row is None:
            row = self._rows[place] = _Row(group, Origin(log.source, part.line))
        row.count += part.count
        row.times += part.times
        for name in group.subjects:
            if len(row.subjects) < MOST_SUBJECTS:
                row.subjects[name] = None
        if part.first == NO_TIME:
            return
        begins, ends = clock.utc(part.first, part.line), clock.utc(part.last, log.lines)
        if is_unanchored(begins):
            return
        row.goes_on = row.goes_on or is_ongoing(part.times, begins, ends, end_of(log, clock, self._scope))
        row.begins = begins if row.begins is None else min(row.begins, begins)
        row.ends = ends if row.ends is None else max(row.ends, ends)


def _with_explained_causes(rows: Mapping[_RowKey, _Row]) -> Iterator[tuple[_RowKey, _Row]]:
    """The rows; one that ends in the same clauses as one that a finding explains, at that time, is explained by it.

    Each layer of a program tells an error that a lower one gave it, in words of its own around the same end.
    """
    explained: dict[tuple[str, ...], list[tuple[_RowKey, _Row]]] = {}
    for place, row in rows.items():
        if place.fate.explained_by and row.begins is not None:
            explained.setdefault(_cause(row), []).append((place, row))
    for place, row in rows.items():
        causes = explained.get(_cause(row), ()) if place.fate == UNEXPLAINED and explained else ()
        same = next((cause for cause, other in causes if _overlap(row, other)), None)
        yield (place if same is None else place._replace(fate=same.fate)), row


def _cause(row: _Row) -> tuple[str, ...]:
    return cause_of(body_of(row.group.sample))


def _overlap(row: _Row, other: _Row) -> bool:
    """Whether two rows were told at the same time, or nearly."""
    if row.begins is None or row.ends is None or other.begins is None or other.ends is None:
        return False
    return row.begins <= other.ends + MINUTE and other.begins <= row.ends + MINUTE


def end_of(log: LogEvents, clock: SourceClock, scope: Scope) -> int | None:
    """When a log ends, or the time that was asked for."""
    stamps = [(log.last, log.lines), (log.first, 0)]
    end = max((clock.utc(stamp, line) for stamp, line in stamps if stamp is not None), default=None)
    return end if end is None or scope.until is None else min(end, scope.until)


def is_ongoing(count: int, begins: int, ends: int, end: int | None) -> bool:
    """Whether lines that came so often had not ended when the log did."""
    if end is None or count < 2:
        return False
    pause = (ends - begins) // (count - 1)
    return end - ends <= min(FEW, max(MINUTE, OFTEN * pause))


def _order(one: tuple[_RowKey, _Row]) -> tuple[bool, bool, int, int, str, str, str]:
    """The node's programs and controllers before others, what goes on before what has ended, then by number."""
    place, row = one
    is_other = place.component not in NODE and place.component not in CONTROLLERS and place.component != ""
    return is_other, not row.goes_on, -row.count, row.begins or 0, place.component, place.where, place.words


def _group(place: _RowKey, row: _Row) -> ErrorGroup:
    body = body_of(row.group.sample)
    shown = body._replace(
        message=redacted(body.message),
        fields={name: redacted_value(name, value) for name, value in body.fields.items()},
    )
    return ErrorGroup(
        component=place.component,
        where=place.where,
        level=place.level,
        message=fold_message(shown).text,
        count=row.times,
        begins=row.begins,
        ends=row.ends,
        is_ongoing=row.goes_on,
        subjects=tuple(row.subjects),
        origin=row.origin,
        sample=row.group.sample.decode("utf-8", "replace"),
        explained_by=place.fate.explained_by,
        benign=place.fate.benign,
    )
